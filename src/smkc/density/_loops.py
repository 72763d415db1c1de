"""Jitted loops of the density: distances to the reference set -> mean of the nearest ones."""

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from smkc.kernel._select import sum_of_smallest


@njit(cache=True)
def mean_of_nearest_in_row(similarities: NDArray[np.float32], k: int) -> float:
    """Return the mean of the k smallest cosine distances; ``similarities`` (n,) is overwritten."""
    for i in range(similarities.size):
        similarities[i] = max(np.float32(1.0) - similarities[i], np.float32(0.0))
    return sum_of_smallest(similarities, similarities.size, k) / k


@njit(cache=True, parallel=True)
def mean_of_nearest_elsewhere(
    similarities: NDArray[np.float32],
    k: int,
    rows: NDArray[np.int64],
    reference_rows: NDArray[np.int64],
    guard: int,
    out: NDArray[np.float64],
) -> None:
    """Do as :func:`mean_of_nearest`, without references less than ``guard`` rows away.

    out[b] is NaN where fewer than k remain.
    """
    for b in prange(similarities.shape[0]):
        row = similarities[b]
        n = 0
        for i in range(row.size):
            if abs(reference_rows[i] - rows[b]) >= guard:
                row[n] = row[i]
                n += 1
        out[b] = mean_of_nearest_in_row(row[:n], k) if n >= k else np.nan


@njit(cache=True, parallel=True)
def mean_of_nearest(similarities: NDArray[np.float32], k: int, out: NDArray[np.float64]) -> None:
    """out[b] = mean of the k smallest cosine distances; ``similarities`` (B, n) is overwritten."""
    for b in prange(similarities.shape[0]):
        out[b] = mean_of_nearest_in_row(similarities[b], k)
