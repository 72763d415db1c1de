"""Regime, the cheap test: steps that are larger in one part of the window than in the other.

In: scaled steps. Out: the log of the largest likelihood ratio of a change in their variance.
"""

from math import log

import numpy as np

from benchmarks.single_window._compiled import Floats, compiled

__all__ = ["rougher_part"]

# Steps are clipped to this many spreads: single jumps belong to another evidence.
LARGEST = 4.0
SHORTEST_PART = 5
TINY, LEAST_RATIO = 1e-6, 1e-3


@compiled
def rougher_part(steps: Floats, blame: Floats) -> float:
    """Return step_sizes of (C, L-1) steps; fill ``blame`` (C,) with each variable's own ratio."""
    n_variables, n_steps = steps.shape
    energy = np.zeros(n_steps)
    counts = np.zeros(n_steps)
    for c in range(n_variables):
        for t in range(n_steps):
            if steps[c, t] >= 0:
                step = min(steps[c, t], LARGEST)
                energy[t] += step * step
                counts[t] += 1.0
    total, n_total = 0.0, 0.0
    for t in range(n_steps):
        if counts[t] > 0:
            energy[t] /= counts[t]
            counts[t] = 1.0
            total += energy[t]
            n_total += 1.0
    best, best_split = -np.inf, -1
    left, n_left = 0.0, 0.0
    for t in range(n_steps - SHORTEST_PART - 1):
        left += energy[t]
        n_left += counts[t]
        n_right = n_total - n_left
        if t + 1 < SHORTEST_PART or n_left < 2 or n_right < 2:
            continue
        ratio = (
            n_total * log(total / n_total + TINY)
            - n_left * log(left / n_left + TINY)
            - n_right * log(max(total - left, 0.0) / n_right + TINY)
        )
        if ratio > best:
            best, best_split = ratio, t + 1
    if best_split < 0:
        return np.nan
    for c in range(n_variables):
        blame[c] = _own_ratio(steps[c], best_split)
    return log(max(best, 0.0) + LEAST_RATIO)


@compiled
def _own_ratio(steps: Floats, split: int) -> float:
    """Return one variable's likelihood ratio of a change at the split."""
    left, n_left, right, n_right = 0.0, 0.0, 0.0, 0.0
    for t in range(steps.size):
        if steps[t] >= 0:
            step = min(steps[t], LARGEST)
            if t < split:
                left += step * step
                n_left += 1.0
            else:
                right += step * step
                n_right += 1.0
    if n_left == 0 or n_right == 0:
        return 0.0
    n = n_left + n_right
    ratio = (
        n * log((left + right) / n + TINY)
        - n_left * log(left / n_left + TINY)
        - n_right * log(right / n_right + TINY)
    )
    return max(ratio, 0.0)
