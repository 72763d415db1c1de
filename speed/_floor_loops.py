"""Jitted loops for the floor: each stage of the sliding scan alone, and the machine at its best.

In: arrays. Out: the same work as in the scan, one stage at a time; and loops that do nothing but
one kind of operation on numbers that lie in the first-level cache.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from smkc.kernel._channels import _gather_distances, to_log_distance
from smkc.kernel._pairs import (
    first_difference,
    lag_distances,
    lag_distances_of_difference,
    squared_norms,
)
from smkc.kernel._select import NO_GUESS, median_root


@njit(cache=True, nogil=True)
def pairs_of(states: NDArray[np.float32], pairs: NDArray[np.float32], squares: NDArray) -> None:
    """Compare the time steps of one span: all three sequences at every lag."""
    difference = first_difference(states)
    lag_distances(states, pairs.shape[1], pairs[0])
    lag_distances_of_difference(difference, pairs.shape[1], pairs[1], pairs[2])
    squared_norms(difference, squares)


@njit(cache=True, nogil=True)
def gathered(pairs: NDArray, squares: NDArray, n_windows: int, length: int, buffer: NDArray) -> int:
    """Copy every window's distances into one buffer, over and over."""
    n = 0
    for which in range(3):
        for b in range(n_windows):
            n = _gather_distances(pairs[which], squares, b, length, which > 0, buffer)
    return n


@njit(cache=True, nogil=True)
def gathered_medians(
    pairs: NDArray, squares: NDArray, n_windows: int, length: int, buffer: NDArray, out: NDArray
) -> None:
    """Do as :func:`gathered`, and take the median of each: ``out`` (3, B)."""
    for which in range(3):
        guess = NO_GUESS
        for b in range(n_windows):
            n = _gather_distances(pairs[which], squares, b, length, which > 0, buffer)
            out[which, b], guess = median_root(buffer, n, guess)


@njit(cache=True, nogil=True)
def logs_of(
    buffer: NDArray, n: int, n_windows: int, n_lags: int, length: int, out: NDArray
) -> None:
    """Write three channels of logarithms of each window, ``out`` (B, 3, n_lags, L)."""
    for b in range(n_windows):
        for which in range(3):
            at = 0
            for lag in range(1, n_lags + 1):
                to_log_distance(buffer[at:], out[b, which, lag - 1], length, 1.5)
                out[b, which, lag - 1, length - lag :] = np.float32(0.0)
                at += length - lag


# ---------------------------------------------------------------------- the machine at its best


@njit(cache=True, nogil=True, fastmath={"contract"})
def multiply_adds(x: NDArray, rounds: int) -> None:
    """Eight multiply-adds on each of the numbers (n,), so many times."""
    a, b = np.float32(0.999), np.float32(0.001)
    for _ in range(rounds):
        for i in range(x.size):
            y = x[i]
            y = y * a + b
            y = y * a + b
            y = y * a + b
            y = y * a + b
            y = y * a + b
            y = y * a + b
            y = y * a + b
            y = y * a + b
            x[i] = y


@njit(cache=True, nogil=True)
def counted(bits: NDArray, limit: np.int32, rounds: int) -> int:
    """Count how many are up to a limit that changes each time."""
    total = 0
    for r in range(rounds):
        here, count = np.int32(limit + np.int32(r)), np.int32(0)
        for i in range(bits.size):
            count += np.int32(bits[i] <= here)
        total += int(count)
    return total


@njit(cache=True, nogil=True)
def logs_alone(x: NDArray, out: NDArray, rounds: int) -> None:
    """Logarithms of numbers that stay in the first-level cache."""
    for _ in range(rounds):
        to_log_distance(x, out, x.size, 1.5)
