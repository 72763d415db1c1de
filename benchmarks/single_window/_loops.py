"""The jitted scan: windows -> the statistics of every evidence, one window after the other.

In: padded windows (B, L, P) with NaN where a value is missing, and the speeds and couplings learned
from reference windows. Out: statistics (B, E), NaN where an evidence abstains.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.single_window._compiled import Floats, compiled
from benchmarks.single_window._couplings import coupling_moments, recognise_couplings
from benchmarks.single_window._deviations import largest_deviation, largest_step, scaled_steps
from benchmarks.single_window._factors import fit_factors, noise_ratios, start_loadings
from benchmarks.single_window._gaps import largest_gap
from benchmarks.single_window._relation import largest_change, largest_surprise
from benchmarks.single_window._repetition import closest_repetition
from benchmarks.single_window._roughness import rougher_part
from benchmarks.single_window._segments import broken_and_copied
from benchmarks.single_window._smoother import gather
from benchmarks.single_window._speeds import changed_speed, own_speeds, rotated
from benchmarks.single_window._standard import Standard, standardised
from benchmarks.single_window._walks import Passes, pass_forward, passes, smoothed_walk

__all__ = ["LEAST_LENGTH", "Prior", "Task", "scan"]

# Positions of the evidences in a row of statistics: the cheap ones first.
(
    LARGEST_VALUE,
    LARGEST_STEP,
    REPEATED_STEPS,
    STEP_SIZES,
    GAPS,
    FACTOR_SPEED,
    KNOWN_SPEEDS,
    PATH_BREAK,
    PATH_COPY,
    HOLE,
    RESIDUAL_SIZE,
) = range(11)
N_EVIDENCES = 11

LEAST_LENGTH = 16

# A variable takes part if it was observed in at least 1/4 of the steps; a window is usable if at
# least 1/2 of its steps hold such a variable.
LEAST_SEEN, LEAST_STEPS = 4, 2

ROUNDS = 10


class Task(IntEnum):
    """Content of the row that a scan fills for a window.

    CHEAP, DEAR and ALL: (E,) statistics of these evidences, NaN for the others. MEASURE:
    cardinality and unit. SPEEDS: (A,) log likelihoods of the prior's speeds. BLAME: (E * P,) the
    variables' contributions. COUPLINGS: (C * 7,) moments of each variable that takes part, NaN in
    the rest of the row.
    """

    CHEAP = 0
    DEAR = 1
    ALL = 2
    MEASURE = 3
    SPEEDS = 4
    BLAME = 5
    COUPLINGS = 6


class Prior(NamedTuple):
    """Speeds and couplings learned from reference windows, in units of ``unit``.

    See ``Speeds`` and ``Couplings``. ``couplings`` has no rows until they have been learned.
    """

    unit: float
    speeds: Floats
    log_weights: Floats
    log_pairs: Floats
    couplings: Floats


class Window(NamedTuple):
    """A window's C variables: (C, L) values, divided by the window's unit, and their mask."""

    places: NDArray[np.int64]
    values: Floats
    seen: Floats
    standard: Standard
    is_usable: bool


@compiled
def _taking_part(window: Floats) -> NDArray[np.int64]:
    """Return the positions of the variables observed often enough, in an order set by their values.

    Because of that order, sums are the same to the bit whatever the order of the columns.
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
    for i in range(1, n):
        for k in range(i, 0, -1):
            if keys[k - 1] <= keys[k]:
                break
            keys[k - 1], keys[k] = keys[k], keys[k - 1]
            places[k - 1], places[k] = places[k], places[k - 1]
    return places[:n]


@compiled
def _read(window: Floats) -> Window:
    """Select the variables that take part, measure them, centre them and divide by the unit."""
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
def _scaled(window: Window) -> Floats:
    """(C, L) values divided by the spread of their variable."""
    scaled = np.empty_like(window.values)
    for c in range(scaled.shape[0]):
        over = 1.0 / window.standard.scale[c]
        for t in range(scaled.shape[1]):
            scaled[c, t] = window.values[c, t] * over
    return scaled


@compiled
def _likely_speed(past: Floats, prior: Prior) -> Floats:
    """Return the (2, 1) posterior mean speed of the window, averaged on a log scale.

    ``past`` is the forward pass for the prior's speeds.
    """
    length = past.shape[1] - 1
    n = prior.log_weights.size
    highest, total = -np.inf, 0.0
    octaves = np.zeros((2, 1))
    for i in range(n):
        highest = max(highest, past[0, length, i] + prior.log_weights[i])
    for i in range(n):
        likely = np.exp(past[0, length, i] + prior.log_weights[i] - highest)
        total += likely
        for k in range(2):
            octaves[k, 0] += likely * np.log2(prior.speeds[k, i])
    for k in range(2):
        octaves[k, 0] = 2.0 ** (octaves[k, 0] / total)
    return octaves


