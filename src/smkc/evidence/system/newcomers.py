"""Newcomers: whether variables that the reference does not know behave as they did before.

In: their values, scaled by their own past or by the spread of their family. Out: the distance of
the newcomers' latest window from their usual values. Each newcomer is judged by its own past only.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.columns.block import Block, renewed_columns
from smkc.evidence.saving import SavedState
from smkc.evidence.settings import SETTINGS
from smkc.evidence.system.contract import Ring


@dataclass(frozen=True, kw_only=True)
class Newcomers:
    """The settings of the evidence; nothing is learned from the reference.

    Parameters
    ----------
    window
        w, number of rows that are averaged over.
    """

    is_about_newcomers: ClassVar[bool] = True

    window: int

    @property
    def name(self) -> str:
        """Name of the evidence, as shown in alerts."""
        return "newcomers"

    def start(self, before: Block, ring: Ring) -> "NewcomersPart":
        """Return a state without newcomers; earlier rows have no effect."""
        return NewcomersPart(self, ring)


# What is remembered of a newcomer that was never observed.
_EMPTY = {"counts": 0, "sums": 0, "squares": 0, "weights": 0, "parts": 0}


class NewcomersPart(SavedState):
    """The past of each newcomer: counts, sums of squares, and the latest rows of the window."""

    saved = tuple(_EMPTY)

    def __init__(self, fitted: Newcomers, ring: Ring) -> None:
        self.fitted = fitted
        self.ring = ring
        self.parts = np.zeros((ring.size, 0), np.float32)
        self.counts = np.zeros(0)
        self.sums = np.zeros(0)
        self.squares = np.zeros((fitted.window - 1, 0))
        self.weights = np.zeros((fitted.window - 1, 0))

    def push(self, block: Block) -> NDArray[np.float64]:
        """Return (n,) distances of the next rows.

        NaN while the newcomers of the window have too little weight.
        """
        fresh = block.fresh
        self.widen(fresh.shape[1], _EMPTY)
        self.forget(renewed_columns(block), _EMPTY)
        n, w = len(fresh), self.fitted.window
        if not fresh.shape[1]:
            return np.full(n, np.nan)
        is_seen = ~np.isnan(fresh)
        squares = np.minimum(fresh.astype(np.float64) ** 2, SETTINGS.clip**2)
        squares = np.where(is_seen, squares, 0.0)
        counts = np.cumsum(np.concatenate([self.counts[None], is_seen]), axis=0)
        sums = np.cumsum(np.concatenate([self.sums[None], squares]), axis=0)
        usual = sums[:-1] / np.maximum(counts[:-1], 1)
        usual = np.maximum(usual, 1.0)  # a spread is that of its family, or its own
        weights = (is_seen & (counts[:-1] >= SETTINGS.min_observations)).astype(np.float64)
        squares = np.concatenate([self.squares, squares / usual * weights])
        weights = np.concatenate([self.weights, weights])
        made, weight = np.zeros(fresh.shape), np.zeros(fresh.shape)
        for lag in range(w):  # the same order of addition for every row
            made += squares[lag : lag + n]
            weight += weights[lag : lag + n]
        total = np.zeros((2, n))
        for j in range(fresh.shape[1]):
            total += made[:, j], weight[:, j]
        statistic = np.where(
            total[1] >= 0.5 * w, np.sqrt(total[0] / np.maximum(total[1], 1e-9)), np.nan
        )
        self.counts, self.sums = counts[-1], sums[-1]
        self.squares, self.weights = squares[n:], weights[n:]
        self.parts[self.ring.places(n)] = made
        return statistic

    def made(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return (n, F) the contribution of each newcomer to the distances of rows in the ring."""
        return self.parts[places].astype(np.float64)
