"""Levels: whether a window is near any of the reference's, as it is and averaged over the past.

In: blocks of rows. Out: distances to the nearest windows of the reference.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.reference._loops import trailing_means
from smkc.evidence.reference.contract import Block, Ring
from smkc.evidence.reference.neighbours import Neighbours

__all__ = ["Level", "LevelPart", "Slow", "level", "slow_level"]

# Rows of the slow mean, in windows; and the share of them that must be observed.
SLOW_WINDOWS, MIN_OBSERVED_SHARE = 2, 0.25

# Means change little from row to row: fewer of them say as much.
MAX_SLOW_WINDOWS = 1_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Level:
    """Neighbours sought among windows, or among trailing means.

    Parameters
    ----------
    name
        as shown in alerts.
    neighbours
        the reference's windows.
    slow_rows
        rows of the trailing mean; 1 for rows as they are.
    """

    is_about_newcomers: ClassVar[bool] = False

    name: str
    neighbours: Neighbours
    slow_rows: int = 1

    def start(self, before: Block, ring: Ring) -> "LevelPart":
        """Return the evidence at the moment after the rows ``before``."""
        return LevelPart(self, before, ring)


class LevelPart:
    """A level at one moment: the means' past and the distances'."""

    def __init__(self, fitted: Level, before: Block, ring: Ring) -> None:
        self.fitted = fitted
        self.slow = Slow(before.rows.shape[1], fitted.slow_rows)
        self.distances = fitted.neighbours.start(self.slow.push(before.rows))
        self.ring = ring
        self.parts = np.zeros((ring.size, before.rows.shape[1]), np.float32)

    def push(self, block: Block) -> NDArray[np.float64]:
        """Take rows in; return (n,) distances."""
        distances, residuals = self.distances.push(self.slow.push(block.rows))
        self.parts[self.ring.places(len(residuals))] = residuals
        return distances

    def made(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """(n, C) what each variable made of the distances."""
        return np.nan_to_num(self.parts[places]) / self.fitted.neighbours.expected

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what :meth:`restore` needs to go on exactly."""
        distances, slow = self.distances, self.slow
        return {
            "parts": self.parts,
            "before": slow.before,
            "rows": distances.rows,
            "history": distances.history,
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what :meth:`to_arrays` gave."""
        self.parts = arrays["parts"].copy()
        self.slow.before = arrays["before"].copy()
        self.distances.rows = arrays["rows"].copy()
        self.distances.history = arrays["history"].copy()


class Slow:
    """Rows as each variable's mean over the last rows; NaN if too few were observed.

    Examples
    --------
    >>> slow = Slow(1, 2)
    >>> slow.push(np.array([[1.0], [3.0], [np.nan]], np.float32)).ravel().tolist()
    [1.0, 2.0, 3.0]
    """

    def __init__(self, n_variables: int, length: int) -> None:
        self.length = length
        self.before = np.full((length - 1, n_variables), np.nan, np.float32)

    def push(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Take (n, C) rows in; return (n, C) means."""
        if self.length == 1:
            return rows
        covered = np.concatenate([self.before, rows])
        out = np.empty_like(rows)
        trailing_means(covered, self.length, max(1.0, MIN_OBSERVED_SHARE * self.length), out)
        self.before = covered[len(rows) :]
        return out


def level(reference: Block, w: int) -> Level:
    """Fit the level: windows of w rows as they are."""
    return Level(name="level", neighbours=Neighbours.fit(reference.rows, w))


def slow_level(reference: Block, w: int) -> Level:
    """Fit the slow level: means over the last windows."""
    length = SLOW_WINDOWS * w
    rows = Slow(reference.rows.shape[1], length).push(reference.rows)
    neighbours = Neighbours.fit(rows, 1, most=MAX_SLOW_WINDOWS)
    return Level(name="slow level", neighbours=neighbours, slow_rows=length)
