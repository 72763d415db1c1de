"""Newcomer jump: the largest change of a variable that the reference does not know.

In: newcomers' values, scaled by their own past. Out: one number a row, the largest change from one
row to the next in units of the newcomer's own usual largest, and each newcomer's change.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.reference.contract import Block
from smkc.evidence.reference.jump import usual_largest
from smkc.evidence.reference.memory import Memory

__all__ = ["NewcomerJump", "NewcomerJumpPart"]

# A newcomer is asked after so many windows' worth of changes; its usual largest is found anew every
# so many blocks.
AGE, BLOCKS = 16, 2


@dataclass(frozen=True, kw_only=True)
class NewcomerJump:
    """How newcomers' changes are followed; there is nothing to learn before they come.

    Parameters
    ----------
    window
        w, in which a newcomer's age is measured.
    """

    window: int

    @property
    def name(self) -> str:
        """What an alert says that spoke."""
        return "newcomer jump"

    def start(self, before: Block, memory: Memory) -> "NewcomerJumpPart":
        """Return the evidence before any newcomer came."""
        return NewcomerJumpPart(self, memory)


class NewcomerJumpPart:
    """The changes of newcomers in the rows in memory, and the usual largest of each."""

    def __init__(self, fitted: NewcomerJump, memory: Memory) -> None:
        self.fitted = fitted
        self.memory = memory
        self.changes = np.full((memory.size, 0), np.nan, np.float32)
        self.scale = np.zeros(0)  # infinite for those that are too young
        self.latest = np.zeros(0, np.float32)

    def push(self, block: Block) -> NDArray[np.float64]:
        """Take rows in; return (n, 2) largest changes, both readings the same.

        NaN where no newcomer that is old enough was seen twice in a row.
        """
        n = len(block.fresh)
        self._widen(block.fresh.shape[1])
        if not len(self.scale):
            return np.full((n, 2), np.nan)
        covered = np.concatenate([self.latest[None], block.fresh])
        changes = np.abs(np.diff(covered, axis=0))
        self.latest = covered[-1].copy()
        self.changes[self.memory.places(n)] = changes
        changes[:, np.isinf(self.scale)] = np.nan
        largest = np.where(np.isnan(changes), -1.0, changes / self.scale).max(axis=1)
        statistic = np.where(largest < 0, np.nan, largest)
        return np.stack([statistic, statistic], axis=1)

    def made(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """(n, F) squared changes: what stands out is one newcomer's, the others have little."""
        made: NDArray[np.float64] = (np.nan_to_num(self.changes[places]) / self.scale) ** 2
        return made

    def refresh(self) -> None:
        """Find the usual largest changes anew, now and then."""
        memory = self.memory
        if not len(self.scale) or memory.n_rows % (BLOCKS * memory.block):
            return
        for j, column in enumerate(self.changes.T):
            seen = column[~np.isnan(column)].astype(np.float64)
            if len(seen) >= AGE * self.fitted.window:
                self.scale[j] = usual_largest(seen)

    def _widen(self, n_variables: int) -> None:
        more = n_variables - len(self.scale)
        if more > 0:
            self.changes = np.pad(self.changes, ((0, 0), (0, more)), constant_values=np.nan)
            self.scale = np.concatenate([self.scale, np.full(more, np.inf)])
            self.latest = np.concatenate([self.latest, np.full(more, np.nan, np.float32)])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what :meth:`restore` needs to go on exactly."""
        return {key: getattr(self, key) for key in _SAVED}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what :meth:`to_arrays` gave."""
        for key in _SAVED:
            setattr(self, key, arrays[key].copy())


_SAVED = ("changes", "scale", "latest")
