"""Jitted loops of the density: distances to the reference set -> mean of the nearest ones."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from smkc.density._tiles import TILE_QUERIES, multiply_many, multiply_one
from smkc.kernel._select import COUNTED, NO_GUESS, kth_bits, sum_of_smallest

__all__ = [
    "NONE_LEFT",
    "largest",
    "mean_of_candidates",
    "mean_of_nearest",
    "mean_of_nearest_elsewhere",
    "product",
    "products_in_tiles",
    "to_unit_length",
    "weighted_sum",
]

ZERO, ONE, TWO = np.float32(0.0), np.float32(1.0), np.float32(2.0)

# A whole number that varies later; a literal would be compiled for once more.
NONE_LEFT: Any = np.int64(0)


@njit(cache=True, nogil=True)
def mean_of_nearest(similarities: NDArray[np.float32], k: int, out: NDArray[np.float64]) -> None:
    """out[b] = mean of the k smallest cosine distances, 1 - ``similarities`` (B, n)."""
    n_windows, n = similarities.shape
    distances = np.empty(n + COUNTED, np.float32)
    guess = NO_GUESS
    for b in range(n_windows):
        for i in range(n):
            distances[i] = max(ONE - similarities[b, i], ZERO)
        total, guess = sum_of_smallest(distances, n, k, guess)
        out[b] = total / k


@njit(cache=True, nogil=True)
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
    n_windows, n = similarities.shape
    distances = np.empty(n + COUNTED, np.float32)
    guess = NO_GUESS
    for b in range(n_windows):
        n_left = NONE_LEFT
        for i in range(n):
            if abs(reference_rows[i] - rows[b]) >= guard:
                distances[n_left] = max(ONE - similarities[b, i], ZERO)
                n_left += 1
        out[b] = np.nan
        if n_left >= k:
            total, guess = sum_of_smallest(distances, n_left, k, guess)
            out[b] = total / k


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
    """Do as :func:`mean_of_nearest` among some references: ``candidates`` (B, m), -1 for none.

    ``vectors`` (B, d), ``references`` (n, d). References less than ``guard`` rows away are left
    out. out[b] is NaN where fewer than k remain.
    """
    n_windows, n_candidates = candidates.shape
    distances = np.empty(n_candidates + COUNTED, np.float32)
    guess = NO_GUESS
    for b in range(n_windows):
        n_left = NONE_LEFT
        for i in range(n_candidates):
            at = candidates[b, i]
            if at >= 0 and (guard == 0 or abs(reference_rows[at] - rows[b]) >= guard):
                alike = product(vectors[b], references[at])
                distances[n_left] = max(ONE - alike, ZERO)
                n_left += 1
        out[b] = np.nan
        if n_left >= k:
            total, guess = sum_of_smallest(distances, n_left, k, guess)
            out[b] = total / k


@njit(cache=True, nogil=True)
def largest(
    similarities: NDArray[np.float32],
    k: int,
    which: NDArray[np.int64],
    values: NDArray[np.float32],
) -> None:
    """Set ``which`` and ``values`` (B, k) to places and values of each row's k largest.

    Cosines are about -1 to 1. Of those as large as the k-th the first ones are taken; places
    ascend.
    """
    n_rows, n = similarities.shape
    distances = np.empty(n + COUNTED, np.float32)
    bits = distances.view(np.int32)
    guess = NO_GUESS
    for b in range(n_rows):
        n_below = 0
        for i in range(n):
            distances[i] = max(TWO - similarities[b, i], ZERO)
        guess, _ = kth_bits(bits, n, k - 1, guess)
        limit = np.int32(guess)
        for i in range(n):
            n_below += int(bits[i] < limit)
        n_equal, at = k - n_below, 0
        for i in range(n):
            if bits[i] < limit or (bits[i] == limit and n_equal > 0):
                n_equal -= int(bits[i] == limit)
                which[b, at] = i
                values[b, at] = similarities[b, i]
                at += 1


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def product(a: NDArray[np.float32], b: NDArray[np.float32]) -> np.float32:
    """Return a . b, in whatever order is quickest."""
    total = ZERO
    for i in range(a.size):
        total += a[i] * b[i]
    return np.float32(total)


@njit(cache=True, nogil=True)
def weighted_sum(
    weights: NDArray[np.float32], rows: NDArray[np.float32], out: NDArray[np.float32]
) -> None:
    """Set out (d,) to weights (n,) @ rows (n, d), on this thread alone.

    One product a time step is too little work to wake other threads for. Eight rows a pass.
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
def products_in_tiles(
    rows: NDArray[np.float32],
    items: NDArray[np.int64],
    packed: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None:
    """Set out (B, N) to rows (B, F), only their ``items`` (f,), @ matrix (f, N).

    The matrix is ``packed`` (N / BLOCK, f, BLOCK).
    """
    n_rows = rows.shape[0]
    in_tiles = n_rows - n_rows % TILE_QUERIES
    for block in range(packed.shape[0]):
        for first in range(0, in_tiles, TILE_QUERIES):
            multiply_many(rows, first, packed, block, out, items)
        for row in range(in_tiles, n_rows):
            multiply_one(rows, row, packed, block, out, items)


@njit(cache=True, nogil=True)
def to_unit_length(vectors: NDArray[np.float32]) -> None:
    """Divide (B, d) vectors by their lengths; a zero vector becomes the first axis."""
    for b in range(vectors.shape[0]):
        vector = vectors[b]
        length = np.sqrt(product(vector, vector))
        if length > ZERO:
            for j in range(vector.size):
                vector[j] /= length
        else:
            vector[0] = ONE
