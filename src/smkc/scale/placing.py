"""Placing: scores of windows as they arrive -> scores of time steps, as for a whole recording.

In: for each row, the score of the window that ends there. Out: final scores of time steps, the same
as those of ``Detector.decision_function``; memory holds the rows of one window.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

# Value for rows where no window ends; NaN is the value for a window without a score.
NO_WINDOW = -np.inf


class Placing:
    """Conversion of window scores to scores of time steps, row after row.

    Parameters
    ----------
    window, stride
        rows per window, and rows from one window to the next.
    align
        ``sharp`` or ``prompt``.
    by_row
        whether each row has a score that goes to a single time step, as for ``evidence``, where the
        window is the number of rows that it is held for; otherwise a step's sharp score is the
        largest of the windows that cover it.
    """

    def __init__(self, window: int, stride: int, align: str, by_row: bool) -> None:
        self._window = window
        self._is_sharp = align == "sharp"
        self._by_row = by_row
        n_ahead = window if by_row else max(window, stride)
        self._n_ahead = n_ahead - 1 if self._is_sharp else 0
        self._tail = np.empty(0)
        self._last = np.nan  # the latest window's score
        self._n_since = 0  # rows since that window ended

    def add(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add (n,) scores of the windows that end at the next rows; return (m,) final scores."""
        before = self._last
        ends = np.flatnonzero(scores != NO_WINDOW)
        self._n_since += len(scores)
        if len(ends):
            self._last, self._n_since = float(scores[ends[-1]]), len(scores) - 1 - int(ends[-1])
        if not self._is_sharp:
            return scores.copy() if self._by_row else _carried(scores, before)
        joined = np.concatenate([self._tail, scores])
        n_final = max(len(joined) - self._n_ahead, 0)
        self._tail = joined[n_final:].copy()
        if self._by_row:
            return joined[self._n_ahead :].copy()
        return self._largest(joined[: n_final + self._window - 1]) if n_final else np.empty(0)

    def finish(self) -> NDArray[np.float64]:
        """Return the scores of the remaining rows, after the last row was added."""
        if not self._is_sharp:
            return np.empty(0)
        if self._by_row:
            return np.full(len(self._tail), self._last)
        ahead = np.full(self._window - 1, NO_WINDOW)
        largest = self._largest(np.concatenate([self._tail, ahead]))
        largest[len(largest) - min(self._n_since, len(largest)) :] = self._last
        return largest

    def _largest(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (n - window + 1,) the largest score of the windows that cover each row."""
        if len(scores) < self._window:
            return np.empty(0)
        numbers = np.where(np.isnan(scores), NO_WINDOW, scores)
        largest: NDArray[np.float64] = sliding_window_view(numbers, self._window).max(axis=1)
        largest[largest == NO_WINDOW] = np.nan
        return largest

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header from which :meth:`restore` continues exactly."""
        return {"tail": self._tail, "last": np.array([self._last])}, {"since": self._n_since}

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """Restore what :meth:`to_arrays` returned."""
        self._tail, self._last = arrays["tail"], float(arrays["last"][0])
        self._n_since = int(header["since"])


def _carried(scores: NDArray[np.float64], before: float) -> NDArray[np.float64]:
    """Return for each row the score of the latest window that has ended."""
    latest = np.where(scores == NO_WINDOW, -1, np.arange(len(scores)))
    latest = np.maximum.accumulate(latest)
    return np.where(latest < 0, before, scores[np.maximum(latest, 0)])
