"""Neighbours: the distance of a window from the nearest window of the reference.

In: rows of scaled values, NaN where a variable was not observed. Out: for the window that ends at
each row, the distance from its nearest neighbour over the observed entries, and the contribution of
each variable.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.settings import SETTINGS
from smkc.evidence.system._distances import nearest_windows, row_distances, window_residuals
from smkc.parallel import products_on_one_thread, scratch

# Number of reference windows that neighbours are sought among, and length of a run of consecutive
# ones. Windows of a run overlap, so that each distance of rows is computed once for all of them.
MOST_WINDOWS = 2_000
RUN = 32

# Expected residuals are found by cross-fitting, with this many queries and stored windows per half.
QUERIES, HALF = 1_000, 2_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Neighbours:
    """The reference's windows and the expected residual of each variable.

    Parameters
    ----------
    window
        w, rows per window.
    stored
        (C, S) runs of the reference's rows, with missing values filled.
    penalty
        (S,) 0 where a window ends that lies within one run, else infinity.
    expected
        (C,) the mean squared difference of a normal window from its nearest neighbour.
    """

    window: int
    stored: NDArray[np.float32]
    penalty: NDArray[np.float32]
    expected: NDArray[np.float64]

    @classmethod
    def fit(
        cls,
        rows: NDArray[np.float32],
        window: int,
        *,
        most: int = MOST_WINDOWS,
    ) -> "Neighbours":
        """Fit to the reference's rows (n, C), NaN where not observed."""
        filled = carried_forward(rows)
        window = max(1, min(window, len(filled)))
        stored, penalty = _runs(filled, window, most)
        return cls(
            window=window,
            stored=stored,
            penalty=penalty,
            expected=_residuals(filled, window),
        )

    def start(self, before: NDArray[np.float32]) -> "NeighboursState":
        """Return a state that continues after the rows (n, C) ``before``; there may be none."""
        return NeighboursState(self, before)


class NeighboursState:
    """The state of the distances at one moment of a recording."""

    def __init__(self, fitted: Neighbours, before: NDArray[np.float32]) -> None:
        self.fitted = fitted
        self._unit = (1.0 / np.sqrt(fitted.expected)).astype(np.float32)
        self._scaled = fitted.stored * self._unit[:, None]
        n_before = fitted.window - 1
        n_variables, n_stored = fitted.stored.shape
        self.rows = np.full((n_before, n_variables), np.nan, np.float32)
        self.history = np.zeros((n_before, n_stored), np.float32)
        if n_before and len(before):
            tail = before[-n_before:]
            self.rows[-len(tail) :] = tail
            row_distances(self.rows * self._unit, self._scaled, self.history)

    def push(self, rows: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """Return (n,) distances and (n, C) residuals of the next (n, C) rows.

        Residuals are mean squared differences from the nearest window; NaN where a variable was not
        observed in the window. A window without any observation has distance 0.
        """
        fitted, n = self.fitted, len(rows)
        w = fitted.window
        history = scratch("evidence history", (w - 1 + n, fitted.stored.shape[1]))
        history[: w - 1] = self.history
        row_distances(rows * self._unit, self._scaled, history[w - 1 :])
        covered = np.concatenate([self.rows, rows])
        places = np.empty(n, np.int64)
        distances = np.empty(n)
        nearest_windows(history, covered, fitted.penalty, distances, places)
        residuals = np.empty(rows.shape, np.float32)
        window_residuals(covered, fitted.stored, places, residuals)
        self.history = history[n:].copy()
        self.rows = covered[n:]
        return distances, residuals


def carried_forward(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Fill gaps in (n, C) rows with the latest value; 0, the usual value, before the first.

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
    """Return at most ``at_most`` of n positions, evenly spread.

    Examples
    --------
    >>> evenly(9, 3).tolist()
    [0, 4, 8]
    """
    return np.unique(np.linspace(0, n - 1, min(n, at_most)).astype(np.int64))


def _runs(
    filled: NDArray[np.float32], window: int, most: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return (C, S) evenly spread runs of rows, and (S,) 0 where one of their windows ends."""
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


def _residuals(filled: NDArray[np.float32], window: int) -> NDArray[np.float64]:
    """Return (C,) the mean squared difference of windows from their nearest neighbour.

    Neighbours of windows in the first and third quarter are sought in the second and fourth, and
    the reverse.
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
        apart = (far - near[distances.argmin(axis=1)]) ** 2
        found.append(apart.reshape(len(asked), n_variables, window).mean(axis=2))
    if not found:
        return np.ones(n_variables)
    expected = np.concatenate(found).mean(axis=0)
    return np.asarray(np.maximum(expected, SETTINGS.same_share**2))
