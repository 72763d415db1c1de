"""Levels: whether a window is near any normal one, asked in three ways.

Of rows as they are, averaged over the recent past, and of how the whole system moves.
In: blocks of rows. Out: distances to the nearest normal windows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.reference.contract import Block, Ledger
from smkc.evidence.reference.memory import Memory
from smkc.evidence.reference.neighbours import Neighbours
from smkc.evidence.reference.views import Pooled, Slow, View, spread_of

__all__ = ["Level", "LevelPart", "level", "pooled_lags", "slow_level"]

# Rows of the slow mean, and rows and lags of the pooled distances, in windows.
SLOW, POOLED, LAGS = 2, 2, 0.5

# So many times as many variables as in the reference, or as few, make another system.
OTHER_NUMBER = 1.5

# Means and pooled distances change little from row to row: fewer of them say as much.
MOST_SMOOTH = 1_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Level:
    """Neighbours sought under one view.

    Parameters
    ----------
    name
        of the evidence.
    neighbours
        the reference's windows under the view.
    window
        w of the model, which the views are measured in.
    centre, spread
        (D,) of the view's values in the reference, where it is standardised.
    fewest, most
        between how many observed variables a row must have, for views in which it shows.
    """

    name: str
    neighbours: Neighbours
    window: int
    centre: NDArray[np.float32] | None = None
    spread: NDArray[np.float32] | None = None
    fewest: float = -1.0
    most: float = 1e9

    def start(self, before: Block, memory: Memory) -> "LevelPart":
        """Return the evidence at the moment after the rows ``before``."""
        return LevelPart(self, before, memory)

    def view(self, n_inputs: int) -> View | None:
        """Return the view, before its first row; None for rows as they are."""
        w = self.window
        if self.name == "slow level":
            return Slow(n_inputs, SLOW * w)
        if self.name == "pooled lags":
            return Pooled(n_inputs, *_pooled_sizes(w), self.centre, self.spread)
        return None


class LevelPart:
    """A level at one moment: the view's past and the distances'."""

    def __init__(self, fitted: Level, before: Block, memory: Memory) -> None:
        self.fitted = fitted
        self.is_pooled = fitted.name == "pooled lags"
        past = before.states if self.is_pooled else before.rows
        self.view = fitted.view(past.shape[1])
        if self.view is not None:
            past = (
                self.view.push(past)
                if len(past)
                else np.empty((0, len(fitted.neighbours.expected)), np.float32)
            )
        self.distances = fitted.neighbours.start(past, memory, not self.is_pooled)
        self.since_odd = np.array([0 if self.is_pooled and not len(before.rows) else 2**31])
        self.ledger = Ledger(memory, fitted.neighbours.usual)

    def push(self, block: Block) -> NDArray[np.float64]:
        """Take rows in; return (n, 2) distances."""
        rows = block.states if self.is_pooled else block.rows
        if self.view is not None:
            rows = self.view.push(rows)
        statistics, residuals = self.distances.push(rows)
        if self.is_pooled:
            statistics[self._is_odd(block)] = np.nan
        else:
            self.ledger.take(residuals)
        return statistics

    def _is_odd(self, block: Block) -> NDArray[np.bool_]:
        """(n,) whether rows of a very different number of variables are pooled there.

        A system of two variables moves unlike one of three, and that is no fault.
        """
        n = len(block.counts)
        is_odd = (block.counts <= self.fitted.fewest) | (block.counts >= self.fitted.most)
        rows = np.arange(n)
        latest = np.maximum.accumulate(np.where(is_odd, rows, -1 - self.since_odd[0]))
        since = rows - latest
        if n:
            self.since_odd = np.array([since[-1]])
        return since <= sum(_pooled_sizes(self.fitted.window))

    def made(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """(n, C) what each variable made of the distances; nothing for states of the system."""
        if self.is_pooled:
            return np.zeros((len(places), 0))
        return np.nan_to_num(self.ledger.parts[places]) / self.distances.expected

    def refresh(self) -> None:
        """Take over what the memory admitted at the end of a block."""
        has_grown = not self.is_pooled and self.ledger.grown()
        self.distances.refresh(self.ledger.growth if has_grown else None)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what :meth:`restore` needs to go on exactly."""
        parts: dict[str, dict[str, NDArray[Any]]] = {
            "distances": self.distances.to_arrays(),
            "ledger": self.ledger.to_arrays(),
            "odd": {"since": self.since_odd},
        }
        if self.view is not None:
            parts["view"] = self.view.to_arrays()
        return {f"{part}.{key}": a for part, some in parts.items() for key, a in some.items()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what :meth:`to_arrays` gave."""
        of = {
            part: {k[len(part) + 1 :]: a for k, a in arrays.items() if k.startswith(part + ".")}
            for part in ("distances", "ledger", "odd", "view")
        }
        self.since_odd = of["odd"]["since"].copy()
        self.distances.restore(of["distances"])
        self.ledger.restore(of["ledger"])
        if self.view is not None:
            self.view.restore(of["view"])


def level(reference: Block, w: int) -> Level:
    """Fit the level: windows of w rows as they are."""
    return Level(name="level", neighbours=Neighbours.fit(reference.rows, w), window=w)


def slow_level(reference: Block, w: int) -> Level:
    """Fit the slow level: means over the last 2 w rows."""
    rows = Slow(reference.rows.shape[1], SLOW * w).push(reference.rows)
    return Level(name="slow level", neighbours=Neighbours.fit(rows, 1, most=MOST_SMOOTH), window=w)


def pooled_lags(reference: Block, w: int) -> Level:
    """Fit pooled lags: how far apart states lie over lags up to w / 2, pooled over 2 w rows."""
    plain = Pooled(reference.states.shape[1], *_pooled_sizes(w)).push(reference.states)
    plain = plain[min(POOLED * w, len(plain) // 2) :]
    centre = np.median(plain, axis=0).astype(np.float32)
    spread = spread_of(plain, 1e-3)
    rows = np.clip((plain - centre) / spread, -8, 8)
    neighbours = Neighbours.fit(rows, 1, weighted=False, most=MOST_SMOOTH, follows=False)
    low, high = np.quantile(reference.counts, (0.01, 0.99))
    return Level(
        name="pooled lags",
        neighbours=neighbours,
        window=w,
        centre=centre,
        spread=spread,
        fewest=float(low / OTHER_NUMBER),
        most=float(high * OTHER_NUMBER),
    )


def _pooled_sizes(w: int) -> tuple[int, int]:
    return max(2, POOLED * w), max(1, int(LAGS * w))
