"""Scores: one per window, and from these one per time step.

In: scores of windows. Out: a table of them, or (T,) scores aligned with the recording's rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.errors import SettingError

ALIGNMENTS = ("sharp", "prompt")


@dataclass(frozen=True, kw_only=True)
class WindowScores:
    """Scores of B windows, each array (B,); ``end`` is the time of a window's last row.

    A window with too few observations has NaN as score and p-value.
    """

    first_row: NDArray[np.int64]
    last_row: NDArray[np.int64]
    start: NDArray[Any]
    end: NDArray[Any]
    score: NDArray[np.float64]
    p_value: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.score)


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
    if align == "prompt":
        ends = np.concatenate([starts + window - 1, [n_rows]])
        lengths = np.diff(ends)
        return np.concatenate([np.full(ends[0], np.nan), np.repeat(scores, lengths)])
    by_start = np.full(n_rows + window - 1, -np.inf)
    by_start[starts + window - 1] = np.where(np.isnan(scores), -np.inf, scores)
    largest = _trailing_maximum(by_start, window)
    covered = int(starts[-1]) + window
    largest[covered:] = by_start[starts[-1] + window - 1]
    largest[np.isneginf(largest)] = np.nan
    return largest


def _trailing_maximum(values: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Return (n - width + 1,) the largest of each run of ``width`` values, in O(n log width)."""
    reach = 1
    best = values
    while reach < width:
        shift = min(reach, width - reach)
        best = np.maximum(best[:-shift], best[shift:])
        reach += shift
    return best.copy()
