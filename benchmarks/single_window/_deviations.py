"""Level and jump: the largest deviation, and the largest step, of any variable.

In: a standardised window. Out: two statistics, and each variable's contribution to them.
"""

from math import log

import numpy as np

from benchmarks.single_window._compiled import Floats, compiled
from benchmarks.single_window._standard import Standard

__all__ = ["largest_deviation", "largest_step", "scaled_steps"]


@compiled
def largest_deviation(values: Floats, seen: Floats, standard: Standard, blame: Floats) -> float:
    """Return the log of the largest deviation from a median; fill ``blame`` (C,) per variable."""
    n_variables, length = values.shape
    largest = 0.0
    for c in range(n_variables):
        furthest = 0.0
        for t in range(length):
            furthest = max(furthest, seen[c, t] * abs(values[c, t]))
        blame[c] = furthest / standard.level[c]
        largest = max(largest, blame[c])
    return log(largest) if largest > 0 else np.nan


@compiled
def scaled_steps(values: Floats, seen: Floats, standard: Standard) -> Floats:
    """(C, L-1) absolute steps divided by their spread; -1 where one of the 2 values is missing."""
    n_variables, length = values.shape
    steps = np.empty((n_variables, length - 1))
    for c in range(n_variables):
        for t in range(length - 1):
            step = abs(values[c, t + 1] - values[c, t]) / standard.step[c]
            steps[c, t] = step if seen[c, t] * seen[c, t + 1] > 0 else -1.0
    return steps


@compiled
def largest_step(steps: Floats, blame: Floats) -> float:
    """Return the log of the largest of (C, L-1) steps; fill ``blame`` (C,) per variable."""
    largest = 0.0
    for c in range(steps.shape[0]):
        furthest = 0.0
        for t in range(steps.shape[1]):
            furthest = max(furthest, steps[c, t])
        blame[c] = furthest
        largest = max(largest, furthest)
    return log(largest) if largest > 0 else np.nan
