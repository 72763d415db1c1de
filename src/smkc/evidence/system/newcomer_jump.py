"""Newcomer jump: the largest change of a variable that the reference does not know.

In: newcomers' values, scaled by their own past. Out: for each row the largest change from the row
before, in units of the newcomer's own usual largest change, and the change of each newcomer.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.columns.block import Block, renewed_columns
from smkc.evidence.saving import SavedState
from smkc.evidence.settings import SETTINGS
from smkc.evidence.system.contract import Ring
from smkc.evidence.system.jump import usual_largest


@dataclass(frozen=True, kw_only=True)
class NewcomerJump:
    """The settings of the evidence; nothing is learned from the reference.

    Parameters
    ----------
    renewed_rows
        number of rows between two updates of the usual largest changes.
    """

    is_about_newcomers: ClassVar[bool] = True

    renewed_rows: int

    @property
    def name(self) -> str:
        """Name of the evidence, as shown in alerts."""
        return "newcomer jump"

    def start(self, before: Block, ring: Ring) -> "NewcomerJumpPart":
        """Return a state without newcomers; earlier rows have no effect."""
        return NewcomerJumpPart(self, ring)


# What is remembered of a newcomer that was never observed.
_EMPTY = {"changes": np.nan, "scale": np.inf, "latest": np.nan}


class NewcomerJumpPart(SavedState):
    """The newcomers' changes in the rows of the ring, and the usual largest change of each."""

    saved = tuple(_EMPTY)

    def __init__(self, fitted: NewcomerJump, ring: Ring) -> None:
        self.fitted = fitted
        self.ring = ring
        self.changes = np.full((ring.size, 0), np.nan, np.float32)
        self.scale = np.zeros(0)  # infinite for newcomers that are too young
        self.latest = np.zeros(0, np.float32)

    def push(self, block: Block) -> NDArray[np.float64]:
        """Return (n,) the largest change in each of the next rows.

        NaN where no newcomer that is old enough was observed in this row and the row before.
        """
        n = len(block.fresh)
        self.widen(block.fresh.shape[1], _EMPTY)
        self.forget(renewed_columns(block), _EMPTY)
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
        """Return (n, F) squared relative changes; squares favour the newcomer that stands out."""
        made: NDArray[np.float64] = (np.nan_to_num(self.changes[places]) / self.scale) ** 2
        return made

    def _renew(self) -> None:
        """Update the usual largest changes from the rows in the ring."""
        for j, column in enumerate(self.changes.T):
            seen = column[~np.isnan(column)].astype(np.float64)
            if len(seen) >= SETTINGS.min_observations:
                self.scale[j] = usual_largest(seen)
