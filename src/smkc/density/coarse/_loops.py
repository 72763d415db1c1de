"""Jitted loops of the coarse look: unit vectors -> mean distance to their nearest references.

A dot product of bytes, with what rounding to bytes can have changed at most, bounds a distance
from both sides. A reference whose least possible distance is above what k others have at most is
not among the k nearest. Of the few others those that are surely as near as that are measured first:
the k nearest of them leave fewer still to measure.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from smkc.density._loops import NONE_LEFT
from smkc.density._tiles import (
    GROUPS,
    TILE_QUERIES,
    bound_many,
    bound_one,
    fetch_row,
)
from smkc.density.coarse._near import MEASURED, alike_four, within
from smkc.kernel._select import COUNTED, NO_GUESS, kth_bits, sum_of_smallest
from smkc.kernel._vectors import LANES

__all__ = ["BLOCK_QUERIES", "LARGEST_BYTE", "SHIFT", "mean_of_nearest_coarse"]

# Queries that are looked at together: bounds of their distances stay near the processor.
BLOCK_QUERIES = 16

# Queries are rounded to signed bytes, references to signed bytes and shifted to unsigned ones.
LARGEST_BYTE, SHIFT = 127, 128

ZERO, ONE, TWO, TINY = np.float32(0.0), np.float32(1.0), np.float32(2.0), np.float32(1e-30)
LARGEST = np.float32(LARGEST_BYTE)
FAR = np.float32(3.0e38)

# A length summed up in float32 may come out too small by less than this share.
LENGTH_MARGIN = np.float32(1.0001)


@njit(cache=True, nogil=True)
def mean_of_nearest_coarse(
    vectors: NDArray[np.float32],
    references: NDArray[np.float32],
    packed: NDArray[np.int32],
    about: NDArray[np.float32],
    centre: NDArray[np.float32],
    doubt: np.float32,
    rounding: np.float32,
    k: int,
    most: int,
    bounds: NDArray[np.float32],
    out: NDArray[np.float64],
) -> None:
    """out[b] = mean cosine distance of ``vectors`` (B, d) to their k nearest ``references``.

    NaN where more than ``most`` references would have to be measured. ``packed``, ``about``,
    ``centre``, ``doubt`` and ``rounding`` as in
    :class:`smkc.density.coarse.references.CoarseReferences`. ``bounds`` (up to BLOCK_QUERIES,
    N + ...) is scratch.
    """
    fours = np.zeros((bounds.shape[0], packed.shape[1]), np.int32)
    signed = fours.view(np.int8)
    limit_guess, guess = NO_GUESS, NO_GUESS
    facts = np.empty((BLOCK_QUERIES, 4), np.float32)
    farthest = np.empty((BLOCK_QUERIES, GROUPS), np.float32)
    n_groups = farthest.shape[1]
    which = np.empty(about.shape[1] + LANES, np.int32)
    others = np.empty(most, np.int32)
    measured = np.empty(most + COUNTED, np.float32)
    for first in range(0, vectors.shape[0], BLOCK_QUERIES):
        n_queries = min(BLOCK_QUERIES, vectors.shape[0] - first)
        for q in range(n_queries):
            _round_to_bytes(vectors[first + q], centre, doubt, signed[q], facts[q])
        farthest[:n_queries] = FAR
        in_tiles = n_queries - n_queries % TILE_QUERIES
        for block in range(packed.shape[0]):
            for q in range(0, in_tiles, TILE_QUERIES):
                bound_many(fours, q, packed, block, facts, about, bounds, farthest)
            for q in range(in_tiles, n_queries):
                bound_one(fours, q, packed, block, facts, about, bounds, farthest)
        for q in range(n_queries):
            limit_guess, _ = kth_bits(farthest[q].view(np.int32), n_groups, k - 1, limit_guess)
            limit, width = np.int32(limit_guess).view(np.float32), TWO * facts[q, 1]
            n_near = within(bounds, q, about, width, limit + TWO * rounding, which)
            out[first + q] = np.nan
            if k <= n_near <= most:
                n_sure = _sure_first(bounds[q], limit, which[:n_near], others)
                _measure(vectors, first + q, references, which, NONE_LEFT, n_sure, measured)
                total, kth = sum_of_smallest(measured, n_sure, k, guess)
                guess = NONE_LEFT + kth  # of 64 bits: for 32, all would be compiled once more
                limit = np.int32(kth).view(np.float32) + facts[q, 3] + TWO * rounding
                left = others[: n_near - n_sure]
                n = _add_near(bounds[q], about[1], width, limit, left, which, n_sure)
                if n > n_sure:
                    _measure(vectors, first + q, references, which, n_sure, n, measured)
                    total, _ = sum_of_smallest(measured, n, k, guess)
                out[first + q] = total / k


@njit(cache=True, nogil=True)
def _sure_first(
    bounds: NDArray[np.float32],
    limit: np.float32,
    which: NDArray[np.int32],
    others: NDArray[np.int32],
) -> int:
    """Move those of ``which`` (n,) whose ``bounds`` (N,) are within the limit to its front.

    The rest goes to ``others`` (n, ...). Returns how many are at the front. Without branches:
    which way one would go is anybody's guess.
    """
    n_sure = 0
    for i in range(which.size):
        at = which[i]
        which[n_sure] = at
        others[i - n_sure] = at
        n_sure += int(bounds[at] <= limit)
    return n_sure


@njit(cache=True, nogil=True)
def _add_near(
    bounds: NDArray[np.float32],
    lengths: NDArray[np.float32],
    width: np.float32,
    limit: np.float32,
    others: NDArray[np.int32],
    which: NDArray[np.int32],
    n: int,
) -> int:
    """Put those of the ``others`` (m,) that may be within the limit behind the n of ``which``.

    Their least possible distance is ``width`` times their ``lengths`` (N,) below their ``bounds``
    (N, ...). Returns how many there are now.
    """
    for at in others:
        which[n] = at
        n += int(bounds[at] - width * lengths[at] <= limit)
    return n


@njit(cache=True, nogil=True)
def _measure(
    vectors: NDArray[np.float32],
    row: int,
    references: NDArray[np.float32],
    which: NDArray[np.int32],
    first: int,
    last: int,
    distances: NDArray[np.float32],
) -> None:
    """Set ``distances[first:last]`` to those of a vector to the references ``which[first:last]``.

    Up to MEASURED places behind them, in both, are overwritten.
    """
    which[last : last + MEASURED] = 0
    for i in range(first, last, MEASURED):
        for later in range(i + MEASURED, min(i + 2 * MEASURED, last)):
            fetch_row(references, which[later])
        alike_four(vectors, row, references, which, i, distances)
    d = references.shape[1]
    for i in range(first, last):
        alike = distances[i]
        for j in range(d - d % LANES, d):
            alike += vectors[row, j] * references[which[i], j]
        distances[i] = max(ONE - alike, ZERO)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _round_to_bytes(
    vector: NDArray[np.float32],
    centre: NDArray[np.float32],
    doubt: np.float32,
    signed: NDArray[np.int8],
    facts: NDArray[np.float32],
) -> None:
    """Round what a vector (d,) is away from the centre to ``signed`` bytes.

    ``facts`` (4,) receives what 1 in the bytes stands for, by how much a distance may be off for
    a reference of length 1, what takes the shift of the references' bytes out of a product, and by
    how much bounds are above distances.
    """
    largest = TINY
    for j in range(vector.size):
        largest = max(largest, abs(vector[j] - centre[j]))
    unit, per_unit = largest / LARGEST, LARGEST / largest
    total, square, lost, common = ZERO, ZERO, ZERO, ONE
    for j in range(vector.size):
        away = vector[j] - centre[j]
        whole = np.rint(away * per_unit)
        signed[j] = np.int8(whole)
        total += whole
        square += away * away
        common += vector[j] * centre[j]
        lost += (away - whole * unit) * (away - whole * unit)
    facts[0] = unit
    facts[1] = LENGTH_MARGIN * (np.sqrt(lost) + doubt * np.sqrt(square))
    facts[2] = -SHIFT * total
    facts[3] = common
