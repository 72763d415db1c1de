"""Alone: how far one variable stands from its middle, in units of its usual largest distance.

In: rows of scaled values, NaN where a variable was not observed. Out: one number a row, and each
variable's distance, of its mean over a window. Levels of all variables together hardly notice one
among hundreds; this does.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.reference.contract import Block
from smkc.evidence.reference.largest import LargestPart, usual_sizes
from smkc.evidence.reference.memory import Memory

__all__ = ["Alone"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Alone:
    """The middle and the usual distances of each variable.

    Parameters
    ----------
    middle
        (C,) median.
    scale, usual
        (C,) usual largest distance from it, and usual one.
    window
        rows that a mean is over.
    """

    middle: NDArray[np.float64]
    scale: NDArray[np.float64]
    usual: NDArray[np.float64]
    window: int

    @classmethod
    def fit(cls, rows: NDArray[np.float32], window: int) -> "Alone":
        """Learn from the reference's rows (n, C), NaN where not observed."""
        n_variables = rows.shape[1]
        nothing = np.full((window - 1, n_variables), np.nan, np.float32)
        means = _means(np.concatenate([nothing, rows]), window)
        middle = np.zeros(n_variables)
        for j in range(n_variables):
            seen = means[~np.isnan(means[:, j]), j]
            if len(seen):
                middle[j] = np.median(seen)
        scale, usual = usual_sizes(np.abs(means - middle))
        return cls(middle=middle, scale=scale, usual=usual, window=window)

    @property
    def name(self) -> str:
        """What an alert says that spoke."""
        return "alone"

    def start(self, before: Block, memory: Memory) -> LargestPart:
        """Return the evidence at the moment after the last of the rows ``before``, if any."""
        return LargestPart(self._distances, self.window - 1, self.scale, self.usual, before, memory)

    def _distances(self, rows: NDArray[np.float32]) -> NDArray[np.floating[Any]]:
        """(n, C) distances of variables that are there, from n rows and a window before."""
        means = _means(rows, self.window)
        means[np.isnan(rows[self.window - 1 :])] = np.nan
        distances: NDArray[np.floating[Any]] = np.abs(means - self.middle)
        return distances


def _means(rows: NDArray[np.float32], window: int) -> NDArray[np.float64]:
    """(n, C) means of what was seen in each window of rows (n + window - 1, C)."""
    n = len(rows) - window + 1
    total, counts = np.zeros((n, rows.shape[1])), np.zeros((n, rows.shape[1]))
    for first in range(window):  # the same order of addition for every row
        part = rows[first : first + n]
        is_seen = ~np.isnan(part)
        total += np.where(is_seen, part, 0.0)
        counts += is_seen
    return np.where(counts > 0, total / np.maximum(counts, 1.0), np.nan)
