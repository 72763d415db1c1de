"""Jitted loops of the density: unit vectors, and mean distances to the nearest references."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from smkc.paper.kernel._select import COUNTED, NO_GUESS, kth_bits

ZERO, ONE, FAR = np.float32(0.0), np.float32(1.0), np.float32(3.0e38)
NO_REFERENCE = -1


@njit(cache=True, nogil=True)
def nearest(
    similarities: NDArray[np.float32],
    rows: NDArray[np.int64],
    reference_rows: NDArray[np.int64],
    guard: int,
    which: NDArray[np.int64],
) -> None:
    """Set ``which`` (B, k) to the references with the largest ``similarities`` (B, n).

    Window b starts at ``rows[b]``; references that start less than ``guard`` rows away are left
    out. Where fewer than k references remain, the missing entries are NO_REFERENCE. Among equally
    similar references the first are chosen. The chosen indices are in ascending order.
    """
    n_windows, n = similarities.shape
    k = which.shape[1]
    distances = np.empty(n + COUNTED, np.float32)
    bits = distances.view(np.int32)
    guess = NO_GUESS
    for b in range(n_windows):
        for i in range(n):
            is_near = abs(reference_rows[i] - rows[b]) < guard
            distances[i] = FAR if is_near else max(ONE - similarities[b, i], ZERO)
        guess, up_to = kth_bits(bits, n, k - 1, guess)
        limit = np.int32(guess)
        n_equal = k
        if up_to > k:
            for i in range(n):
                n_equal -= int(bits[i] < limit)
        at = 0
        for i in range(n):
            if bits[i] <= limit:
                if bits[i] == limit:
                    if n_equal == 0:
                        continue
                    n_equal -= 1
                which[b, at] = i if distances[i] < FAR else NO_REFERENCE
                at += 1


@njit(cache=True, nogil=True)
def mean_distances(
    vectors: NDArray[np.float32],
    references: NDArray[np.float32],
    which: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """Set ``out`` (B,) to mean cosine distances of ``vectors`` (B, d) to k references each.

    ``which`` (B, k) are indices into ``references`` (n, d); out[b] is NaN if any is NO_REFERENCE.
    The distance is computed as half the squared difference of unit vectors: 1 minus their product
    would lose half the digits.
    """
    n_windows, k = which.shape
    for b in range(n_windows):
        total = 0.0
        for i in range(k):
            at = which[b, i]
            if at == NO_REFERENCE:
                total = np.nan
            else:
                total += 0.5 * _squared_difference(vectors[b], references[at])
        out[b] = total / k


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _squared_difference(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    total = 0.0
    for i in range(a.size):
        difference = np.float64(a[i]) - np.float64(b[i])
        total += difference * difference
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _product(a: NDArray[np.float32], b: NDArray[np.float32]) -> np.float32:
    """Return a . b, summed in an unspecified order."""
    total = ZERO
    for i in range(a.size):
        total += a[i] * b[i]
    return np.float32(total)


@njit(cache=True, nogil=True)
def to_unit_length(vectors: NDArray[np.float32]) -> None:
    """Divide ``vectors`` (B, d) by their lengths; a zero vector becomes the first unit vector."""
    for b in range(vectors.shape[0]):
        vector = vectors[b]
        length = np.sqrt(_product(vector, vector))
        if length > ZERO:
            for j in range(vector.size):
                vector[j] /= length
        else:
            vector[0] = ONE
