"""The generator's loop: one window after the other, each with its own random number generator.

In: constants, the pool, and for each window a generator state and a kind. Out: values, presence,
variables and segments, written in place.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np
from numba import njit

from benchmarks.world._random import integer, normal, permute, sign, uniform

__all__ = ["Constants", "fill_windows"]

FACTOR_SPIKE, COUPLING, SPARSE_SPIKES, REASSIGNMENT, LAG_COPY, REGIME_SWITCH = range(6)
NORMAL = -1
NOISE_ONLY = 3

# Stands for a kind that the loop is to draw.
ANY_ANOMALY = 6
N_KINDS = 6


class Constants(NamedTuple):
    """A world's constants in the form that the loop takes; see ``World``."""

    coefficients: np.ndarray  # (2 regimes, 2 factors, 2 lags)
    loading: tuple[float, float]
    noise: float
    noise_only: float
    missing: float
    segment: tuple[int, int]
    factor_spike: tuple[float, float]
    factor_spike_steps: tuple[int, int]
    coupling_flip: float
    coupling_gain: tuple[float, float]
    spike: tuple[float, float]
    spikes: tuple[int, int]
    least_spikes: int
    switch: tuple[float, float]
    copy_is_clean: bool
    burst: float
    drift: float
    any_composition: bool


@njit(cache=True, nogil=True)
def fill_windows(
    constants: Constants,
    groups: np.ndarray,
    sizes: np.ndarray,
    states: np.ndarray,
    kinds: np.ndarray,
    values: np.ndarray,
    observed: np.ndarray,
    variables: np.ndarray,
    segments: np.ndarray,
) -> None:
    """Fill B windows; ``kinds`` holds -1, a kind, or ANY_ANOMALY, which a drawn kind replaces.

    A window of one variable has no reassignment: its kind becomes LAG_COPY.
    """
    n_windows, length, cardinality = values.shape
    pool = np.arange(len(groups))
    for b in range(n_windows):
        state = states[b : b + 1]
        if kinds[b] == ANY_ANOMALY:
            kinds[b] = integer(state, N_KINDS)
        if kinds[b] == REASSIGNMENT and cardinality == 1:
            kinds[b] = LAG_COPY
        kind = kinds[b]
        factor = integer(state, 2)
        is_free = kind == NORMAL and constants.any_composition
        _draw_variables(state, pool, groups, kind, factor, cardinality, is_free)
        chosen = pool[:cardinality].copy()
        chosen.sort()
        variables[b] = chosen
        group = groups[chosen]
        size = sizes[chosen]
        segment = segments[b]
        series = _factors(state, constants, kind, length, segment)
        if kind == FACTOR_SPIKE:
            _spike_factor(state, constants, series[factor], segment)
        signal = _couple(state, constants, series, group, size, kind, segment)
        noisy = signal.copy()
        for t in range(length):
            for c in range(cardinality):
                noisy[t, c] += _noise(constants, group[c]) * normal(state)
        is_forced = np.zeros((length, cardinality), np.bool_)
        if kind == SPARSE_SPIKES:
            _spike_entries(state, constants, noisy, is_forced, segment)
        elif kind == REASSIGNMENT:
            _reassign(state, constants, noisy, group, segment)
        elif kind == LAG_COPY:
            _copy(state, constants, noisy, signal, group, segment)
        _observe(state, constants, kind, segment, is_forced, observed[b])
        for t in range(length):
            for c in range(cardinality):
                values[b, t, c] = noisy[t, c] if observed[b, t, c] else 0.0


