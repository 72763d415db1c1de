"""Robust centres, spreads and noise of a window's variables, computed from medians.

In: values (C, L) and a mask of the observed ones. Out: a :class:`Standard`, which all evidences
use. Variables have no names here: the window is its own reference.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from benchmarks.single_window._compiled import Floats, compiled

__all__ = ["Spreads", "Standard", "order_columns", "spreads", "standardised"]

# Median absolute deviation times this is the standard deviation of a Gaussian.
GAUSSIAN = 1.4826

# Share of the window's spread that is added, in squares, to each variable's own: otherwise a
# variable that hardly moves would be judged by its rounding errors.
LEVEL_FLOOR, MODEL_FLOOR = 0.1, 0.05

# Deviations and steps are clipped to this many spreads when variances are computed from them.
MODEL_CAP, STEP_CAP, STEP_CAP_FLOOR = 3.0, 2.5, 0.05

# Noise variance, in squares of the variable's spread, is clipped to LEAST..MOST_NOISE; with fewer
# than FEWEST_STEPS differences it is SOME_NOISE.
LEAST_NOISE, MOST_NOISE, SOME_NOISE = 0.01, 1.0, 0.25
FEWEST_STEPS = 4

# Stands for missing values when columns are sorted: they come last.
LAST = 1e300


class Spreads(NamedTuple):
    """``unit``, ``centre`` (C,), ``scale`` (C,) as in Standard; (C,) median absolute deviations."""

    unit: float
    centre: Floats
    scale: Floats
    medians: Floats


class Standard(NamedTuple):
    """Centres, scales and noise of C variables.

    ``unit`` is the root mean square deviation of all values from the median ``centre`` (C,) of
    their variable; ``level``, ``step`` and ``scale`` are in this unit. ``level`` (C,) scales
    deviations, ``step`` (C,) differences of consecutive values, ``scale`` (C,) values for the
    factor model; ``noise`` (C,) is the variance of a variable's noise, in squares of ``scale``.
    """

    unit: float
    centre: Floats
    level: Floats
    step: Floats
    scale: Floats
    noise: Floats


@compiled
def order_columns(numbers: Floats) -> None:
    """Sort each column of (n, C) in place by Batcher's sorting network, all columns at once.

    The comparisons are the same for every column, so they can be vectorised. K. E. Batcher,
    "Sorting networks and their applications", 1968.
    """
    n, n_columns = numbers.shape
    p = 1
    while p < n:
        k = p
        while k >= 1:
            for j in range(k % p, n - k, 2 * k):
                for i in range(j, j + min(k, n - j - k)):
                    if i // (2 * p) == (i + k) // (2 * p):
                        for c in range(n_columns):
                            a, b = numbers[i, c], numbers[i + k, c]
                            numbers[i, c] = a if a < b else b
                            numbers[i + k, c] = b if a < b else a
            k //= 2
        p *= 2


@compiled
def _column_medians(numbers: Floats, counts: Floats, medians: Floats) -> None:
    """Fill (C,) medians of the columns of (n, C); ``counts`` (C,) of their numbers are not LAST."""
    order_columns(numbers)
    for c in range(counts.size):
        n = int(counts[c])
        middle = max(n - 1, 0) // 2
        medians[c] = 0.5 * (numbers[middle, c] + numbers[n // 2, c]) if n > 0 else 0.0


@compiled
def _step_medians(
    values: Floats, seen: Floats, lag: int, columns: Floats, counts: Floats, medians: Floats
) -> None:
    """Fill (C,) median absolute differences at a lag, and the numbers of observed pairs."""
    n_variables, length = values.shape
    for c in range(n_variables):
        counts[c] = 0.0
        for t in range(length - lag):
            both = seen[c, t] * seen[c, t + lag]
            counts[c] += both
            columns[t, c] = abs(values[c, t + lag] - values[c, t]) if both > 0 else LAST
    _column_medians(columns[: length - lag], counts, medians)


@compiled
def _capped_steps(
    values: Floats, seen: Floats, lag: int, scale: Floats, counts: Floats, medians: Floats
) -> Floats:
    """(C,) mean squared differences at a lag, in squares of ``scale``; large ones are capped."""
    n_variables, length = values.shape
    means = np.empty(n_variables)
    for c in range(n_variables):
        cap = STEP_CAP * GAUSSIAN * medians[c] + STEP_CAP_FLOOR * scale[c]
        total = 0.0
        for t in range(length - lag):
            step = min(abs(values[c, t + lag] - values[c, t]), cap)
            total += seen[c, t] * seen[c, t + lag] * step * step
        means[c] = total / (max(counts[c], 1.0) * scale[c] * scale[c])
    return means


@compiled
def spreads(values: Floats, seen: Floats) -> Spreads:
    """Measure the centres and spreads of variables, but not their steps and noise."""
    n_variables, length = values.shape
    columns = np.empty((length, n_variables))
    counts = np.empty(n_variables)
    centre = np.empty(n_variables)
    spread = np.empty(n_variables)
    for c in range(n_variables):
        counts[c] = 0.0
        for t in range(length):
            counts[c] += seen[c, t]
            columns[t, c] = values[c, t] if seen[c, t] > 0 else LAST
    _column_medians(columns, counts, centre)

    largest = 0.0
    for c in range(n_variables):
        for t in range(length):
            deviation = abs(values[c, t] - centre[c]) if seen[c, t] > 0 else LAST
            columns[t, c] = deviation
            largest = max(largest, deviation if seen[c, t] > 0 else 0.0)
    total, n = 0.0, 0.0
    for c in range(n_variables):
        n += counts[c]
        for t in range(length):
            # Divided by the largest deviation, so that squares of large values do not overflow.
            share = seen[c, t] * (values[c, t] - centre[c]) / largest
            total += share * share
    unit = largest * sqrt(total / n) if largest > 0 else 0.0
    _column_medians(columns, counts, spread)

    scale = np.empty(n_variables)
    for c in range(n_variables):
        cap = MODEL_CAP * GAUSSIAN * spread[c] + LEVEL_FLOOR * unit
        total = 0.0
        for t in range(length):
            share = seen[c, t] * min(abs(values[c, t] - centre[c]), cap) / unit
            total += share * share
        scale[c] = sqrt(total / max(counts[c], 1.0) + MODEL_FLOOR * MODEL_FLOOR)
    return Spreads(unit, centre, scale, spread)


@compiled
def standardised(values: Floats, seen: Floats) -> Standard:
    """Measure a window: ``values`` (C, L) and ``seen`` (C, L), which is 1 or 0.

    ``unit`` is 0 if every variable is constant; the other fields are then meaningless.
    """
    n_variables, length = values.shape
    unit, centre, relative, medians = spreads(values, seen)
    columns, counts = np.empty((length, n_variables)), np.empty(n_variables)
    scale, level, step = np.empty(n_variables), np.empty(n_variables), np.empty(n_variables)
    for c in range(n_variables):
        scale[c] = unit * relative[c]
        level[c] = sqrt((GAUSSIAN * medians[c] / unit) ** 2 + LEVEL_FLOOR * LEVEL_FLOOR)
    # From here on, ``medians`` holds medians of steps.
    _step_medians(values, seen, 1, columns, counts, medians)
    short = _capped_steps(values, seen, 1, scale, counts, medians)
    noise = np.empty(n_variables)
    for c in range(n_variables):
        step[c] = sqrt((GAUSSIAN * medians[c] / unit) ** 2 + LEVEL_FLOOR * LEVEL_FLOOR)
        noise[c] = counts[c]
    _step_medians(values, seen, 2, columns, counts, medians)
    long = _capped_steps(values, seen, 2, scale, counts, medians)
    for c in range(n_variables):
        if min(noise[c], counts[c]) < FEWEST_STEPS:
            noise[c] = SOME_NOISE
        else:
            # Squared differences of a random walk grow with the lag, those of noise do not:
            # extrapolated to lag 0, only noise remains.
            found = min(max(short[c] - 0.5 * long[c], 0.075 * short[c]), 0.5 * short[c])
            noise[c] = min(max(found, LEAST_NOISE), MOST_NOISE)
    return Standard(unit, centre, level, step, relative, noise)
