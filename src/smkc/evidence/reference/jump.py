"""Jump: the largest change from one row to the next, in units of the variable's usual largest.

In: rows of scaled values, NaN where a variable was not observed. Out: one number a row, and each
variable's change.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.reference.contract import Block, Ledger
from smkc.evidence.reference.memory import Memory

__all__ = ["Jump", "JumpPart", "usual_largest"]

# A variable's usual largest change: this quantile, but at least so many mean changes and this.
SHARE, MEANS, LEAST = 0.99, 3.0, 0.05


@dataclass(frozen=True, kw_only=True, eq=False)
class Jump:
    """The usual largest change of each variable: (C,) ``scale``, and ``usual`` changes."""

    scale: NDArray[np.float64]
    usual: NDArray[np.float64]

    @classmethod
    def fit(cls, rows: NDArray[np.float32]) -> "Jump":
        """Learn from the reference's rows (n, C), NaN where not observed."""
        changes = np.abs(np.diff(rows.astype(np.float64), axis=0))
        n_variables = rows.shape[1]
        scale, usual = np.full(n_variables, LEAST), np.full(n_variables, LEAST)
        for j in range(n_variables):
            seen = changes[~np.isnan(changes[:, j]), j]
            if len(seen):
                mean = float(seen.mean())
                scale[j] = usual_largest(seen)
                usual[j] = max(float(np.quantile(seen, 0.75)), 0.5 * mean, LEAST / MEANS)
        return cls(scale=scale, usual=usual)

    @property
    def name(self) -> str:
        """What an alert says that spoke."""
        return "jump"

    def start(self, before: Block, memory: Memory) -> "JumpPart":
        """Return the evidence at the moment after the last of the rows ``before``, if any."""
        return JumpPart(self, before, memory)


class JumpPart:
    """The latest row, and how the usual changes have grown."""

    def __init__(self, fitted: Jump, before: Block, memory: Memory) -> None:
        self.fitted = fitted
        self.ledger = Ledger(memory, fitted.usual)
        self.latest = np.full(len(fitted.scale), np.nan, np.float32)
        if len(before.rows):
            self.latest = before.rows[-1].copy()

    def push(self, block: Block) -> NDArray[np.float64]:
        """Take rows in; return (n, 2) largest changes, in reference units and grown ones."""
        covered = np.concatenate([self.latest[None], block.rows])
        changes = np.abs(np.diff(covered, axis=0))
        known = np.where(np.isnan(changes), 0.0, changes) / self.fitted.scale
        grown = known / self.ledger.growth
        statistics = np.empty((len(known), 2))
        statistics[:, 0] = known.max(axis=1, initial=0.0)
        statistics[:, 1] = grown.max(axis=1, initial=0.0)
        self.latest = covered[-1].copy()
        self.ledger.take(changes)
        return statistics

    def made(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """(n, C) squared changes: what stands out is one variable's, the others have little."""
        changes = np.nan_to_num(self.ledger.parts[places]).astype(np.float64)
        return (changes / (self.fitted.scale * self.ledger.growth)) ** 2

    def refresh(self) -> None:
        """Look at growth."""
        self.ledger.grown()

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what :meth:`restore` needs to go on exactly."""
        return {"latest": self.latest, **self.ledger.to_arrays()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what :meth:`to_arrays` gave."""
        self.latest = arrays["latest"].copy()
        self.ledger.restore(arrays)


def usual_largest(changes: NDArray[np.float64]) -> float:
    """Return the usual largest of some changes, which are not negative.

    Examples
    --------
    >>> usual_largest(np.arange(101.0))
    150.0
    """
    return max(float(np.quantile(changes, SHARE)), MEANS * float(changes.mean()), LEAST)