@njit(cache=True, nogil=True)
def _draw_variables(
    state: np.ndarray,
    pool: np.ndarray,
    groups: np.ndarray,
    kind: int,
    factor: int,
    cardinality: int,
    is_free: bool,
) -> None:
    """Move the window's variables to the front of the pool, drawn so that the anomaly is visible.

    Every window has at least one coupled variable; this holds for normal windows too, so that the
    choice of variables does not reveal anomalies. With ``is_free``, any variables are accepted.
    """
    for i in range(len(pool)):
        pool[i] = i
    while True:
        permute(state, pool, cardinality)
        if is_free:
            return
        follows_first = False
        follows_second = False
        is_mixed = False
        for c in range(cardinality):
            group = groups[pool[c]]
            follows_first |= group < 2
            follows_second |= group == 2
            is_mixed |= group != groups[pool[0]]
        if kind == FACTOR_SPIKE:
            is_suited = follows_first if factor == 0 else follows_second
        else:
            is_suited = follows_first or follows_second
        if kind == REASSIGNMENT:
            is_suited = is_suited and is_mixed
        if is_suited:
            return


@njit(cache=True, nogil=True)
def _some_segment(state: np.ndarray, shortest: int, longest: int, length: int) -> tuple[int, int]:
    """Return the first step and the end of a random segment that starts after step 0."""
    n = shortest + integer(state, longest - shortest + 1)
    n = min(n, length - 1)
    first = 1 + integer(state, max(length - n - 1, 1))
    return first, first + n


@njit(cache=True, nogil=True)
def _factors(
    state: np.ndarray, constants: Constants, kind: int, length: int, segment: np.ndarray
) -> np.ndarray:
    """(2, L) autoregressive factors of unit stationary variance, in a random regime.

    Includes the regime switch, whose segment is filled in, and the drift.
    """
    regime = integer(state, 2)
    switch = length
    if kind == REGIME_SWITCH:
        switch = int(length * uniform(state, constants.switch[0], constants.switch[1]))
        segment[0] = switch
        segment[1] = length
    series = np.empty((2, length))
    for k in range(2):
        x = series[k]
        x[0] = normal(state)
        for t in range(1, length):
            a1 = constants.coefficients[regime if t < switch else 1 - regime, k, 0]
            a2 = constants.coefficients[regime if t < switch else 1 - regime, k, 1]
            if t == 1:
                correlation = a1 / (1 - a2)
                x[1] = correlation * x[0] + sqrt(1 - correlation * correlation) * normal(state)
            else:
                variance = (1 + a2) * ((1 - a2) * (1 - a2) - a1 * a1) / (1 - a2)
                x[t] = a1 * x[t - 1] + a2 * x[t - 2] + sqrt(variance) * normal(state)
    if constants.drift > 0:
        for k in range(2):
            level = uniform(state, -constants.drift, constants.drift)
            ramp = uniform(state, -constants.drift, constants.drift)
            for t in range(length):
                series[k, t] += level + ramp * t / length
    return series


@njit(cache=True, nogil=True)
def _spike_factor(
    state: np.ndarray, constants: Constants, factor: np.ndarray, segment: np.ndarray
) -> None:
    steps = constants.factor_spike_steps
    first, end = _some_segment(state, steps[0], steps[1], len(factor))
    move = sign(state) * uniform(state, constants.factor_spike[0], constants.factor_spike[1])
    factor[first:end] += move
    segment[0] = first
    segment[1] = end


@njit(cache=True, nogil=True)
def _couple(
    state: np.ndarray,
    constants: Constants,
    series: np.ndarray,
    group: np.ndarray,
    size: np.ndarray,
    kind: int,
    segment: np.ndarray,
) -> np.ndarray:
    """(L, C) each variable's loading times its factor; couplings change if ``kind`` is COUPLING."""
    length, cardinality = series.shape[1], len(group)
    signal = np.zeros((length, cardinality))
    low, high = constants.loading
    for c in range(cardinality):
        if group[c] == NOISE_ONLY:
            continue
        loading = low + (high - low) * size[c]
        if group[c] == 1:
            loading = -loading
        factor = series[1] if group[c] == 2 else series[0]
        for t in range(length):
            signal[t, c] = loading * factor[t]
    if kind == COUPLING:
        first, end = _some_segment(state, constants.segment[0], constants.segment[1], length)
        gain = -1.0
        if uniform(state, 0.0, 1.0) >= constants.coupling_flip:
            gain = uniform(state, constants.coupling_gain[0], constants.coupling_gain[1])
        certain = integer(state, cardinality)
        while group[certain] == NOISE_ONLY:
            certain = integer(state, cardinality)
        for c in range(cardinality):
            is_changed = integer(state, 2) == 0
            if is_changed or c == certain:
                signal[first:end, c] *= gain
        segment[0] = first
        segment[1] = end
    return signal


