"""Neighbours: how far a window is from the nearest normal ones, over what both observed.

In: rows of scaled values, NaN where a variable was not observed. Out: for the window that ends at
each row, the distance to its nearest neighbours among the reference's windows, and among those and
the windows admitted since; and how much of it each variable made.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.reference._distances import nearest_windows, row_distances, window_residuals
from smkc.evidence.reference.memory import Memory
from smkc.parallel import products_on_one_thread, scratch

__all__ = ["Neighbours", "NeighboursState", "carried_forward", "evenly"]

# Windows of the reference that neighbours are sought among, in runs of consecutive ones: the
# distances of rows are then shared by all windows that cover them.
MOST_WINDOWS = 2_000
RUN = 32

NOBODY = np.empty(0, np.int64)

# Expected residuals: queries and stored windows of each half in the cross-fit, and neighbours.
QUERIES, HALF = 1_000, 2_000
NEIGHBOURS = 5

# No variable is expected to be nearer its neighbours than this share of the typical one, nor than
# this: variables that hardly move would otherwise decide alone.
LEAST_SHARE, LEAST_EXPECTED = 0.02, 1e-3


@dataclass(frozen=True, kw_only=True, eq=False)
class Neighbours:
    """The reference's windows and what is expected of each variable.

    Parameters
    ----------
    window
        w, rows a window.
    neighbours
        k, how many nearest windows a distance is averaged over.
    stored
        (C, S) the reference's rows in runs, without gaps.
    penalty
        (S,) 0 where a window ends that lies within one run, else infinity.
    expected
        (C,) e, the mean squared difference of a normal window from its nearest neighbours.
    usual
        (C,) the upper quartile of it, from which growth is told.
    follows
        whether windows admitted later are neighbours too.
    """

    window: int
    neighbours: int
    stored: NDArray[np.float32]
    penalty: NDArray[np.float32]
    expected: NDArray[np.float64]
    usual: NDArray[np.float64]
    follows: bool = True

    @classmethod
    def fit(
        cls,
        rows: NDArray[np.float32],
        window: int,
        *,
        neighbours: int = NEIGHBOURS,
        weighted: bool = True,
        most: int = MOST_WINDOWS,
        follows: bool = True,
    ) -> "Neighbours":
        """Learn from the reference's rows (n, C), NaN where not observed.

        Without ``weighted`` every variable counts alike.
        """
        filled = carried_forward(rows)
        n, n_variables = filled.shape
        window = max(1, min(window, n))
        if weighted:
            expected, usual = _residuals(filled, window)
        else:
            expected, usual = np.ones(n_variables), np.ones(n_variables)
        stored, penalty = _runs(filled, window, most)
        return cls(
            window=window,
            neighbours=neighbours,
            stored=stored,
            penalty=penalty,
            expected=expected,
            usual=usual,
            follows=follows,
        )

    def start(
        self, before: NDArray[np.float32], memory: Memory, is_explained: bool = True
    ) -> "NeighboursState":
        """Return a state that continues after the rows (at least w - 1, C) ``before``.

        Without ``is_explained`` it does not say what each variable made of a distance.
        """
        return NeighboursState(self, before, memory, is_explained)


class NeighboursState:
    """Distances at one moment of a recording."""

    def __init__(
        self,
        fitted: Neighbours,
        before: NDArray[np.float32],
        memory: Memory,
        is_explained: bool = True,
    ) -> None:
        self.fitted = fitted
        self.memory = memory
        n_variables, n_reference = fitted.stored.shape
        self.n_reference = n_reference
        self.is_explained = is_explained
        self.growth = np.ones(n_variables)
        self.values = np.concatenate(
            [fitted.stored, np.zeros((n_variables, len(self._ring_penalty())), np.float32)], axis=1
        )
        self.penalty = np.concatenate([fitted.penalty, self._ring_penalty()])
        self.latest = np.zeros(n_variables, np.float32)
        self._rescale()
        n_before = fitted.window - 1
        self.rows = np.full((n_before, n_variables), np.nan, np.float32)
        self.history = np.zeros((n_before, self.values.shape[1]), np.float32)
        if n_before and len(before):
            tail = before[-n_before:]
            self.rows[-len(tail) :] = tail
            row_distances(self.rows * self._unit, self._scaled, self.history)
        if len(before):
            self.latest = carried_forward(before)[-1]

    def push(self, rows: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """Take (n, C) rows in; return (n, 2) distances, frozen and adaptive, and residuals.

        Residuals (n, C) are mean squared differences from the nearest; NaN where a variable was not
        observed in the window. A window without any observation has distance 0.
        """
        fitted, memory, n = self.fitted, self.memory, len(rows)
        w, k = fitted.window, min(fitted.neighbours, len(fitted.penalty))
        history = scratch("evidence history", (w - 1 + n, self.values.shape[1]))
        history[: w - 1] = self.history
        row_distances(rows * self._unit, self._scaled, history[w - 1 :])
        covered = np.concatenate([self.rows, rows])
        places = np.empty((n, k), np.int64)
        distances = np.empty((n, 2))
        is_judge = memory.judge is self
        nearest_windows(
            history,
            covered,
            self.n_reference,
            self.penalty,
            memory.waiting if is_judge else NOBODY,
            memory.reach,
            memory.near if is_judge else NOBODY,
            distances,
            places,
        )
        residuals = np.empty(rows.shape if self.is_explained else (n, 0), np.float32)
        if self.is_explained:
            nearest = places[:, :1]
            window_residuals(covered, self.values, self.n_reference, nearest, residuals)
        self.history = history[n:].copy()
        self.rows = covered[n:]
        self._remember(rows)
        return distances, residuals

    def refresh(self, growth: NDArray[np.float64] | None) -> None:
        """Take over which windows are admitted, and how the expected residuals grew."""
        self.penalty[self.n_reference :] = self._ring_penalty()
        if growth is not None and (growth != self.growth).any():
            self.growth = growth
            self._rescale()

    @property
    def expected(self) -> NDArray[np.float64]:
        """(C,) e as it has grown."""
        return self.fitted.expected * self.growth

    def _rescale(self) -> None:
        self._unit = (1.0 / np.sqrt(self.expected)).astype(np.float32)
        self._scaled = self.values * self._unit[:, None]

    def _ring_penalty(self) -> NDArray[np.float32]:
        """Which of the memory's windows may be neighbours; none has a place if none may ever."""
        return self.memory.penalty if self.fitted.follows else self.memory.penalty[:0]

    def _remember(self, rows: NDArray[np.float32]) -> None:
        """Write rows into the ring, gaps filled with the latest value."""
        if not self.fitted.follows:
            return
        filled = rows
        if np.isnan(rows).any():
            filled = carried_forward(np.concatenate([self.latest[None], rows]))[1:]
        if len(filled):
            self.latest = filled[-1].copy()
        places = self.n_reference + self.memory.places(len(rows))
        self.values[:, places] = filled.T
        self._scaled[:, places] = filled.T * self._unit[:, None]

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what :meth:`restore` needs to go on exactly."""
        return {
            "ring": self.values[:, self.n_reference :].copy(),
            "growth": self.growth,
            "latest": self.latest,
            "rows": self.rows,
            "history": self.history,
        }

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take over what :meth:`to_arrays` gave."""
        self.values[:, self.n_reference :] = arrays["ring"]
        self.growth = arrays["growth"].copy()
        self.latest, self.rows = arrays["latest"].copy(), arrays["rows"].copy()
        self.history = arrays["history"].copy()
        self.penalty[self.n_reference :] = self._ring_penalty()
        self._rescale()


