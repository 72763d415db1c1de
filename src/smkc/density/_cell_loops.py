"""Jitted loops over cells: which references of some cells resemble each query most, by bytes.

Sums of products of bytes are whole numbers, so they are the same on every processor; where it has
AVX-512 VNNI they are taken in tiles.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from smkc.density._tiles import BLOCK, TILE_QUERIES, product_sums
from smkc.kernel._vectors import FLOATS, INTS, LANES, SIZE, Items

__all__ = ["LOWEST", "best_entries", "look_in_tiles", "look_plainly", "raise_limits"]

LOWEST = np.int32(-(2**31))

# A key holds a sum in its upper half and, below, an entry's number, turned round: of entries with
# the same sum the first has the highest key.
HALF, LAST_ENTRY = 32, 2**31 - 1


def _multiply(n_queries: int) -> Callable[..., Any]:
    """Return ``multiply(queries, first, references, block, out)``, for jitted loops.

    It sets ``out`` (n_queries, BLOCK) int32 to products of ``queries`` (Q, f) int32, signed bytes
    by fours, from the ``first`` on, with a block of ``references`` (N / BLOCK, f, BLOCK) int32,
    unsigned bytes by fours.
    """

    def multiply(
        typing: Any, queries: Any, first: Any, references: Any, block: Any, out: Any
    ) -> tuple[Any, Callable[..., Any]]:
        signature = types.void(queries, types.intp, references, types.intp, out)

        def write(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            rows = [builder.add(args[1], SIZE(at)) for at in range(n_queries)]
            zeros = [ir.Constant(INTS, [0] * LANES)] * n_queries
            target = Items(context, builder, signature, args, 4)
            sums = product_sums(context, builder, signature, args, rows, INTS, zeros)
            for row, totals in enumerate(sums):
                for at, total in enumerate(totals):
                    target.store(builder.bitcast(total, FLOATS), SIZE(row), SIZE(LANES * at))
            return context.get_dummy_value()

        return signature, write

    made: Callable[..., Any] = intrinsic(multiply)
    return made


multiply_many, multiply_one = _multiply(TILE_QUERIES), _multiply(1)


@njit(cache=True, nogil=True)
def look_in_tiles(
    queries: NDArray[np.int32],
    order: NDArray[np.int64],
    ends: NDArray[np.int64],
    packed: NDArray[np.int32],
    first_blocks: NDArray[np.int64],
    entries: NDArray[np.int32],
    n: int,
    limits: NDArray[np.int32],
    counts: NDArray[np.int64],
    keys: NDArray[np.int64],
) -> None:
    """Look through cells for queries, and keep what resembles each most.

    ``queries`` (Q, f) are bytes by fours. The queries that look into cell c are ``order[ends[c] :
    ends[c + 1]]``; its references are blocks ``first_blocks[c]`` to ``first_blocks[c + 1]`` of
    ``packed`` (N / BLOCK, f, BLOCK), and ``entries`` (N,) says which they are, -1 for none.
    ``keys`` (Q, ...) holds ``counts`` (Q,) of each query, of which the n highest matter; sums up to
    ``limits`` (Q,) are passed over.
    """
    n_items = queries.shape[1]
    mine = np.zeros((np.diff(ends).max() + TILE_QUERIES, n_items), np.int32)
    sums = np.empty((TILE_QUERIES, BLOCK), np.int32)
    for cell in range(ends.size - 1):
        asking = order[ends[cell] : ends[cell + 1]]
        for at in range(asking.size):
            for item in range(n_items):
                mine[at, item] = queries[asking[at], item]
        for first in range(0, asking.size, TILE_QUERIES):
            n_rows = min(TILE_QUERIES, asking.size - first)
            for block in range(first_blocks[cell], first_blocks[cell + 1]):
                if n_rows == 1:
                    multiply_one(mine, first, packed, block, sums)
                else:
                    multiply_many(mine, first, packed, block, sums)
                for row in range(n_rows):
                    query = asking[first + row]
                    if _is_past(sums, row, limits[query]):
                        _keep(sums, row, entries, block, query, n, limits, counts, keys)


@njit(cache=True, nogil=True)
def look_plainly(
    queries: NDArray[np.int8],
    order: NDArray[np.int64],
    ends: NDArray[np.int64],
    rows: NDArray[np.uint8],
    first_blocks: NDArray[np.int64],
    entries: NDArray[np.int32],
    n: int,
    limits: NDArray[np.int32],
    counts: NDArray[np.int64],
    keys: NDArray[np.int64],
) -> None:
    """Do as :func:`look_in_tiles` on any processor: ``queries`` (Q, d), ``rows`` (N, d) bytes."""
    sums = np.empty((1, BLOCK), np.int32)
    for cell in range(ends.size - 1):
        asking = order[ends[cell] : ends[cell + 1]]
        for block in range(first_blocks[cell], first_blocks[cell + 1]):
            for query in asking:
                for at in range(BLOCK):
                    sums[0, at] = _product(queries, query, rows, block * BLOCK + at)
                if _is_past(sums, 0, limits[query]):
                    _keep(sums, 0, entries, block, query, n, limits, counts, keys)


@njit(cache=True, nogil=True)
def _product(queries: NDArray[np.int8], query: int, rows: NDArray[np.uint8], row: int) -> np.int32:
    """Return a query's product with a row, in 32 bits throughout: compilers widen it otherwise."""
    total = np.int32(0)
    for i in range(queries.shape[1]):
        total = np.int32(total + np.int32(np.int32(queries[query, i]) * np.int32(rows[row, i])))
    return total


