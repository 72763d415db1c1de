"""Placing: scores of windows, all at once or as they arrive -> scores of time steps.

In: for each row, the score of the window that ends there. Out: final scores of time steps; memory
holds the rows of one window.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.errors import SettingError

ALIGNMENTS = ("sharp", "prompt")

# Value for rows where no window ends; NaN is the value for a window without a score.
NO_WINDOW = -np.inf


def step_scores(
    scores: NDArray[np.float64],
    starts: NDArray[np.int64],
    window: int,
    n_rows: int,
    align: str,
) -> NDArray[np.float64]:
    """Return (T,) one score per time step from (B,) scores of windows that start at ``starts``.

    ``prompt`` gives a step the score of the window that ends there: it uses no later row, but the
    first window - 1 steps have no score (NaN), and the score stays high until a fault has left the
    window. ``sharp`` gives a step the largest score of the windows that cover it: the whole fault
    is marked, with up to window - 1 steps on either side, and the score of a step is final only
    after window - 1 more steps. With a stride above 1, steps between windows (``prompt``) and
    after the last window (both) repeat the score of the window before.

    Examples
    --------
    >>> step_scores(np.array([1.0, 5.0]), np.array([0, 1]), window=2, n_rows=3, align="prompt")
    array([nan,  1.,  5.])
    >>> step_scores(np.array([1.0, 5.0]), np.array([0, 1]), window=2, n_rows=3, align="sharp")
    array([1., 5., 5.])
    """
    if align not in ALIGNMENTS:
        raise SettingError(f"align={align!r} is not known; use one of {', '.join(ALIGNMENTS)}")
    by_end = np.full(n_rows, NO_WINDOW)
    by_end[starts + window - 1] = scores
    # With so long a stride, nothing is final before it is known which window is the last.
    placing = Placing(window, n_rows, align, by_row=False)
    return np.concatenate([placing.add(by_end), placing.finish()])


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
        numbers = np.where(np.isnan(scores), NO_WINDOW, scores)
        largest = _trailing_maximum(numbers, self._window)
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


def _trailing_maximum(values: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Return (n - width + 1,) the largest of each run of ``width`` values, in O(n log width)."""
    reach = 1
    best = values
    while reach < width:
        shift = min(reach, width - reach)
        best = np.maximum(best[:-shift], best[shift:])
        reach += shift
    return best


def _carried(scores: NDArray[np.float64], before: float) -> NDArray[np.float64]:
    """Return for each row the score of the latest window that has ended."""
    latest = np.where(scores == NO_WINDOW, -1, np.arange(len(scores)))
    latest = np.maximum.accumulate(latest)
    return np.where(latest < 0, before, scores[np.maximum(latest, 0)])
