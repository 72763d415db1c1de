"""Repetition: a run of time steps that is unusually similar to an earlier one.

In: values of a window and a mask of the observed ones. Out: minus the smallest mean log distance of
4 consecutive time steps from 4 earlier ones.
"""

from math import log

import numpy as np

from benchmarks.single_window._compiled import Floats, compiled, log_all

__all__ = ["closest_repetition"]

RUN = 4
SHORTEST_LAG = 2

# Added to squared distances divided by their median: smaller distances all count as equal.
CLOSEST = 1e-4


@compiled
def closest_repetition(values: Floats, seen: Floats, blame: Floats) -> float:
    """Return repeated_steps; fill ``blame`` (C,) with each variable's own likeness.

    Distances are mean squared differences over the variables observed at both time steps. Pairs of
    steps without such a variable count as typical.
    """
    n_variables, length = values.shape
    # Row d - 1 holds the pairs (t, t + d).
    distances = np.zeros((length - 1, length))
    shared = np.zeros((length - 1, length))
    for c in range(n_variables):
        x, m = values[c], seen[c]
        for d in range(1, length):
            total, count = distances[d - 1], shared[d - 1]
            for t in range(length - d):
                both = m[t] * m[t + d]
                difference = x[t + d] - x[t]
                total[t] += both * difference * difference
                count[t] += both
    pairs = np.empty(length * (length - 1) // 2)
    n = 0
    for d in range(1, length):
        for t in range(length - d):
            if shared[d - 1, t] > 0:
                distances[d - 1, t] /= shared[d - 1, t]
                pairs[n] = distances[d - 1, t]
                n += 1
    if n == 0:
        return np.nan
    typical = np.median(pairs[:n])
    if not typical > 0:
        return np.nan

    best, best_lag, best_start = np.inf, 0, 0
    for d in range(SHORTEST_LAG, length - RUN + 1):
        row = distances[d - 1, : length - d]
        for t in range(length - d):
            row[t] = (row[t] / typical if shared[d - 1, t] > 0 else 1.0) + CLOSEST
        log_all(row)
        for t in range(length - d - RUN + 1):
            mean = 0.25 * (row[t] + row[t + 1] + row[t + 2] + row[t + 3])
            if mean < best:
                best, best_lag, best_start = mean, d, t
    for c in range(n_variables):
        blame[c] = _own_likeness(values[c], seen[c], best_start, best_lag)
    return -best


@compiled
def _own_likeness(values: Floats, seen: Floats, start: int, lag: int) -> float:
    """Return the log ratio of a variable's mean squared difference outside and inside the run.

    Both are taken at the same lag; a negative ratio counts as 0.
    """
    inside, n_inside, outside, n_outside = 0.0, 0.0, 0.0, 0.0
    for t in range(values.size - lag):
        both = seen[t] * seen[t + lag]
        square = both * (values[t + lag] - values[t]) ** 2
        if start <= t < start + RUN:
            inside += square
            n_inside += both
        else:
            outside += square
            n_outside += both
    if n_inside == 0 or n_outside == 0:
        return 0.0
    return max(log((outside / n_outside + CLOSEST) / (inside / n_inside + CLOSEST)), 0.0)
