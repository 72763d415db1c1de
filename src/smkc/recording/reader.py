"""Reading: files, frames and arrays -> a Recording.

In: tables in long or wide layout. Out: one recording, or one per entity; or a ReadError that names
the place and the remedy. :func:`aligned` also tells which row of the recording each row of a table
in memory became: a recording has one row per time, in order of time, while a table may be unsorted
and may have several rows at the same time.
"""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from smkc import progress
from smkc.errors import InputWarning, ReadError, SettingError
from smkc.recording.recording import Recording

if TYPE_CHECKING:
    from smkc.recording.gather import Gathering
    from smkc.recording.grid import Step
    from smkc.recording.layout import Layout, LongParts, WideParts, Wishes
    from smkc.recording.stamps import TimeUnit
    from smkc.recording.tables import Table

# Share of values that may be overwritten by a later one at the same time, in a table whose columns
# of text are left out; more suggests that the text tells entities apart.
MAX_LOST_SHARE = 0.01


# The overloads name only the option that decides what is returned.
@overload
def read(source: Any, *, entity: str, **options: Any) -> dict[str, Recording]: ...
@overload
def read(source: Any, *, entity: None = None, **options: Any) -> Recording: ...
def read(  # type: ignore[misc]
    source: Any,
    *,
    layout: "Layout" = "auto",
    time: str | None = None,
    variable: str | None = None,
    value: str | None = None,
    labels: Sequence[str] | None = None,
    entity: str | None = None,
    step: "Step | None" = None,
    time_unit: "TimeUnit" = "auto",
    ignore: Sequence[str] = ("label",),
    time_format: str | None = None,
) -> Recording | dict[str, Recording]:
    """Read a recording from a file, a folder, a frame or arrays.

    Parameters
    ----------
    source
        path of a CSV or Parquet file; a folder or a glob of them, joined; a pandas, polars,
        pyarrow or other data frame or series; a dict of arrays, one per column; a list of dicts,
        one per row; an array of (T, V) numbers; a Prometheus response to a range query, as a JSON
        file or a dict; or a recording. A wide table in memory without a column of times gets its
        row numbers as times.
    layout
        "long" has one row per observation: time, variable, value and optional labels. "wide" has
        one row per time step and one column per variable, empty where missing. "auto" reads a
        table as long if it has a text column named like a variable (variable, metric, name, ...)
        and a column named like a value (value, val, reading, ...).
    time
        column of the times; by default one with a usual name (time, timestamp, ts, date, ...),
        else the only column of dates.
    variable, value
        columns of a long table that hold the variable's name and its value.
    labels
        columns of a long table that distinguish variables of the same name; the variable is then
        ``name{a="x",b="y"}``. By default every remaining column of text.
    entity
        column that names the entity of each row, a host for example; the result is then a dict of
        recordings by entity.
    step
        align observations to a grid of this step: "15s", "500ms", "1m", "2h", "1d", a timedelta,
        or a number if times are plain numbers. The last value in a step is kept; a step without
        observations becomes an empty row. By default there is one row per time that occurs.
    time_unit
        unit of numbers in the time column: "s", "ms", "us" or "ns" since 1970, or "step" for plain
        numbers. "auto" decides by size, if all times fall into one range: seconds from 1e8,
        milliseconds from 1e11, microseconds from 1e14, nanoseconds from 1e17; otherwise times are
        plain numbers.
    ignore
        columns to leave out; by default the ground truth "label" of benchmark files. They are
        listed in ``notes.ignored``, as are columns of a wide table that hold only text, which are
        left out with a warning.
    time_format
        format of times that are not ISO 8601, as in ``datetime.strptime``: "%m/%d/%Y %H:%M" for
        01/31/2026 12:00.

    Returns
    -------
    Recording or dict of Recording
        rows in order of time. Of two observations of one variable at one time, the later in the
        source is kept. Missing values (null, NaN, empty) and infinite ones (beyond float32) are
        left out; all are counted in ``notes``. Times without a time zone are taken as UTC.

    Examples
    --------
    >>> read({"time": [2, 1, 1], "metric": ["cpu", "cpu", "mem"], "value": [0.4, 0.3, 0.7]})
    Recording(2 rows, 2 variables, 3 observations, 1-2 per row, times 1 to 2)
    >>> read({"time": [1, 2], "cpu": [0.3, 0.4], "mem": [0.7, float("nan")]})
    Recording(2 rows, 2 variables, 3 observations, 1-2 per row, times 1 to 2)
    >>> read([{"cpu": 0.3, "mem": 0.7}, {"cpu": 0.4}])
    Recording(2 rows, 2 variables, 3 observations, 1-2 per row, times 0 to 1)
    """
    # Imported here because Arrow takes 0.1 seconds, which `import smkc` should not take.
    from smkc.recording.grid import on_grid
    from smkc.recording.layout import Wishes
    from smkc.recording.stamps import check_time_unit

    check_time_unit(time_unit)
    wishes = Wishes(
        layout=layout,
        time=time,
        variable=variable,
        value=value,
        labels=None if labels is None else several(labels),
        entity=entity,
        ignore=several(ignore),
        time_format=time_format,
    )
    if isinstance(source, Recording):
        if entity is not None:
            raise SettingError("a recording is about one entity; leave entity= out")
        return source if step is None else on_grid(source, step)
    found, _, _ = _gathered(source, wishes, time_unit)
    if step is not None:
        found = {key: on_grid(recording, step) for key, recording in found.items()}
    return found[""] if entity is None else found


