"""Jump: the largest change from one row to the next, in units of the variable's usual largest.

In: rows of scaled values, NaN where a variable was not observed. Out: one number per row, and the
change of each variable.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.columns.block import Block
from smkc.evidence.saving import SavedState
from smkc.evidence.settings import SETTINGS
from smkc.evidence.system.contract import Ring


@dataclass(frozen=True, kw_only=True, eq=False)
class Jump:
    """The usual largest change of each variable.

    Parameters
    ----------
    scale
        (C,) usual largest changes.
    """

    is_about_newcomers: ClassVar[bool] = False

    scale: NDArray[np.float64]

    @classmethod
    def fit(cls, rows: NDArray[np.float32]) -> "Jump":
        """Fit to the reference's rows (n, C), NaN where not observed."""
        changes = np.abs(np.diff(rows.astype(np.float64), axis=0))
        scale = np.full(rows.shape[1], SETTINGS.same_share)
        for j, column in enumerate(changes.T):
            seen = column[~np.isnan(column)]
            if len(seen):
                scale[j] = usual_largest(seen)
        return cls(scale=scale)

    @property
    def name(self) -> str:
        """Name of the evidence, as shown in alerts."""
        return "jump"

    def start(self, before: Block, ring: Ring) -> "JumpPart":
        """Return a state that continues after the rows ``before``, which may be none."""
        return JumpPart(self, before, ring)


class JumpPart(SavedState):
    """The latest row, and the changes in the rows of the ring."""

    saved = ("latest", "changes")

    def __init__(self, fitted: Jump, before: Block, ring: Ring) -> None:
        self.fitted = fitted
        self.ring = ring
        self.changes = np.zeros((ring.size, len(fitted.scale)), np.float32)
        self.latest = np.full(len(fitted.scale), np.nan, np.float32)
        if len(before.rows):
            self.latest = before.rows[-1].copy()

    def push(self, block: Block) -> NDArray[np.float64]:
        """Return (n,) the largest change in each of the next rows."""
        covered = np.concatenate([self.latest[None], block.rows])
        changes = np.abs(covered[1:] - covered[:-1])
        changes = np.where(np.isnan(changes), 0.0, changes)
        self.latest = covered[-1].copy()
        self.changes[self.ring.places(len(changes))] = changes
        return np.asarray((changes / self.fitted.scale).max(axis=1, initial=0.0))

    def made(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return (n, C) squared relative changes; squares favour the variable that stands out."""
        made: NDArray[np.float64] = (self.changes[places] / self.fitted.scale) ** 2
        return made


def usual_largest(changes: NDArray[np.float64]) -> float:
    """Return the usual largest of some absolute changes.

    Examples
    --------
    >>> usual_largest(np.arange(101.0))
    99.0
    """
    return max(float(np.quantile(changes, SETTINGS.jump_quantile)), SETTINGS.same_share)
