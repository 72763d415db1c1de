"""Jitted order statistics: the k-th smallest of many non-negative floats, by counting.

Non-negative floats sort like their bit patterns, and counting how many are at or below a pivot is a
loop that compilers vectorise. A few such passes around a guess are faster than sorting, and the
result is exact.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

# With at most this many candidates left, stepping from one to the next is cheaper than halving.
FEW = 3

# Neighbouring windows share nearly all their numbers, so the wanted rank is often at most this far
# from the guess's rank; then stepping there is cheaper than bracketing.
NEAR = 3

# Expected range of the bit patterns, about two octaves; divided by n, it gives the width of the
# first bracket per rank.
SPREAD = 1 << 24

LARGEST_BITS = 0x7FFFFFFF
NO_GUESS: Any = np.int64(-1)  # int64: numba would compile a separate version for a literal
NONE_SKIPPED: Any = np.int64(0)

# Numbers are counted in multiples of 64; the padding behind the last number is never counted.
COUNTED = 64
NEVER = np.int32(0x7FFFFFFF)


@njit(cache=True, nogil=True, inline="always")
def _count_up_to(bits: NDArray[np.int32], n: int, pivot: int) -> int:
    limit = np.int32(pivot)
    count = np.int32(0)
    for i in range(n):
        count += np.int32(bits[i] <= limit)
    return int(count)


@njit(cache=True, nogil=True, inline="always")
def _next_above(bits: NDArray[np.int32], n: int, pivot: int) -> int:
    """Return the smallest of ``bits`` that is greater than pivot (the largest int32 if none)."""
    limit = np.int32(pivot)
    best = np.int32(0x7FFFFFFF)
    for i in range(n):
        best = min(best, bits[i] if bits[i] > limit else np.int32(0x7FFFFFFF))
    return int(best)


@njit(cache=True, nogil=True, inline="always")
def _last_up_to(bits: NDArray[np.int32], n: int, pivot: int) -> int:
    """Return the largest of ``bits`` that is not greater than pivot (-1 if none)."""
    limit = np.int32(pivot)
    best = np.int32(-1)
    for i in range(n):
        best = max(best, bits[i] if bits[i] <= limit else np.int32(-1))
    return int(best)


@njit(cache=True, nogil=True)
def _bracket(
    bits: NDArray[np.int32], n: int, k: int, at: int, count: int
) -> tuple[int, int, int, int]:
    """Return low, high, and how many numbers are at or below each.

    The k-th smallest is above low and at or below high. ``count`` numbers are at or below ``at``.
    """
    step = (abs(k - count) + 1) * max(SPREAD // n, 1)
    if count > k:
        while True:
            low = max(at - step, -1)
            below = _count_up_to(bits, n, low) if low >= 0 else 0
            if below <= k:
                return low, at, below, count
            at, count = low, below
            step *= 4
    while True:
        high = min(at + step, LARGEST_BITS)
        up_to = _count_up_to(bits, n, high)
        if up_to > k or high == LARGEST_BITS:
            return at, high, count, up_to
        at, count = high, up_to
        step *= 4


@njit(cache=True, nogil=True)
def kth_bits(bits: NDArray[np.int32], n: int, k: int, guess: int) -> tuple[int, int]:
    """Return the bit pattern of the k-th smallest (from 0) of ``bits[:n]``, and a count.

    The count is the number of ``bits[:n]`` at or below it. A ``guess`` other than NO_GUESS saves
    passes and does not change the result. Entries behind the first n, up to a multiple of COUNTED,
    are overwritten if ``bits`` is long enough.
    """
    if guess == NO_GUESS:
        # The mean bit pattern, similar to a geometric mean, is near the median.
        total = 0
        for i in range(n):
            total += bits[i]
        guess = total // n
    whole = (n + COUNTED - 1) // COUNTED * COUNTED
    if whole <= bits.size:
        bits[n:whole] = NEVER
        n = whole
    count = _count_up_to(bits, n, guess)
    if k < count <= k + NEAR:
        while True:
            at = _last_up_to(bits, n, guess)
            below = _count_up_to(bits, n, at - 1)
            if below <= k:
                return at, count
            guess, count = at - 1, below
    low, high, below, up_to = guess, guess + 1, count, count
    if not k - NEAR < count <= k:
        low, high, below, up_to = _bracket(bits, n, k, guess, count)
    turn = 0
    while up_to - below > FEW and high - low > 1:
        # Interpolate twice, then halve once, which guarantees progress.
        share = 0.5 if turn % 3 == 2 else (k + 0.5 - below) / (up_to - below)
        pivot = min(max(low + int(share * (high - low)), low + 1), high - 1)
        count = _count_up_to(bits, n, pivot)
        if count > k:
            high, up_to = pivot, count
        else:
            low, below = pivot, count
        turn += 1
    while True:
        low = _next_above(bits, n, low)
        below = _count_up_to(bits, n, low)
        if below > k:
            return low, below


@njit(cache=True, nogil=True)
def median_root(squares: NDArray[np.float32], n: int, guess: int) -> tuple[float, int]:
    """Return the median of the square roots of ``squares[:n]``, all non-negative, and a guess.

    For even n it is the mean of the two middle roots. If it is 0, return the median of the positive
    roots, or 0 if there are none. The guess is for the next, similar set.
    """
    if n == 0:
        return 0.0, NO_GUESS
    bits = squares.view(np.int32)
    middle, lower = _middle(bits, n, NONE_SKIPPED, guess)
    if middle > 0.0:
        return middle, lower
    n_zero = _count_up_to(bits, n, 0)
    if n_zero == n:
        return 0.0, NO_GUESS
    return _middle(bits, n, NONE_SKIPPED + n_zero, NO_GUESS)


@njit(cache=True, nogil=True)
def _middle(bits: NDArray[np.int32], n: int, skipped: int, guess: int) -> tuple[float, int]:
    rest = n - skipped
    lower, up_to_lower = kth_bits(bits, n, skipped + (rest - 1) // 2, guess)
    upper = lower
    if rest % 2 == 0 and up_to_lower <= skipped + rest // 2:
        upper = _next_above(bits, n, lower)
    a = np.float64(np.int32(lower).view(np.float32))
    b = np.float64(np.int32(upper).view(np.float32))
    return float(0.5 * (np.sqrt(a) + np.sqrt(b))), lower
