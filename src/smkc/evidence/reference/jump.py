"""Jump: the largest change from one row to the next, in units of the variable's usual largest.

In: rows of scaled values, NaN where a variable was not observed. Out: one number a row, and each
variable's change.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.reference.contract import Block
from smkc.evidence.reference.largest import LargestPart, usual_sizes
from smkc.evidence.reference.memory import Memory

__all__ = ["Jump"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Jump:
    """The usual largest change of each variable: (C,) ``scale``, and ``usual`` changes."""

    scale: NDArray[np.float64]
    usual: NDArray[np.float64]

    @classmethod
    def fit(cls, rows: NDArray[np.float32]) -> "Jump":
        """Learn from the reference's rows (n, C), NaN where not observed."""
        scale, usual = usual_sizes(_changes(rows.astype(np.float64)))
        return cls(scale=scale, usual=usual)

    @property
    def name(self) -> str:
        """What an alert says that spoke."""
        return "jump"

    def start(self, before: Block, memory: Memory) -> LargestPart:
        """Return the evidence at the moment after the last of the rows ``before``, if any."""
        return LargestPart(_changes, 1, self.scale, self.usual, before, memory)


def _changes(rows: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """(n, C) sizes of the changes between n + 1 rows."""
    changes: NDArray[np.floating[Any]] = np.abs(np.diff(rows, axis=0))
    return changes
