"""Jump: the largest change from one row to the next, in units of the variable's usual largest.

In: rows of scaled values, NaN where a variable was not observed. Out: one number a row, and each
variable's change.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.reference.contract import Block, Ring

__all__ = ["Jump", "JumpPart", "usual_largest"]

# A variable's usual largest change: this quantile, but at least so many mean changes and this.
USUAL_SHARE, MIN_MEAN_CHANGES, MIN_CHANGE = 0.99, 3.0, 0.05


@dataclass(frozen=True, kw_only=True, eq=False)
class Jump:
    """(C,) ``scale``, the usual largest change of each variable."""

    is_about_newcomers: ClassVar[bool] = False

    scale: NDArray[np.float64]

    @classmethod
    def fit(cls, rows: NDArray[np.float32]) -> "Jump":
        """Learn from the reference's rows (n, C), NaN where not observed."""
        changes = np.abs(np.diff(rows.astype(np.float64), axis=0))
        scale = np.full(rows.shape[1], MIN_CHANGE)
        for j, column in enumerate(changes.T):
            seen = column[~np.isnan(column)]
            if len(seen):
                scale[j] = usual_largest(seen)
        return cls(scale=scale)

    @property
    def name(self) -> str:
        """As shown in alerts."""
        return "jump"

    def start(self, before: Block, ring: Ring) -> "JumpPart":
        """Return the evidence at the moment after the last of the rows ``before``, if any."""
        return JumpPart(self, before, ring)


class JumpPart:
    """The latest row, and the changes of those in the ring."""

    def __init__(self, fitted: Jump, before: Block, ring: Ring) -> None:
        self.fitted = fitted
        self.ring = ring
        self.changes = np.zeros((ring.size, len(fitted.scale)), np.float32)
        self.latest = np.full(len(fitted.scale), np.nan, np.float32)
        if len(before.rows):
            self.latest = before.rows[-1].copy()

    def push(self, block: Block) -> NDArray[np.float64]:
        """Take rows in; return (n,) the largest change in each."""
        covered = np.concatenate([self.latest[None], block.rows])
        changes = np.abs(covered[1:] - covered[:-1])
        changes = np.where(np.isnan(changes), 0.0, changes)
        self.latest = covered[-1].copy()
        self.changes[self.ring.places(len(changes))] = changes
        return np.asarray((changes / self.fitted.scale).max(axis=1, initial=0.0))

    def made(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """(n, C) squared changes: what stands out is one variable's, the others have little."""
        made: NDArray[np.float64] = (self.changes[places] / self.fitted.scale) ** 2
        return made

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what :meth:`restore` needs to go on exactly."""
        return {"latest": self.latest, "changes": self.changes}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what :meth:`to_arrays` gave."""
        self.latest, self.changes = arrays["latest"].copy(), arrays["changes"].copy()


def usual_largest(changes: NDArray[np.float64]) -> float:
    """Return the usual largest of some changes, which are not negative.

    Examples
    --------
    >>> usual_largest(np.arange(101.0))
    150.0
    """
    largest = float(np.quantile(changes, USUAL_SHARE))
    return max(largest, MIN_MEAN_CHANGES * float(changes.mean()), MIN_CHANGE)
