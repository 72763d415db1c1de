"""Held-out blocks: parts of the reference data that are not trained on.

In: the number of rows and the window. Out: evenly spaced blocks of rows, and which windows are
trained on, which are held out, and which are neither.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# One in this many blocks of rows is held out.
PERIOD = 5

# Length of a block in windows, if there are enough rows. Time steps at its ends, which fewer
# windows cover, do not calibrate, so blocks should be long.
WINDOWS_PER_BLOCK = 6

# Largest number of blocks; more, shorter blocks would not represent more different times.
MOST_BLOCKS = 16


@dataclass(frozen=True)
class HeldOut:
    """Blocks of rows that a model is not trained on: their first rows, and the rows after the last.

    Examples
    --------
    >>> held_out = HeldOut.of(1000, window=16)
    >>> held_out.firsts, held_out.ends
    (array([200, 700]), array([300, 800]))
    >>> starts = np.arange(985)
    >>> [len(run) for run in held_out.runs(starts)], int(held_out.is_trained(starts).sum())
    ([85, 85], 691)
    """

    window: int
    firsts: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, n_rows: int, window: int) -> "HeldOut":
        """Choose blocks in a recording of ``n_rows`` rows."""
        n_blocks = n_rows // (PERIOD * WINDOWS_PER_BLOCK * window)
        n_blocks = min(max(n_blocks, 1), MOST_BLOCKS)
        # In the middle of each period, so that there are training rows on both sides.
        middle = (PERIOD // 2 + PERIOD * np.arange(n_blocks)) * n_rows // (PERIOD * n_blocks)
        after = (PERIOD // 2 + 1 + PERIOD * np.arange(n_blocks)) * n_rows // (PERIOD * n_blocks)
        return cls(window, middle.astype(np.int64), after.astype(np.int64))

    def is_trained(self, starts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return (B,) whether each window is at least one window's length away from every block."""
        gap = self.window
        first, last = starts[:, None], starts[:, None] + self.window
        away = (last + gap <= self.firsts) | (first >= self.ends + gap)
        return np.asarray(away.all(axis=1))

    def is_held_out(self, starts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return (B,) whether all rows of each window are in one block."""
        first, last = starts[:, None], starts[:, None] + self.window
        inside = (first >= self.firsts) & (last <= self.ends)
        return np.asarray(inside.any(axis=1))

    def runs(self, starts: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Return the start rows of held-out windows, per block; blocks without any are omitted."""
        runs = [
            starts[(starts >= first) & (starts + self.window <= end)]
            for first, end in zip(self.firsts, self.ends, strict=True)
        ]
        return [run for run in runs if len(run)]
