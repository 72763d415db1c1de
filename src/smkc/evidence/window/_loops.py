"""Jitted scans: windows -> the statistics of every evidence, one window after the other.

In: padded windows (B, L, P) with NaN where nothing was seen, and what the reference windows said
about speeds. Out: statistics (B, E), NaN where an evidence abstains.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.window._compiled import Floats, compiled
from smkc.evidence.window._deviations import largest_deviation, largest_step, scaled_steps
from smkc.evidence.window._factors import FactorModel, fit_factors, noise_ratios, start_loadings
from smkc.evidence.window._gaps import largest_gap
from smkc.evidence.window._relation import largest_change, largest_surprise
from smkc.evidence.window._repetition import closest_repetition
from smkc.evidence.window._roughness import rougher_part
from smkc.evidence.window._segments import broken_and_copied
from smkc.evidence.window._smoother import gather
from smkc.evidence.window._speeds import changed_speed, own_speeds, rotated
from smkc.evidence.window._standard import Standard, standardised
from smkc.evidence.window._walks import passes

__all__ = [
    "LEAST_LENGTH",
    "Part",
    "Prior",
    "blame_window",
    "count_variables",
    "scan_speeds",
    "scan_statistics",
    "scan_units",
]

# Places of the evidences in a row of statistics: the cheap ones first.
ZMAX, DZMAX, COPY4, GLR_D, GAPS, REGQ, REGR, BRKR, CPYR, HOLE, RELZ = range(11)
N_EVIDENCES = 11

LEAST_LENGTH = 16

# A variable takes part if it was seen at a quarter of the steps, and a window has something to
# say if half of its steps hold such a variable.
LEAST_SEEN, LEAST_STEPS = 4, 2

ROUNDS = 10


class Part(IntEnum):
    """Which evidences are asked."""

    CHEAP = 0
    DEAR = 1
    ALL = 2


class Prior(NamedTuple):
    """What reference windows say of speeds, in units of ``unit``: see ``speeds.Speeds``."""

    unit: float
    speeds: Floats
    log_weights: Floats
    log_pairs: Floats


class Window(NamedTuple):
    """A window's C variables: (C, L) values, over the window's unit, and where they were seen."""

    places: NDArray[np.int64]
    values: Floats
    seen: Floats
    standard: Standard
    is_usable: bool


@compiled
def _taking_part(window: Floats) -> NDArray[np.int64]:
    """Places of the variables that were seen often enough, in an order of their values' own.

    The order keeps sums the same to the bit wherever a variable stands in the window.
    """
    length, n_places = window.shape
    places = np.empty(n_places, np.int64)
    keys = np.empty(n_places)
    n = 0
    for p in range(n_places):
        n_seen, key = 0, 0.0
        for t in range(length):
            if np.isfinite(window[t, p]):
                n_seen += 1
                key += window[t, p] * (1.0 + 0.618 * (t % 7) + 0.1 * t)
        if LEAST_SEEN * n_seen >= length:
            places[n], keys[n] = p, key
            n += 1
    return places[:n][np.argsort(keys[:n])]


@compiled
def _read(window: Floats) -> Window:
    """Pick the variables that take part, centre them and measure them."""
    length = window.shape[0]
    places = _taking_part(window)
    values = np.zeros((places.size, length))
    seen = np.zeros((places.size, length))
    n_steps = 0
    for t in range(length):
        is_any = False
        for c in range(places.size):
            x = window[t, places[c]]
            if np.isfinite(x):
                values[c, t], seen[c, t] = x, 1.0
                is_any = True
        n_steps += is_any
    is_usable = length >= LEAST_LENGTH and places.size > 0 and LEAST_STEPS * n_steps >= length
    standard = standardised(values, seen)
    is_usable = is_usable and standard.unit > 0 and np.isfinite(standard.unit)
    if is_usable:
        for c in range(places.size):
            for t in range(length):
                values[c, t] = seen[c, t] * (values[c, t] - standard.centre[c]) / standard.unit
    return Window(places, values, seen, standard, is_usable)


@compiled
def count_variables(windows: Floats, out: NDArray[np.int64]) -> None:
    """Fill (B,) how many variables of each window take part."""
    for b in range(windows.shape[0]):
        out[b] = _taking_part(windows[b]).size


@compiled
def _scaled(window: Window) -> Floats:
    """(C, L) values in units of their variable's spread."""
    scaled = np.empty_like(window.values)
    for c in range(scaled.shape[0]):
        over = 1.0 / window.standard.scale[c]
        for t in range(scaled.shape[1]):
            scaled[c, t] = window.values[c, t] * over
    return scaled


@compiled
def _fitted(window: Window, scaled: Floats) -> FactorModel:
    noise = window.standard.noise
    loadings = start_loadings(scaled, window.seen, noise)
    return fit_factors(scaled, window.seen, noise, loadings, ROUNDS)


@compiled
def _common_loadings(window: Window, model: FactorModel, unit: float) -> Floats:
    """(2, C) loadings by which factors in common units move the scaled variables."""
    scale = window.standard.scale * (window.standard.unit / unit)
    return rotated(model.loadings, scale) / scale


