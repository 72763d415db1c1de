"""Alignment: which row of a recording each row of a table became, so that answers come back so.

In: whatever :func:`smkc.read` takes. Out: the recording, and for tables in memory the way back to
their rows. A recording has one row per time, in order of time; a table may be shuffled, and may
have two rows of one time.
"""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.recording.reader import open_source, read
from smkc.recording.recording import Recording

__all__ = ["Aligned", "aligned"]


@dataclass(frozen=True, kw_only=True)
class Aligned:
    """A recording, and how its rows lie in what it was read from.

    Parameters
    ----------
    recording
        what was read.
    rows
        (n,) the recording's row of each row handed in; None where they are the same.
    index
        (n,) labels of the rows handed in, if it was a pandas frame.
    zone
        time zone of the times handed in; None where they had none.

    Examples
    --------
    >>> given = aligned({"time": [3, 1, 3], "cpu": [0.1, 0.2, 0.3]})
    >>> len(given.recording), given.per_row(np.array([10.0, 30.0])).tolist()
    (2, [30.0, 10.0, 30.0])
    """

    recording: Recording
    rows: NDArray[np.int64] | None = None
    index: Any = None
    zone: str | None = None

    def per_row(self, by_step: NDArray[Any]) -> NDArray[Any]:
        """Turn one number per row of the recording into one per row handed in."""
        return by_step if self.rows is None else by_step[self.rows]

    def labels_at(self, steps: NDArray[np.int64]) -> Any:
        """Return the labels of the rows that became these of the recording; None without any."""
        if self.index is None:
            return None
        if self.rows is None:
            return self.index.take(steps)
        first = np.zeros(len(self.recording), np.int64)
        first[self.rows[::-1]] = np.arange(len(self.rows))[::-1]
        return self.index.take(first[steps])


def aligned(source: Any) -> Aligned:
    """Read a source; of a wide table in memory, remember its rows.

    A long table has several rows per time step, and a file is not in memory: answers about these
    have one number per time step, in order of time.
    """
    if isinstance(source, Recording):
        return Aligned(recording=source)
    recording = read(source)
    if isinstance(source, str | os.PathLike):
        return Aligned(recording=recording)
    from smkc.recording.layout import WideParts, Wishes, find_parts
    from smkc.recording.stamps import column_times, settled
    from smkc.recording.tables import place

    wishes = Wishes()
    (table,), _ = open_source(source, wishes)
    parts = find_parts(table, wishes)
    if not isinstance(parts, WideParts):
        return Aligned(recording=recording)
    where = place(table, parts.time, 0)
    batches = table.batches([parts.time], 2**20)
    times = settled([column_times(batch.column(0), where) for batch, _ in batches], "auto")
    rows = np.searchsorted(recording.times, times)
    is_same = len(rows) == len(recording) and bool((rows == np.arange(len(rows))).all())
    return Aligned(
        recording=recording,
        rows=None if is_same else rows,
        index=getattr(source, "index", None) if hasattr(source, "iloc") else None,
        zone=getattr(table.schema.field(parts.time).type, "tz", None),
    )
