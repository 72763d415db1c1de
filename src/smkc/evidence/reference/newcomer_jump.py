"""Newcomer jump: the largest change of a variable that the reference does not know.

In: newcomers' values, scaled by their own past. Out: one number a row, the largest change from one
row to the next in units of the newcomer's own usual largest, and each newcomer's change.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.reference.contract import Block, Ring
from smkc.evidence.reference.jump import usual_largest

__all__ = ["NewcomerJump", "NewcomerJumpPart"]

# Windows' worth of changes after which a newcomer is asked.
GROWN_WINDOWS = 16


@dataclass(frozen=True, kw_only=True)
class NewcomerJump:
    """How newcomers' changes are followed; there is nothing to learn before they come.

    Parameters
    ----------
    window
        w, in which a newcomer's age is measured.
    renewed_rows
        number of rows after which the usual largest changes are found anew.
    """

    is_about_newcomers: ClassVar[bool] = True

    window: int
    renewed_rows: int

    @property
    def name(self) -> str:
        """As shown in alerts."""
        return "newcomer jump"

    def start(self, before: Block, ring: Ring) -> "NewcomerJumpPart":
        """Return the evidence before any newcomer came."""
        return NewcomerJumpPart(self, ring)


class NewcomerJumpPart:
    """The changes of newcomers in the rows in the ring, and the usual largest of each."""

    def __init__(self, fitted: NewcomerJump, ring: Ring) -> None:
        self.fitted = fitted
        self.ring = ring
        self.changes = np.full((ring.size, 0), np.nan, np.float32)
        self.scale = np.zeros(0)  # infinite for those that are too young
        self.latest = np.zeros(0, np.float32)

    def push(self, block: Block) -> NDArray[np.float64]:
        """Take rows in; return (n,) largest changes.

        NaN where no newcomer that is old enough was seen twice in a row.
        """
        n = len(block.fresh)
        self._widen(block.fresh.shape[1])
        if not len(self.scale):
            return np.full(n, np.nan)
        covered = np.concatenate([self.latest[None], block.fresh])
        changes = np.abs(covered[1:] - covered[:-1])
        self.latest = covered[-1].copy()
        self.changes[self.ring.places(n)] = changes
        changes[:, np.isinf(self.scale)] = np.nan
        largest = np.where(np.isnan(changes), -1.0, changes / self.scale).max(axis=1)
        if (self.ring.n_rows + n) % self.fitted.renewed_rows == 0:
            self._renew()
        return np.where(largest < 0, np.nan, largest)

    def made(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """(n, F) squared changes: what stands out is one newcomer's, the others have little."""
        made: NDArray[np.float64] = (np.nan_to_num(self.changes[places]) / self.scale) ** 2
        return made

    def _renew(self) -> None:
        """Find the usual largest changes anew."""
        for j, column in enumerate(self.changes.T):
            seen = column[~np.isnan(column)].astype(np.float64)
            if len(seen) >= GROWN_WINDOWS * self.fitted.window:
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