@compiled
def _walk_statistics(
    own: Floats, common: Floats, memory: Floats, prior: Prior, row: Floats
) -> None:
    """Fill regq, regr, brkr and cpyr from what steps say in own and in common units."""
    speeds = own_speeds(memory)
    n = speeds.shape[1]
    log_pairs = np.full((n, n), -np.log(float(n * (n - 1))))
    for i in range(n):
        log_pairs[i, i] = -np.inf
    row[REGQ] = changed_speed(passes(own, speeds), np.zeros(n), log_pairs)

    found = passes(common, prior.speeds)
    row[REGR] = changed_speed(found, prior.log_weights, prior.log_pairs)
    likely = found.past[0, common.shape[1]] + prior.log_weights
    likely = np.exp(likely - likely.max())
    likely /= likely.sum()
    speed = np.empty((2, 1))
    for k in range(2):
        speed[k, 0] = np.exp((likely * np.log(prior.speeds[k])).sum())
    row[BRKR], row[CPYR] = broken_and_copied(common, speed)


@compiled
def scan_statistics(windows: Floats, prior: Prior, part: int, out: Floats) -> None:
    """Fill ``out`` (B, E) with the statistics of some evidences, NaN elsewhere; see Part."""
    n_windows, length, n_places = windows.shape
    blame = np.empty(n_places)
    own, common = np.empty((5, length)), np.empty((5, length))
    for b in range(n_windows):
        row = out[b]
        row[:] = np.nan
        window = _read(windows[b])
        if not window.is_usable:
            continue
        values, seen = window.values, window.seen
        if part != Part.DEAR:
            row[ZMAX] = largest_deviation(values, seen, window.standard, blame)
            steps = scaled_steps(values, seen, window.standard)
            row[DZMAX] = largest_step(steps, blame)
            row[COPY4] = closest_repetition(values, seen, blame)
            row[GLR_D] = rougher_part(steps, blame)
            row[GAPS] = largest_gap(seen, blame)
        if part != Part.CHEAP:
            scaled = _scaled(window)
            model = _fitted(window, scaled)
            gather(scaled, seen, model.loadings, model.noise, own)
            gather(scaled, seen, _common_loadings(window, model, prior.unit), model.noise, common)
            _walk_statistics(own, common, model.memory, prior, row)
            row[HOLE] = largest_surprise(values, seen, window.standard.scale, model, blame)
            ratios = noise_ratios(scaled, seen, model.loadings, model.noise, model.smoothed)
            row[RELZ] = largest_change(ratios, seen, blame)
        for i in range(N_EVIDENCES):
            if not np.isfinite(row[i]):
                row[i] = np.nan


@compiled
def scan_units(windows: Floats, out: Floats) -> None:
    """Fill (B,) root mean squares of the windows; NaN where there is nothing to measure."""
    for b in range(windows.shape[0]):
        window = _read(windows[b])
        out[b] = window.standard.unit if window.is_usable else np.nan


@compiled
def scan_speeds(windows: Floats, unit: float, speeds: Floats, out: Floats) -> None:
    """Fill (B, A) log likelihoods of (2, A) speeds in common units; NaN for unusable windows."""
    length = windows.shape[1]
    common = np.empty((5, length))
    for b in range(windows.shape[0]):
        out[b] = np.nan
        window = _read(windows[b])
        if not window.is_usable:
            continue
        scaled = _scaled(window)
        model = _fitted(window, scaled)
        loadings = _common_loadings(window, model, unit)
        gather(scaled, window.seen, loadings, model.noise, common)
        out[b] = passes(common, speeds).past[0, length]


@compiled
def blame_window(values: Floats, prior: Prior, out: Floats) -> None:
    """Fill ``out`` (E, P): how much of each evidence each variable of one window (L, P) made.

    Level, jump, repetition, roughness and relation: the variable's own part. What the factors
    say: by how much the statistic falls when the variable is left out.
    """
    length = values.shape[0]
    out[:] = 0.0
    window = _read(values)
    if not window.is_usable:
        out[:] = np.nan
        return
    x, seen, places = window.values, window.seen, window.places
    parts = np.zeros((N_EVIDENCES, places.size))
    largest_deviation(x, seen, window.standard, parts[ZMAX])
    steps = scaled_steps(x, seen, window.standard)
    largest_step(steps, parts[DZMAX])
    closest_repetition(x, seen, parts[COPY4])
    rougher_part(steps, parts[GLR_D])
    largest_gap(seen, parts[GAPS])
    scaled = _scaled(window)
    model = _fitted(window, scaled)
    loadings = _common_loadings(window, model, prior.unit)
    own, common = np.empty((5, length)), np.empty((5, length))
    all_of_them, without = np.empty(N_EVIDENCES), np.empty(N_EVIDENCES)
    gather(scaled, seen, model.loadings, model.noise, own)
    gather(scaled, seen, loadings, model.noise, common)
    _walk_statistics(own, common, model.memory, prior, all_of_them)
    kept = seen.copy()
    for c in range(places.size):
        kept[c] = 0.0
        gather(scaled, kept, model.loadings, model.noise, own)
        gather(scaled, kept, loadings, model.noise, common)
        kept[c] = seen[c]
        _walk_statistics(own, common, model.memory, prior, without)
        for i in (REGQ, REGR, BRKR, CPYR):
            parts[i, c] = max(all_of_them[i] - without[i], 0.0)
    largest_surprise(x, seen, window.standard.scale, model, parts[HOLE])
    ratios = noise_ratios(scaled, seen, model.loadings, model.noise, model.smoothed)
    largest_change(ratios, seen, parts[RELZ])
    for c in range(places.size):
        for i in range(N_EVIDENCES):
            out[i, places[c]] = parts[i, c]
