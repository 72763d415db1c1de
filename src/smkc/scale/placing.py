"""Placing: scores of windows as they come -> scores of time steps, as for a whole recording.

In: for each row what the window that ends there scored. Out: rows whose score is final, the same
numbers as ``Detector.decision_function`` gives; memory holds the rows of one window.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from smkc.decide import ALIGNMENTS
from smkc.errors import SettingError

__all__ = ["NO_WINDOW", "Placing"]

# Stands at rows where no window ends; NaN stands for a window that has no score.
NO_WINDOW = -np.inf


class Placing:
    """Places the scores of windows at time steps, row after row.

    Parameters
    ----------
    window, stride
        rows per window, and rows from one window to the next.
    align
        ``sharp`` or ``prompt``.
    by_row
        whether each row has a score of its own, as evidences have; otherwise a step's sharp score
        is the largest of the windows that cover it.
    """

    def __init__(self, window: int, stride: int, align: str, by_row: bool) -> None:
        if align not in ALIGNMENTS:
            raise SettingError(f"align={align!r} is not known; use one of {', '.join(ALIGNMENTS)}")
        self._window = window
        self._is_sharp = align == "sharp"
        self._by_row = by_row
        n_ahead = window if by_row else max(window, stride)
        self._n_ahead = n_ahead - 1 if self._is_sharp else 0
        self._tail = np.empty(0)
        self._last = np.nan  # the latest window's score
        self._n_since = 0  # rows after the one that it ended at

    def add(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Take (n,) the scores of windows that end at the next rows; return (m,) final ones."""
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
        """Return the scores of the rows that remain; no row comes after them."""
        if not self._is_sharp:
            return np.empty(0)
        if self._by_row:
            return np.full(len(self._tail), self._last)
        ahead = np.full(self._window - 1, NO_WINDOW)
        largest = self._largest(np.concatenate([self._tail, ahead]))
        largest[len(largest) - min(self._n_since, len(largest)) :] = self._last
        return largest

    def _largest(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n - window + 1,) the largest score of the windows that end here or soon after."""
        if len(scores) < self._window:
            return np.empty(0)
        numbers = np.where(np.isnan(scores), NO_WINDOW, scores)
        largest: NDArray[np.float64] = sliding_window_view(numbers, self._window).max(axis=1)
        largest[largest == NO_WINDOW] = np.nan
        return largest

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header from which :meth:`restore` goes on exactly."""
        return {"tail": self._tail, "last": np.array([self._last])}, {"since": self._n_since}

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """Take over what :meth:`to_arrays` gave."""
        self._tail, self._last = arrays["tail"], float(arrays["last"][0])
        self._n_since = int(header["since"])


def _carried(scores: NDArray[np.float64], before: float) -> NDArray[np.float64]:
    """Give each row the score of the latest window that has ended."""
    latest = np.where(scores == NO_WINDOW, -1, np.arange(len(scores)))
    latest = np.maximum.accumulate(latest) if len(latest) else latest
    return np.where(latest < 0, before, scores[np.maximum(latest, 0)]) if len(scores) else scores
