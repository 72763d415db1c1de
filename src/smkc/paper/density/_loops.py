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
def mean_of_candidates(
    vectors: NDArray[np.float32],
    references: NDArray[np.float32],
    candidates: NDArray[np.int64],
    k: int,
    rows: NDArray[np.int64],
    reference_rows: NDArray[np.int64],
    guard: int,
    out: NDArray[np.float64],
) -> None:
    """Set ``out`` (B,) to mean cosine distances of ``vectors`` (B, d) to k nearest candidates.

    ``candidates`` (B, m) are indices into ``references`` (n, d) or NO_REFERENCE; ``guard`` is as in
    :func:`nearest`. out[b] is NaN where fewer than k candidates remain. The distance is computed as
    half the squared difference of unit vectors: 1 minus their product would lose half the digits.
    """
    n_windows, n_candidates = candidates.shape
    distances = np.empty(n_candidates, np.float64)
    for b in range(n_windows):
        n_left = 0
        for i in range(n_candidates):
            at = candidates[b, i]
            if at != NO_REFERENCE and abs(reference_rows[at] - rows[b]) >= guard:
                distances[n_left] = 0.5 * _squared_difference(vectors[b], references[at])
                n_left += 1
        out[b] = np.nan
        if n_left > k:
            out[b] = np.sort(distances[:n_left])[:k].mean()
        elif n_left == k:
            out[b] = distances[:k].mean()


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
def weighted_sum(
    weights: NDArray[np.float32], rows: NDArray[np.float32], out: NDArray[np.float32]
) -> None:
    """Set ``out`` (d,) to weights (n,) @ rows (n, d), on this thread only, 8 rows per pass.

    One product per time step is too little work to distribute over threads.
    """
    out[:] = ZERO
    in_eights = rows.shape[0] - rows.shape[0] % 8
    for i in range(0, in_eights, 8):
        w0, w1, w2, w3 = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        w4, w5, w6, w7 = weights[i + 4], weights[i + 5], weights[i + 6], weights[i + 7]
        r0, r1, r2, r3 = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        r4, r5, r6, r7 = rows[i + 4], rows[i + 5], rows[i + 6], rows[i + 7]
        for j in range(out.size):
            half = (w0 * r0[j] + w1 * r1[j]) + (w2 * r2[j] + w3 * r3[j])
            out[j] += half + ((w4 * r4[j] + w5 * r5[j]) + (w6 * r6[j] + w7 * r7[j]))
    for i in range(in_eights, rows.shape[0]):
        w0, r0 = weights[i], rows[i]
        for j in range(out.size):
            out[j] += w0 * r0[j]


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