def carried_forward(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """(n, C) without gaps: the latest value, before the first one 0, the reference's centre.

    Examples
    --------
    >>> carried_forward(np.array([[np.nan], [2.0], [np.nan]], np.float32)).ravel().tolist()
    [0.0, 2.0, 2.0]
    """
    is_gap = np.isnan(rows)
    if not is_gap.any():
        return rows
    numbers = np.where(is_gap, -1, np.arange(len(rows))[:, None])
    latest = np.maximum.accumulate(numbers, axis=0)
    carried = np.take_along_axis(rows, np.maximum(latest, 0), axis=0)
    return np.where(latest < 0, np.float32(0.0), carried)


def evenly(n: int, at_most: int) -> NDArray[np.int64]:
    """Choose at most so many of n positions, evenly spread.

    Examples
    --------
    >>> evenly(9, 3).tolist()
    [0, 4, 8]
    """
    return np.unique(np.linspace(0, n - 1, min(n, at_most)).astype(np.int64))


def _runs(
    filled: NDArray[np.float32], window: int, most: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(C, S) rows in evenly spread runs, (S,) 0 where one of their windows ends."""
    n_windows = len(filled) - window + 1
    if n_windows <= most:
        starts, length = np.zeros(1, np.int64), n_windows
    else:
        length = RUN if window > 1 else 1
        starts = evenly(n_windows - length + 1, most // length)
    rows = (starts[:, None] + np.arange(length + window - 1)).ravel()
    penalty = np.zeros((len(starts), length + window - 1), np.float32)
    penalty[:, : window - 1] = np.inf
    return np.ascontiguousarray(filled[rows].T), penalty.ravel()


def _residuals(
    filled: NDArray[np.float32], window: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(C,) mean squared difference from near windows elsewhere, upper quartile from the nearest.

    Windows of the first and third quarter find theirs in the second and fourth, and the reverse.
    """
    n_variables = filled.shape[1]
    view = np.lib.stride_tricks.sliding_window_view(filled, window, axis=0)  # (n, C, w)
    n = len(view)
    quarter = np.minimum(np.arange(n) * 4 // n, 3)
    found = []
    for half in (0, 1):
        stored = np.flatnonzero(quarter % 2 == half)
        asked = np.flatnonzero(quarter % 2 != half)
        if not len(stored) or not len(asked):
            continue
        stored = stored[evenly(len(stored), HALF)]
        asked = asked[evenly(len(asked), QUERIES)]
        near = view[stored].reshape(len(stored), -1)
        far = view[asked].reshape(len(asked), -1)
        with products_on_one_thread():
            distances = (near**2).sum(axis=1) - 2 * far @ near.T
        k = min(NEIGHBOURS, len(stored))
        places = np.argpartition(distances, k - 1, axis=1)[:, :k]
        places = np.take_along_axis(
            places, np.argsort(np.take_along_axis(distances, places, 1), 1, kind="stable"), 1
        )
        found.append(
            [
                ((far - near[one]) ** 2).reshape(len(asked), n_variables, window).mean(2)
                for one in places.T
            ]
        )
    if not found:
        return np.ones(n_variables), np.ones(n_variables)
    nearest = np.concatenate([some[0] for some in found])
    expected = np.concatenate([np.mean(some, axis=0) for some in found]).mean(axis=0)
    moving = expected[expected > 1e-9]
    least = LEAST_SHARE * float(np.median(moving)) if len(moving) else LEAST_EXPECTED
    expected = np.maximum(expected, max(least, LEAST_EXPECTED))
    usual = np.maximum(np.quantile(nearest, 0.75, axis=0), 0.5 * expected)
    return expected, usual
