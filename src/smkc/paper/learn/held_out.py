"""Held out: which stretches of the reference data are not trained on.

In: how many rows there are, and the window. Out: blocks of rows, spread evenly, and which windows
may be trained on, which are held out, and which are neither.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["HeldOut"]

# Every fifth block of rows is held out.
PERIOD = 5

# A block is as long as so many windows where there are rows enough: time steps at its ends, which
# fewer windows cover, do not calibrate.
WINDOWS_A_BLOCK = 6

# More blocks, and so shorter ones, would not tell more about different times.
MOST_BLOCKS = 16


@dataclass(frozen=True)
class HeldOut:
    """Blocks of rows that a model does not see.

    Parameters
    ----------
    window
        L, rows per window.
    firsts, ends
        (n,) each block's first row, and the row after its last.

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
        """Choose blocks in a recording of so many rows."""
        n_blocks = n_rows // (PERIOD * WINDOWS_A_BLOCK * window)
        n_blocks = min(max(n_blocks, 1), MOST_BLOCKS)
        # In the middle of each period: what is trained on lies on both sides.
        middle = (PERIOD // 2 + PERIOD * np.arange(n_blocks)) * n_rows // (PERIOD * n_blocks)
        after = (PERIOD // 2 + 1 + PERIOD * np.arange(n_blocks)) * n_rows // (PERIOD * n_blocks)
        return cls(window, middle.astype(np.int64), after.astype(np.int64))

    def is_trained(self, starts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(B,) whether a window lies a window or more away from every block."""
        gap = self.window
        first, last = starts[:, None], starts[:, None] + self.window
        away = (last + gap <= self.firsts) | (first >= self.ends + gap)
        return np.asarray(away.all(axis=1))

    def is_held_out(self, starts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(B,) whether all rows of a window lie in one block."""
        first, last = starts[:, None], starts[:, None] + self.window
        inside = (first >= self.firsts) & (last <= self.ends)
        return np.asarray(inside.any(axis=1))

    def runs(self, starts: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Return the held-out windows, block by block; blocks without any are left out."""
        runs = [
            starts[(starts >= first) & (starts + self.window <= end)]
            for first, end in zip(self.firsts, self.ends, strict=True)
        ]
        return [run for run in runs if len(run)]
