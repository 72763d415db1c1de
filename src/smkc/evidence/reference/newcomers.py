"""Newcomers: whether variables that the reference does not know behave as they did before.

In: their values, scaled by their own past or their family's spread. Out: how far the latest window
of them lies from their usual, each judged by its own past alone, so that no identity is needed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.reference.contract import Block, Ring

__all__ = ["Newcomers", "NewcomersPart"]

# Squared distances are capped, so that one wild value does not decide; a newcomer counts in full
# after so many windows of observations; its usual squared distance is not below the last.
MAX_SQUARE, GROWN_WINDOWS, MIN_USUAL_SQUARE = 25.0, 16, 0.5


@dataclass(frozen=True, kw_only=True)
class Newcomers:
    """How newcomers are followed; there is nothing to learn before they come.

    Parameters
    ----------
    window
        w, rows that are averaged over.
    """

    is_about_newcomers: ClassVar[bool] = True

    window: int

    @property
    def name(self) -> str:
        """As shown in alerts."""
        return "newcomers"

    def start(self, before: Block, ring: Ring) -> "NewcomersPart":
        """Return the evidence before any newcomer came."""
        return NewcomersPart(self, ring)


class NewcomersPart:
    """What each newcomer did so far: counts, sums of squares, and the window's latest rows."""

    def __init__(self, fitted: Newcomers, ring: Ring) -> None:
        self.fitted = fitted
        self.ring = ring
        self.parts = np.zeros((ring.size, 0), np.float32)
        self.counts = np.zeros(0)
        self.sums = np.zeros(0)
        self.squares = np.zeros((fitted.window - 1, 0))
        self.weights = np.zeros((fitted.window - 1, 0))

    def push(self, block: Block) -> NDArray[np.float64]:
        """Take rows in; return (n,) distances.

        NaN while there is no newcomer to speak of.
        """
        fresh = block.fresh
        self._widen(fresh.shape[1])
        n, w = len(fresh), self.fitted.window
        if not fresh.shape[1]:
            return np.full(n, np.nan)
        is_seen = ~np.isnan(fresh)
        squares = np.where(is_seen, np.minimum(fresh.astype(np.float64) ** 2, MAX_SQUARE), 0.0)
        counts = np.cumsum(np.concatenate([self.counts[None], is_seen]), axis=0)
        sums = np.cumsum(np.concatenate([self.sums[None], squares]), axis=0)
        usual = np.maximum(sums[:-1] / np.maximum(counts[:-1], 1), MIN_USUAL_SQUARE)
        weights = np.minimum(counts[:-1] / (GROWN_WINDOWS * w), 1.0) * is_seen
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
        """(n, F) what each newcomer made of the distances."""
        return self.parts[places].astype(np.float64)

    def _widen(self, n_variables: int) -> None:
        more = n_variables - len(self.counts)
        if more > 0:
            self.counts = np.concatenate([self.counts, np.zeros(more)])
            self.sums = np.concatenate([self.sums, np.zeros(more)])
            self.squares = np.pad(self.squares, ((0, 0), (0, more)))
            self.weights = np.pad(self.weights, ((0, 0), (0, more)))
            self.parts = np.pad(self.parts, ((0, 0), (0, more)))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what :meth:`restore` needs to go on exactly."""
        return {key: getattr(self, key) for key in _SAVED}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what :meth:`to_arrays` gave."""
        for key in _SAVED:
            setattr(self, key, arrays[key].copy())


_SAVED = ("counts", "sums", "squares", "weights", "parts")
