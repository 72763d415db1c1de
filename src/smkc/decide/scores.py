"""Tables of scores, which convert to pyarrow, pandas and polars.

In: scores of windows. Out: a table of them.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from smkc.errors import optional_module


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
