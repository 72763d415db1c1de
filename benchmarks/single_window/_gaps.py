"""Presence: variables that fall silent together for a while and come back.

In: where the values of a window were seen. Out: how surprising the most telling common gap is, in
nats, if values were missing one by one.
"""

from math import log

import numpy as np

from benchmarks.single_window._compiled import Floats, compiled
from benchmarks.single_window._segments import segment_lengths

__all__ = ["largest_gap"]


@compiled
def largest_gap(seen: Floats, blame: Floats) -> float:
    """Return the statistic gaps of a window; ``blame`` (C,) each variable's part of it.

    A gap counts for a variable that was seen both before and after it in the window: one that
    appears or vanishes for good says nothing here. It counts by its length times minus the log of
    the variable's share of missing values elsewhere; less the log of how many gaps there could be.
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
    """Return minus the log probability that a variable is silent from ``start`` for n steps."""
    end, last = start + n, counts.size - 1
    if counts[end] > counts[start] or counts[start] == 0 or counts[end] == counts[last]:
        return 0.0
    n_elsewhere = last - n
    return -n * log((1.0 + n_elsewhere - counts[last]) / (2.0 + n_elsewhere))