@njit(cache=True, nogil=True)
def _is_past(sums: NDArray[np.int32], row: int, limit: np.int32) -> bool:
    """Whether any of a row of sums is past a limit."""
    highest = LOWEST
    for at in range(BLOCK):
        highest = max(highest, sums[row, at])
    return bool(highest > limit)


@njit(cache=True, nogil=True)
def _keep(
    sums: NDArray[np.int32],
    row: int,
    entries: NDArray[np.int32],
    block: int,
    query: int,
    n: int,
    limits: NDArray[np.int32],
    counts: NDArray[np.int64],
    keys: NDArray[np.int64],
) -> None:
    """Add those of a row of sums that are past a query's limit to its keys; raise it if full."""
    count, limit, first = counts[query], limits[query], block * BLOCK
    for at in range(BLOCK):
        entry = entries[first + at]
        if sums[row, at] > limit and entry >= 0:
            keys[query, count] = (np.int64(sums[row, at]) << HALF) | np.int64(LAST_ENTRY - entry)
            count += 1
    if count + BLOCK > keys.shape[1]:
        count = _only_best(keys[query], count, n, limits[query : query + 1])
    counts[query] = count


@njit(cache=True, nogil=True)
def _only_best(keys: NDArray[np.int64], count: int, n: int, limit: NDArray[np.int32]) -> int:
    """Keep the n highest of so many keys, in no order; set (1,) the limit to the least sum."""
    if count <= n:
        return count
    parted = np.partition(keys[:count], count - n)
    keys[:n] = parted[count - n :]
    # An entry with the sum of the least may still come before it.
    limit[0] = np.int32(parted[count - n] >> HALF) - np.int32(1)
    return n


@njit(cache=True, nogil=True)
def raise_limits(
    n: int, limits: NDArray[np.int32], counts: NDArray[np.int64], keys: NDArray[np.int64]
) -> None:
    """Keep the n highest keys of each query."""
    for query in range(counts.size):
        counts[query] = _only_best(keys[query], counts[query], n, limits[query : query + 1])


@njit(cache=True, nogil=True)
def best_entries(
    counts: NDArray[np.int64], keys: NDArray[np.int64], out: NDArray[np.int64]
) -> None:
    """Set ``out`` (Q, n) to the entries of the kept keys, ascending; -1 where there are none."""
    out[:] = -1
    for query in range(counts.size):
        found = LAST_ENTRY - (keys[query, : counts[query]] & LAST_ENTRY)
        out[query, : counts[query]] = found
