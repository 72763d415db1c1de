"""Jitted order statistics: the k-th smallest of many non-negative floats, by counting.

Non-negative floats sort like their bit patterns, and counting how many lie below a pivot is a
loop that compilers turn into vector instructions. A dozen such passes beat any sort, and the
result is exact.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["kth_bits", "median_root", "sum_of_smallest"]

# Once so few candidates are left, stepping from one to the next is cheaper than halving.
FEW = 3


@njit(cache=True, inline="always")
def _count_up_to(bits: NDArray[np.int32], n: int, pivot: np.int32) -> int:
    count = np.int32(0)
    for i in range(n):
        count += np.int32(bits[i] <= pivot)
    return int(count)


@njit(cache=True, inline="always")
def _next_above(bits: NDArray[np.int32], n: int, pivot: np.int32) -> np.int32:
    """Return the smallest of ``bits`` that is greater than pivot (the largest int32 if none)."""
    best = np.int32(0x7FFFFFFF)
    for i in range(n):
        best = min(best, bits[i] if bits[i] > pivot else np.int32(0x7FFFFFFF))
    return best


@njit(cache=True)
def kth_bits(bits: NDArray[np.int32], n: int, k: int) -> tuple[np.int32, int]:
    """Return the bit pattern of the k-th smallest (from 0) of ``bits[:n]``, and a count.

    The count says how many of ``bits`` are up to and including it.
    """
    low = np.int32(0x7FFFFFFF)
    high = np.int32(0)
    for i in range(n):
        low = min(low, bits[i])
        high = max(high, bits[i])
    low -= np.int32(1)
    below = 0  # how many are <= low
    up_to_high = n
    while up_to_high - below > FEW and high - low > 1:
        pivot = np.int32(low + (high - low) // 2)
        count = _count_up_to(bits, n, pivot)
        if count > k:
            high = pivot
            up_to_high = count
        else:
            low = pivot
            below = count
    while True:
        low = _next_above(bits, n, low)
        below = _count_up_to(bits, n, low)
        if below > k:
            return low, below


@njit(cache=True)
def median_root(squares: NDArray[np.float32], n: int) -> float:
    """Return the median of the square roots of ``squares[:n]``, all non-negative.

    The mean of the two middle ones for even n. If it is 0, the median over the positive ones; 0
    if there are none.
    """
    if n == 0:
        return 0.0
    bits = squares.view(np.int32)
    middle: float = _middle(bits, n, 0)
    if middle > 0.0:
        return middle
    n_zero = _count_up_to(bits, n, np.int32(0))
    if n_zero == n:
        return 0.0
    middle = _middle(bits, n, n_zero)
    return middle


@njit(cache=True, inline="always")
def _middle(bits: NDArray[np.int32], n: int, skipped: int) -> float:
    rest = n - skipped
    lower, up_to_lower = kth_bits(bits, n, skipped + (rest - 1) // 2)
    upper = lower
    if rest % 2 == 0 and up_to_lower <= skipped + rest // 2:
        upper = _next_above(bits, n, lower)
    a = np.float64(np.int32(lower).view(np.float32))
    b = np.float64(np.int32(upper).view(np.float32))
    return float(0.5 * (np.sqrt(a) + np.sqrt(b)))


@njit(cache=True)
def sum_of_smallest(values: NDArray[np.float32], n: int, k: int) -> float:
    """Return the sum of the k smallest of ``values[:n]``, all non-negative, in float64."""
    bits = values.view(np.int32)
    kth, _ = kth_bits(bits, n, k - 1)
    limit = np.int32(kth).view(np.float32)
    total = 0.0
    n_below = 0
    for i in range(n):
        if values[i] < limit:
            total += values[i]
            n_below += 1
    return total + (k - n_below) * np.float64(limit)
