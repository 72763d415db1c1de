"""Jitted loops of the coarse look: unit vectors -> mean distance to their nearest references.

A dot product of bytes, with what rounding to bytes can have changed at most, bounds a distance
from both sides. A reference whose least possible distance is above what k others have at most is
not among the k nearest; the few others are measured.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from smkc.density._loops import FIRST_GUESS, product
from smkc.density._tiles import GROUPS, TILE_QUERIES, bound_many, bound_one, fetch_row
from smkc.kernel._select import COUNTED, kth_bits, sum_of_smallest

__all__ = ["BLOCK_QUERIES", "LARGEST_BYTE", "SHIFT", "mean_of_nearest_coarse"]

# Queries that are looked at together: bounds of their distances stay near the processor.
BLOCK_QUERIES = 16

# Queries are rounded to signed bytes, references to signed bytes and shifted to unsigned ones.
LARGEST_BYTE, SHIFT = 127, 128

# Marks that are looked at together: one word of memory.
LOOKED_AT = 8

# References are brought near so many before they are measured.
AHEAD = 4

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
    signed: NDArray[np.int8],
    fours: NDArray[np.int32],
    bounds: NDArray[np.float32],
    out: NDArray[np.float64],
) -> None:
    """out[b] = mean cosine distance of ``vectors`` (B, d) to their k nearest ``references``.

    NaN where more than ``most`` references would have to be measured. ``packed``, ``about``,
    ``centre``, ``doubt`` and ``rounding`` as in
    :class:`smkc.density.coarse.references.CoarseReferences`. ``signed`` (BLOCK_QUERIES, 4 f), zero
    on entry, ``fours``, the same memory by fours, and ``bounds`` (BLOCK_QUERIES, N + ...) are
    scratch.
    """
    limit_guess, guess = FIRST_GUESS, FIRST_GUESS
    facts = np.empty((BLOCK_QUERIES, 3), np.float32)
    farthest = np.empty((BLOCK_QUERIES, GROUPS), np.float32)
    n_groups = farthest.shape[1]
    is_near = np.empty(about.shape[1], np.uint8)
    which = np.empty(most + LOOKED_AT, np.int64)
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
            limit = np.int32(limit_guess).view(np.float32) + TWO * rounding
            _mark(bounds[q], about[1], TWO * facts[q, 1], limit, is_near)
            n_near = _marked(is_near, most, which)
            out[first + q] = np.nan
            if k <= n_near <= most:
                _measure(vectors[first + q], references, which[:n_near], measured)
                total, guess = sum_of_smallest(measured, n_near, k, guess)
                out[first + q] = total / k


@njit(cache=True, nogil=True)
def _mark(
    bounds: NDArray[np.float32],
    lengths: NDArray[np.float32],
    width: np.float32,
    limit: np.float32,
    is_near: NDArray[np.uint8],
) -> None:
    """Mark (N,) the references whose least possible distance is within the limit.

    It is ``width`` times their ``lengths`` (N,) below their ``bounds`` (N, ...).
    """
    for i in range(is_near.size):
        is_near[i] = np.uint8(bounds[i] - width * lengths[i] <= limit)


@njit(cache=True, nogil=True)
def _marked(is_near: NDArray[np.uint8], most: int, which: NDArray[np.int64]) -> int:
    """Write the places of marks to ``which``; return how many, or some number above ``most``."""
    n_near = 0
    words = is_near.view(np.uint64)
    for word in range(words.size):
        if words[word] != 0:
            for i in range(LOOKED_AT * word, LOOKED_AT * (word + 1)):
                which[n_near] = i
                n_near += is_near[i]
            if n_near > most:
                break
    return n_near


@njit(cache=True, nogil=True)
def _measure(
    vector: NDArray[np.float32],
    references: NDArray[np.float32],
    which: NDArray[np.int64],
    distances: NDArray[np.float32],
) -> None:
    """Set ``distances`` (m, ...) to those of a vector (d,) to the references ``which`` (m,)."""
    for i in range(which.size + AHEAD):
        if i < which.size:
            fetch_row(references, which[i])
        if i >= AHEAD:
            at = i - AHEAD
            distances[at] = max(ONE - product(vector, references[which[at]]), ZERO)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _round_to_bytes(
    vector: NDArray[np.float32],
    centre: NDArray[np.float32],
    doubt: np.float32,
    signed: NDArray[np.int8],
    facts: NDArray[np.float32],
) -> None:
    """Round what a vector (d,) is away from the centre to ``signed`` bytes.

    ``facts`` (3,) receives what 1 in the bytes stands for, by how much a distance may be off for
    a reference of length 1, and what takes the shift of the references' bytes out of a product.
    """
    largest = TINY
    for j in range(vector.size):
        largest = max(largest, abs(vector[j] - centre[j]))
    unit, per_unit = largest / LARGEST, LARGEST / largest
    total, square, lost = ZERO, ZERO, ZERO
    for j in range(vector.size):
        away = vector[j] - centre[j]
        whole = np.rint(away * per_unit)
        signed[j] = np.int8(whole)
        total += whole
        square += away * away
        lost += (away - whole * unit) * (away - whole * unit)
    facts[0] = unit
    facts[1] = LENGTH_MARGIN * (np.sqrt(lost) + doubt * np.sqrt(square))
    facts[2] = -SHIFT * total
