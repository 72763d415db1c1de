"""Levels: the distance of a window, or of trailing means, from the nearest of the reference.

In: blocks of rows. Out: distances to the nearest windows of the reference.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.columns.block import Block
from smkc.evidence.settings import SETTINGS
from smkc.evidence.system._loops import trailing_means
from smkc.evidence.system.contract import Ring
from smkc.evidence.system.neighbours import Neighbours

# Share of the rows of a mean that must be observed.
MIN_OBSERVED_SHARE = 0.25

# Number of means kept from the reference: fewer than rows suffice, as means change slowly.
MAX_SLOW_WINDOWS = 1_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Level:
    """The distance from the nearest neighbours among windows, or among trailing means.

    Parameters
    ----------
    name
        as shown in alerts.
    neighbours
        the reference's windows.
    slow_rows
        length of the trailing mean in rows; 1 for no averaging.
    is_adjusted
        whether seasonal variables are compared by their distance from the usual value at the time.
    """

    is_about_newcomers: ClassVar[bool] = False

    name: str
    neighbours: Neighbours
    slow_rows: int = 1
    is_adjusted: bool = False

    def start(self, before: Block, ring: Ring) -> "LevelPart":
        """Return a state that continues after the rows ``before``."""
        return LevelPart(self, before, ring)

    def rows_of(self, block: Block) -> NDArray[np.float32]:
        """Return the (n, C) rows of a block that are compared."""
        return block.adjusted if self.is_adjusted else block.rows


class LevelPart:
    """The state of a level: the past of its means and of its distances."""

    def __init__(self, fitted: Level, before: Block, ring: Ring) -> None:
        self.fitted = fitted
        self.slow = Slow(before.rows.shape[1], fitted.slow_rows)
        self.distances = fitted.neighbours.start(self.slow.push(fitted.rows_of(before)))
        self.ring = ring
        self.parts = np.zeros((ring.size, before.rows.shape[1]), np.float32)

    def push(self, block: Block) -> NDArray[np.float64]:
        """Return (n,) distances of the next rows."""
        distances, residuals = self.distances.push(self.slow.push(self.fitted.rows_of(block)))
        self.parts[self.ring.places(len(residuals))] = residuals
        return distances

    def made(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return (n, C) the contribution of each variable to the distances of rows in the ring."""
        return np.nan_to_num(self.parts[places]) / self.fitted.neighbours.expected

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that :meth:`restore` needs to continue exactly."""
        distances, slow = self.distances, self.slow
        return {
            "parts": self.parts,
            "before": slow.before,
            "rows": distances.rows,
            "history": distances.history,
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the state that :meth:`to_arrays` returned."""
        self.parts = arrays["parts"].copy()
        self.slow.before = arrays["before"].copy()
        self.distances.rows = arrays["rows"].copy()
        self.distances.history = arrays["history"].copy()


class Slow:
    """Trailing means of each variable over ``length`` rows; NaN if too few were observed.

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
        """Return (n, C) means that end at each of the next (n, C) rows."""
        if self.length == 1:
            return rows
        covered = np.concatenate([self.before, rows])
        out = np.empty_like(rows)
        trailing_means(covered, self.length, max(1.0, MIN_OBSERVED_SHARE * self.length), out)
        self.before = covered[len(rows) :]
        return out


def level(reference: Block, w: int) -> Level:
    """Fit the level: windows of w rows, seasonally adjusted and not averaged."""
    neighbours = Neighbours.fit(reference.adjusted, w)
    return Level(name="level", neighbours=neighbours, is_adjusted=True)


def slow_level(reference: Block, w: int) -> Level:
    """Fit the slow level: trailing means over 2 windows of w rows."""
    length = SETTINGS.slow_windows * w
    rows = Slow(reference.rows.shape[1], length).push(reference.rows)
    neighbours = Neighbours.fit(rows, 1, most=MAX_SLOW_WINDOWS)
    return Level(name="slow level", neighbours=neighbours, slow_rows=length)