@compiled
def _walk_statistics(
    own: Floats, common: Floats, found: Passes, memory: Floats, prior: Prior, row: Floats
) -> None:
    """Fill factor_speed, known_speeds, path_break and path_copy.

    ``own`` and ``common`` (5, L) are the steps' information about the factors in the window's own
    and in common units. ``found`` holds the passes for the prior's speeds in common units.
    """
    speeds = own_speeds(memory)
    n = speeds.shape[1]
    log_pairs = np.full((n, n), -np.log(float(n * (n - 1))))
    for i in range(n):
        log_pairs[i, i] = -np.inf
    row[FACTOR_SPEED] = changed_speed(passes(own, speeds), np.zeros(n), log_pairs)
    row[KNOWN_SPEEDS] = changed_speed(found, prior.log_weights, prior.log_pairs)

    row[PATH_BREAK], row[PATH_COPY] = broken_and_copied(common, _likely_speed(found.past, prior))


@compiled
def _ask(window: Window, prior: Prior, task: int, row: Floats, parts: Floats) -> None:
    """Fill the row of a usable window, with the content that the task asks for.

    ``parts`` (E, C) is each variable's contribution to each evidence. For evidences that sum or
    maximise over variables it is the variable's own part. For those computed from the factors'
    paths, and for the task BLAME only, it is the amount by which the statistic falls when the
    variable is left out.
    """
    length = window.values.shape[1]
    values, seen, standard = window.values, window.seen, window.standard
    if task == Task.CHEAP or task == Task.ALL or task == Task.BLAME:
        row[LARGEST_VALUE] = largest_deviation(values, seen, standard, parts[LARGEST_VALUE])
        steps = scaled_steps(values, seen, standard)
        row[LARGEST_STEP] = largest_step(steps, parts[LARGEST_STEP])
        row[REPEATED_STEPS] = closest_repetition(values, seen, parts[REPEATED_STEPS])
        row[STEP_SIZES] = rougher_part(steps, parts[STEP_SIZES])
        row[GAPS] = largest_gap(seen, parts[GAPS])
    if task == Task.CHEAP:
        return
    scaled = _scaled(window)
    loadings = start_loadings(scaled, seen, standard.noise)
    model = fit_factors(scaled, seen, standard.noise, loadings, ROUNDS)
    own, common = np.empty((5, length)), np.empty((5, length))
    # Loadings of the scaled variables on factors that are in common units.
    scale = standard.scale * (standard.unit / prior.unit)
    in_common = rotated(model.loadings, scale) / scale
    noise = model.noise.copy()
    gather(scaled, seen, in_common, noise, common)
    speed = _likely_speed(pass_forward(common, prior.speeds), prior)
    if task == Task.COUPLINGS:
        coupling_moments(scaled, seen, scale, smoothed_walk(passes(common, speed)), row)
        return
    if prior.couplings.shape[0] > 0:
        recognise_couplings(scaled, seen, scale, speed, prior.couplings, in_common, noise)
    without = np.empty(N_EVIDENCES)
    kept = seen.copy()
    n_left_out = seen.shape[0] if task == Task.BLAME else 0
    for c in range(-1, n_left_out):  # -1: with every variable
        if c >= 0:
            kept[c] = 0.0
        gather(scaled, kept, model.loadings, model.noise, own)
        gather(scaled, kept, in_common, noise, common)
        if c >= 0:
            kept[c] = seen[c]
        found = passes(common, prior.speeds)
        if task == Task.SPEEDS:
            row[:] = found.past[0, length]
            return
        _walk_statistics(own, common, found, model.memory, prior, without)
        for i in (FACTOR_SPEED, KNOWN_SPEEDS, PATH_BREAK, PATH_COPY):
            if c < 0:
                row[i] = without[i]
            else:
                parts[i, c] = max(row[i] - without[i], 0.0)
    row[HOLE] = largest_surprise(values, seen, standard.scale, standard.noise, model, parts[HOLE])
    ratios = noise_ratios(scaled, seen, model.loadings, model.noise, model.smoothed)
    row[RESIDUAL_SIZE] = largest_change(ratios, seen, parts[RESIDUAL_SIZE])


@compiled
def scan(windows: Floats, prior: Prior, task: int, out: Floats) -> None:
    """Fill ``out`` (B, n), one row per window, as :class:`Task` says; NaN for unusable windows.

    All tasks share one loop because compiling each of them would take several times as long.
    """
    n_windows, _, n_places = windows.shape
    statistics = np.empty(N_EVIDENCES)
    for b in range(n_windows):
        row = out[b]
        row[:] = np.nan
        window = _read(windows[b])
        if task == Task.MEASURE:
            row[0] = float(window.places.size)
        if not window.is_usable:
            continue
        if task == Task.MEASURE:
            row[1] = window.standard.unit
            continue
        parts = np.zeros((N_EVIDENCES, window.places.size))
        _ask(window, prior, task, statistics if task == Task.BLAME else row, parts)
        if task == Task.BLAME:
            row[:] = 0.0
            for i in range(N_EVIDENCES):
                for c in range(window.places.size):
                    row[i * n_places + window.places[c]] = parts[i, c]
        for i in range(row.size):
            if not np.isfinite(row[i]):
                row[i] = np.nan
