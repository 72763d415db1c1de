"""Cells: references in bytes, cell by cell, and a look into the cells that queries lie near.

In: bytes of references with the cell of each, then bytes of queries with the cells to look into.
Out: for each query the entries that resemble it most. What a query finds does not depend on the
queries beside it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.density._cell_loops import (
    LOWEST,
    best_entries,
    look_in_tiles,
    look_plainly,
    raise_limits,
)
from smkc.density._tiles import BLOCK, has_tiles, packed_blocks

__all__ = ["SHIFT", "PackedCells"]

# Bytes of references are stored shifted, so that they are not negative.
SHIFT = 128

# A query looks into its so many nearest cells first: after them it knows how much an entry must
# resemble it to be worth keeping.
FIRST_CELLS = 4

# Entries that a query keeps before it drops all but the best: so many times as many as are asked
# for, and a block.
ROOM = 3

NOBODY = -1


@dataclass(frozen=True, kw_only=True, eq=False)
class PackedCells:
    """References as whole blocks of their cells.

    Parameters
    ----------
    first_blocks
        (n_cells + 1,) int64: where each cell's blocks begin.
    entries
        (N,) int32: which entry stands where; NOBODY where a cell's last block has room.
    packed
        (N / 64, d / 4, 64) int32, bytes by fours; or (N, d) uint8 for processors without tiles.
    """

    first_blocks: NDArray[np.int64]
    entries: NDArray[np.int32]
    packed: NDArray[Any]

    @classmethod
    def of(cls, cells: NDArray[np.int32], codes: NDArray[np.uint8], n_cells: int) -> "PackedCells":
        """Lay out (n, d) bytes by the (n,) cells they are in; a negative cell is left out."""
        order = np.argsort(cells, kind="stable")
        order = order[np.searchsorted(cells[order], 0) :]
        sizes = np.bincount(cells[order], minlength=n_cells)
        first_blocks = np.concatenate([[0], np.cumsum(-(-sizes // BLOCK))])
        firsts = np.cumsum(sizes) - sizes
        slots = np.arange(len(order)) + np.repeat(BLOCK * first_blocks[:-1] - firsts, sizes)
        entries = np.full(BLOCK * first_blocks[-1], NOBODY, np.int32)
        entries[slots] = order
        rows = np.full((len(entries), codes.shape[1]), SHIFT, np.uint8)
        rows[slots] = codes[order]
        packed = packed_blocks(rows.view(np.int32)) if has_tiles() else rows
        return cls(first_blocks=first_blocks, entries=entries, packed=packed)

    def look(
        self,
        queries: NDArray[np.int8],
        cells: NDArray[np.int64],
        likeness: NDArray[np.float32],
        n: int,
    ) -> NDArray[np.int64]:
        """(B, n) entries of the ``cells`` (B, p) that resemble ``queries`` (B, d) most.

        ``likeness`` (B, p) says which cells to begin with. NOBODY stands where there are none.
        """
        n_queries, n_cells = cells.shape
        limits = np.full(n_queries, LOWEST, np.int32)
        counts = np.zeros(n_queries, np.int64)
        keys = np.empty((n_queries, ROOM * n + 2 * BLOCK), np.int64)
        by_likeness = np.argpartition(-likeness, min(FIRST_CELLS, n_cells - 1), axis=1)
        for part in (by_likeness[:, :FIRST_CELLS], by_likeness[:, FIRST_CELLS:]):
            chosen = np.take_along_axis(cells, part, axis=1)
            of_cells = chosen.ravel()
            order = np.argsort(of_cells, kind="stable") // max(chosen.shape[1], 1)
            sizes = np.bincount(of_cells, minlength=len(self.first_blocks) - 1)
            ends = np.concatenate([[0], np.cumsum(sizes)])
            about = (order, ends, self.packed, self.first_blocks, self.entries)
            if self.packed.dtype == np.int32:
                look_in_tiles(queries.view(np.int32), *about, n, limits, counts, keys)
            else:
                look_plainly(queries, *about, n, limits, counts, keys)
            raise_limits(n, limits, counts, keys)
        found = np.empty((n_queries, n), np.int64)
        best_entries(counts, keys, found)
        return found