@njit(cache=True, nogil=True)
def _noise(constants: Constants, group: int) -> float:
    return constants.noise_only if group == NOISE_ONLY else constants.noise


@njit(cache=True, nogil=True)
def _spike_entries(
    state: np.ndarray,
    constants: Constants,
    noisy: np.ndarray,
    is_forced: np.ndarray,
    segment: np.ndarray,
) -> None:
    """Add spikes to single entries, each at a different time step after step 0."""
    length, cardinality = noisy.shape
    n = constants.spikes[0] + integer(state, constants.spikes[1] - constants.spikes[0] + 1)
    n = min(max(n, constants.least_spikes), length - 1)
    steps = np.arange(1, length)
    permute(state, steps, n)
    for i in range(n):
        c = integer(state, cardinality)
        move = sign(state) * uniform(state, constants.spike[0], constants.spike[1])
        noisy[steps[i], c] += move
        is_forced[steps[i], c] = True
    segment[0] = steps[:n].min()
    segment[1] = steps[:n].max() + 1


@njit(cache=True, nogil=True)
def _reassign(
    state: np.ndarray,
    constants: Constants,
    noisy: np.ndarray,
    group: np.ndarray,
    segment: np.ndarray,
) -> None:
    """Permute the variables in a segment so that at least one column changes its group."""
    length, cardinality = noisy.shape
    first, end = _some_segment(state, constants.segment[0], constants.segment[1], length)
    order = np.arange(cardinality)
    is_same = True
    while is_same:
        permute(state, order, cardinality)
        for c in range(cardinality):
            is_same = is_same and group[order[c]] == group[c]
    for t in range(first, end):
        noisy[t] = noisy[t][order]
    segment[0] = first
    segment[1] = end


@njit(cache=True, nogil=True)
def _copy(
    state: np.ndarray,
    constants: Constants,
    noisy: np.ndarray,
    signal: np.ndarray,
    group: np.ndarray,
    segment: np.ndarray,
) -> None:
    """Copy an earlier segment: exactly, or its signal with new noise."""
    length, cardinality = noisy.shape
    shortest, longest = constants.segment
    n = min(shortest + integer(state, longest - shortest + 1), length // 2)
    first = n + integer(state, length - 2 * n + 1)
    lag = n + integer(state, first - n + 1)
    for t in range(first, first + n):
        for c in range(cardinality):
            if constants.copy_is_clean:
                fresh = _noise(constants, group[c]) * normal(state)
                noisy[t, c] = signal[t - lag, c] + fresh
            else:
                noisy[t, c] = noisy[t - lag, c]
    segment[0] = first
    segment[1] = first + n


@njit(cache=True, nogil=True)
def _observe(
    state: np.ndarray,
    constants: Constants,
    kind: int,
    segment: np.ndarray,
    is_forced: np.ndarray,
    observed: np.ndarray,
) -> None:
    """Mark entries as missing at random, and whole variables in a burst, but never a whole step."""
    length, cardinality = observed.shape
    is_silent = np.zeros(cardinality, np.bool_)
    if constants.burst > 0 and kind >= 0:
        for c in range(cardinality):
            is_silent[c] = uniform(state, 0.0, 1.0) < constants.burst
    for t in range(length):
        is_in = segment[0] <= t < segment[1]
        n_observed = 0
        for c in range(cardinality):
            is_there = uniform(state, 0.0, 1.0) >= constants.missing
            is_there = is_there and not (is_in and is_silent[c])
            observed[t, c] = is_there or is_forced[t, c]
            n_observed += observed[t, c]
        if n_observed == 0:
            observed[t, integer(state, cardinality)] = True
