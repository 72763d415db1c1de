"""Scores: one per window, and from these one per time step.

In: scores of windows. Out: a table of them, or (T,) scores aligned with the recording's rows.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from smkc.errors import SettingError, optional_module

ALIGNMENTS = ("sharp", "prompt")


class Table(ABC):
    """Base class of tables, which convert to pyarrow, pandas and polars."""

    time_columns: ClassVar[tuple[str, ...]]
    """Names of the columns that are times, in UTC."""

    @property
    def labels(self) -> Any:
        """Index labels of the rows, if the input was a pandas frame; else None."""
        return None

    @property
    def zone(self) -> str | None:
        """Time zone of the input's times; None if they had none."""
        return None

    @abstractmethod
    def to_dict(self) -> dict[str, NDArray[Any]]:
        """Return the table as a dict of arrays."""

    def to_arrow(self) -> Any:
        """Return the table as a pyarrow Table."""
        import pyarrow

        columns: dict[str, Any] = self.to_dict()
        if self.zone is not None:
            zoned = pyarrow.timestamp("ns", self.zone)
            for name in self.time_columns:
                columns[name] = pyarrow.array(columns[name].view(np.int64)).cast(zoned)
        return pyarrow.table(columns)

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame, with the index and time zone of the input."""
        pandas = optional_module("pandas", "pandas")
        columns: dict[str, Any] = self.to_dict()
        if self.zone is not None:
            for name in self.time_columns:
                columns[name] = pandas.DatetimeIndex(columns[name], tz="UTC").tz_convert(self.zone)
        return pandas.DataFrame(columns, index=self.labels)

    def to_polars(self) -> Any:
        """Return the table as a polars DataFrame."""
        return optional_module("polars", "polars").from_arrow(self.to_arrow())


@dataclass(frozen=True, kw_only=True)
class WindowScores(Table):
    """Scores of B windows, each array (B,); ``end`` is the time of a window's last row.

    A window with too few observations has NaN as score and p-value. If the input was a pandas
    frame, ``labels`` are the index labels of each window's last row, and ``zone`` is its time
    zone. ``to_pandas`` restores both; the arrays here hold times in UTC.
    """

    time_columns = ("start", "end")

    first_row: NDArray[np.int64]
    last_row: NDArray[np.int64]
    start: NDArray[Any]
    end: NDArray[Any]
    score: NDArray[np.float64]
    p_value: NDArray[np.float64]
    labels: Any = None
    zone: str | None = None

    def __len__(self) -> int:
        return len(self.score)

    @property
    def n_unscored(self) -> int:
        """Number of windows with too few observations to be scored."""
        return int(np.isnan(self.score).sum())

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """Return the table as a dict of arrays."""
        return {
            "start": self.start,
            "end": self.end,
            "score": self.score,
            "p_value": self.p_value,
        }


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