def _gathered(
    source: Any, wishes: "Wishes", time_unit: "TimeUnit"
) -> "tuple[dict[str, Recording], Gathering, list[tuple[Table, LongParts | WideParts]]]":
    """Return the recordings by entity, what they were gathered in, and the tables' parts."""
    from pyarrow import ArrowException

    from smkc.recording.gather import Gathering, read_table
    from smkc.recording.layout import WideParts, find_parts

    tables, name = _tables_of(source, wishes)
    gathering = Gathering()
    known: list[tuple[Table, LongParts | WideParts]] = []
    texts: list[str] = []
    with progress.task(f"reading {name}", sum(table.size for table in tables)) as advance:
        for table in tables:
            try:
                parts = find_parts(table, wishes)
                known.append((table, parts))
                gathering.ignore(parts.ignored)
                if isinstance(parts, WideParts):
                    texts += [text for text in parts.texts if text not in texts]
                read_table(table, parts, gathering, advance)
            except ArrowException as error:
                raise ReadError(f"{table.name} cannot be read: {error}") from error
    _warn_of_large(name, gathering.notes.beyond)
    found = gathering.recordings(name, time_unit, by_entity=wishes.entity is not None)
    _warn_of_texts(name, texts, list(found.values()))
    return found, gathering, known


def _tables_of(source: Any, wishes: "Wishes") -> "tuple[list[Table], str]":
    """Open a source; return its tables and its name for messages.

    A table in memory without times gets its row numbers as times.
    """
    if isinstance(source, str | os.PathLike):
        from smkc.recording.files import open_files

        return open_files(source), os.fspath(source)
    from smkc.recording.layout import lacks_times
    from smkc.recording.prometheus_json import from_prometheus, is_prometheus
    from smkc.recording.tables import from_array, from_columns, from_dicts, from_frame

    if is_prometheus(source):
        name = "the response of Prometheus"
        return [from_prometheus(name, source)], name
    if isinstance(source, Mapping):
        table = from_columns("the dict of arrays", source.items())
    elif isinstance(source, np.ndarray) and source.dtype.names is None:
        table = from_array(source)
    elif isinstance(source, list | tuple):
        table = from_dicts(source)
    else:
        table = from_frame(source)
    return [table.numbered() if lacks_times(table, wishes) else table], table.name


def _warn_of_texts(name: str, texts: Sequence[str], recordings: Sequence[Recording]) -> None:
    """Warn that columns of text are left out; raise ReadError if they may name entities."""
    from smkc.recording.tables import listed

    if not texts:
        return
    n_lost = sum(one.notes.duplicates for one in recordings)
    if n_lost > MAX_LOST_SHARE * sum(len(one.values) for one in recordings):
        raise ReadError(
            f"{listed(texts)} of {name} hold text, and {n_lost:,} values have the same time and "
            f"column as a later one; say entity={texts[0]!r} to read one recording for each of its "
            f"texts, variable={texts[0]!r} and value='...' if the table is long, or ignore=[...]"
        )
    warnings.warn(
        f"columns of text are left out of {name}: {listed(texts)}; turn them into numbers if they "
        "matter, or name them in ignore=[...]",
        InputWarning,
        stacklevel=4,
    )


def _warn_of_large(name: str, variables: Sequence[str]) -> None:
    from smkc.recording.tables import listed

    if variables:
        warnings.warn(
            f"values beyond 3.4e38, the largest float32, are left out of {name}, in "
            f"{listed(variables)}; give them in a larger unit",
            InputWarning,
            stacklevel=4,
        )


def several(names: Sequence[str]) -> tuple[str, ...]:
    """Return names as a tuple; a single name may be given alone."""
    return (names,) if isinstance(names, str) else tuple(names)


@dataclass(frozen=True, kw_only=True)
class Aligned:
    """A recording, and which of its rows each row of the input became.

    Examples
    --------
    >>> given = aligned({"time": [3, 1, 3], "cpu": [0.1, 0.2, 0.3]})
    >>> len(given.recording), given.per_row(np.array([10.0, 30.0])).tolist()
    (2, [30.0, 10.0, 30.0])
    """

    recording: Recording
    rows: NDArray[np.int64] | None = None  # (n,) row of each input row; None if they are the same
    index: Any = None  # (n,) index labels of the input rows, if the input was a pandas frame
    zone: str | None = None  # time zone of the input's times, if they had one

    def per_row(self, by_step: NDArray[Any]) -> NDArray[Any]:
        """Turn one number per row of the recording into one per input row."""
        return by_step if self.rows is None else by_step[self.rows]

    def labels_at(self, steps: NDArray[np.int64]) -> Any:
        """Return the index labels of the recording's rows ``steps``; None if there are none.

        If several input rows became one row of the recording, the label is that of the first.
        """
        if self.index is None:
            return None
        if self.rows is None:
            return self.index.take(steps)
        first = np.zeros(len(self.recording), np.int64)
        first[self.rows[::-1]] = np.arange(len(self.rows))[::-1]
        return self.index.take(first[steps])


def aligned(source: Any) -> Aligned:
    """Read a source; for a wide table in memory, keep track of its rows.

    A long table has several rows per time step, and a file is not in memory: results for these
    have one number per time step, in order of time.
    """
    if isinstance(source, Recording):
        return Aligned(recording=source)
    from smkc.recording.layout import WideParts, Wishes

    found, gathering, [(table, parts), *_] = _gathered(source, Wishes(), "auto")
    recording = found[""]
    if isinstance(source, str | os.PathLike) or not isinstance(parts, WideParts):
        return Aligned(recording=recording)
    rows = np.searchsorted(recording.times, gathering.times)
    return Aligned(
        recording=recording,
        rows=None if np.array_equal(rows, np.arange(len(recording))) else rows,
        index=getattr(source, "index", None) if hasattr(source, "iloc") else None,
        zone=getattr(table.schema.field(parts.time).type, "tz", None),
    )
