"""Presence: variables that are missing together for a while and then return.

In: a mask of a window's observed values. Out: the surprise of the most unlikely common gap, in
nats, under the assumption that values are missing independently.
"""

from math import log

import numpy as np

from benchmarks.single_window._compiled import Floats, compiled
from benchmarks.single_window._segments import segment_lengths

__all__ = ["largest_gap"]


@compiled
def largest_gap(seen: Floats, blame: Floats) -> float:
    """Return the statistic ``gaps`` of a window; fill ``blame`` (C,) with each variable's part.

    A gap counts for a variable that was observed both before and after it in the window; variables
    that appear or vanish for good do not count. A variable contributes the gap's length times
    minus the log of its share of missing values elsewhere. The log of C * L, for the number of
    gaps tried, is subtracted from the sum.
    """
    n_variables, length = seen.shape
    counts = np.zeros((n_variables, length + 1))
    for c in range(n_variables):
        for t in range(length):
            counts[c, t + 1] = counts[c, t] + seen[c, t]
    lengths = segment_lengths(length)
    best, best_start, best_length = 0.0, 0, 0
    for i in range(1, 4):
        for s in range(1, length - lengths[i]):
            total = 0.0
            for c in range(n_variables):
                total += _surprise(counts[c], s, lengths[i])
            if total > best:
                best, best_start, best_length = total, s, lengths[i]
    for c in range(n_variables):
        blame[c] = _surprise(counts[c], best_start, best_length) if best > 0 else 0.0
    return max(best - log(float(n_variables * length)), 0.0)


@compiled
def _surprise(counts: Floats, start: int, n: int) -> float:
    """Return minus the log probability that a variable is missing for n steps from ``start``."""
    end, last = start + n, counts.size - 1
    if counts[end] > counts[start] or counts[start] == 0 or counts[end] == counts[last]:
        return 0.0
    n_elsewhere = last - n
    return -n * log((1.0 + n_elsewhere - counts[last]) / (2.0 + n_elsewhere))
