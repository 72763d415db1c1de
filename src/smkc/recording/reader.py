"""Read: files, frames and arrays -> a Recording.

In: whatever people have, long or wide. Out: one recording, or one per entity; or a ReadError that
names the place and the remedy.
"""

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from smkc import progress
from smkc.errors import InputWarning, ReadError, SettingError
from smkc.recording.recording import Recording

if TYPE_CHECKING:
    from smkc.recording.grid import Step
    from smkc.recording.layout import Layout, Wishes
    from smkc.recording.stamps import TimeUnit
    from smkc.recording.tables import Table

__all__ = ["open_source", "read"]

# Of the values of a table with columns of text, so many may have the time of a later one.
MAX_LOST_SHARE = 0.01


@overload
def read(
    source: Any,
    *,
    layout: "Layout" = "auto",
    time: str | None = None,
    variable: str | None = None,
    value: str | None = None,
    labels: Sequence[str] | None = None,
    entity: None = None,
    step: "Step | None" = None,
    time_unit: "TimeUnit" = "auto",
    ignore: Sequence[str] = ("label",),
    time_format: str | None = None,
) -> Recording: ...
@overload
def read(
    source: Any,
    *,
    layout: "Layout" = "auto",
    time: str | None = None,
    variable: str | None = None,
    value: str | None = None,
    labels: Sequence[str] | None = None,
    entity: str,
    step: "Step | None" = None,
    time_unit: "TimeUnit" = "auto",
    ignore: Sequence[str] = ("label",),
    time_format: str | None = None,
) -> dict[str, Recording]: ...
def read(
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
        one per row; an array of (T, V) numbers; Prometheus' answer to a range query, as a JSON
        file or a dict; or a recording. What is in memory, wide and has no column of times gets
        its row numbers for times.
    layout
        "long" has a row an observation: time, variable, value and perhaps labels. "wide" has a
        row a time step and a column a variable, empty where missing. "auto" takes a table for
        long if it has a column of texts called like a variable (variable, metric, name, ...) and
        one called like a value (value, val, reading, ...).
    time
        column of the times; by default one called like it (time, timestamp, ts, date, ...), else
        the only column of dates.
    variable, value
        columns of a long table that hold the variable's name and what was read.
    labels
        columns of a long table that tell variables of one name apart; the variable is then
        ``name{a="x",b="y"}``. By default every remaining column of text.
    entity
        column of what each row is about, a host for example; gives a dict of recordings, by
        entity.
    step
        align observations to a grid of this step: "15s", "500ms", "1m", "2h", "1d", a timedelta,
        or a number where times are plain numbers. The last value in a step stays; a step without
        observations becomes an empty row. By default rows are the times that occur.
    time_unit
        what numbers in the time column count: "s", "ms", "us" or "ns" since 1970, or "step" for
        numbers that stay as they are. "auto" decides by size, if all times fall into one range:
        from 1e8 seconds, from 1e11 milliseconds, from 1e14 microseconds, from 1e17 nanoseconds;
        smaller ones stay as they are.
    ignore
        columns to leave out; by default the ground truth "label" of benchmark files. They are
        named in ``notes.ignored``. So are columns of a wide table that hold nothing but text,
        which are left out with a warning.
    time_format
        how times are written that are not ISO 8601, as in ``datetime.strptime``:
        "%m/%d/%Y %H:%M" for 01/31/2026 12:00. A time without a zone is taken as UTC.

    Returns
    -------
    Recording or dict of Recording
        rows in order of time. Of two observations of one variable at one time the later in the
        source stays. Missing values (null, NaN, empty) and infinite ones (beyond float32) are
        left out; all are counted in ``notes``. Times without a zone are taken as UTC.

    Examples
    --------
    >>> read({"time": [2, 1, 1], "metric": ["cpu", "cpu", "mem"], "value": [0.4, 0.3, 0.7]})
    Recording(2 rows, 2 variables, 3 observations, 1-2 a row, times 1 to 2)
    >>> read({"time": [1, 2], "cpu": [0.3, 0.4], "mem": [0.7, float("nan")]})
    Recording(2 rows, 2 variables, 3 observations, 1-2 a row, times 1 to 2)
    >>> read([{"cpu": 0.3, "mem": 0.7}, {"cpu": 0.4}])
    Recording(2 rows, 2 variables, 3 observations, 1-2 a row, times 0 to 1)
    """
    # Imported when needed: Arrow takes a tenth of a second, which `import smkc` should not.
    from pyarrow import ArrowException

    from smkc.recording.gather import Gathering
    from smkc.recording.grid import on_grid
    from smkc.recording.layout import WideParts, Wishes, find_parts
    from smkc.recording.long import read_long
    from smkc.recording.wide import read_wide

    if time_unit not in ("auto", "s", "ms", "us", "ns", "step"):
        raise SettingError(
            f"time_unit={time_unit!r} is unknown; say 'auto', 's', 'ms', 'us', 'ns' or 'step'"
        )
    wishes = Wishes(
        layout=layout,
        time=time,
        variable=variable,
        value=value,
        labels=None if labels is None else _several(labels),
        entity=entity,
        ignore=_several(ignore),
        time_format=time_format,
    )
    if isinstance(source, Recording):
        if entity is not None:
            raise SettingError("a recording is about one entity; leave entity= out")
        return source if step is None else on_grid(source, step)
    tables, name = open_source(source, wishes)
    gathering = Gathering()
    texts: list[str] = []
    with progress.task(f"reading {name}", sum(table.size for table in tables)) as advance:
        for table in tables:
            try:
                parts = find_parts(table, wishes)
                gathering.ignore(parts.ignored)
                if isinstance(parts, WideParts):
                    texts += [text for text in parts.texts if text not in texts]
                    read_wide(table, parts, gathering, advance)
                else:
                    read_long(table, parts, gathering, advance)
            except ArrowException as error:
                raise ReadError(f"{table.name} cannot be read: {error}") from error
    _warn_of_large(name, gathering.notes.beyond)
    if entity is None:
        recording = gathering.recording(name, time_unit)
        _tell_of_texts(name, texts, [recording])
        return recording if step is None else on_grid(recording, step)
    by_entity = gathering.recordings(name, time_unit)
    _tell_of_texts(name, texts, list(by_entity.values()))
    return by_entity if step is None else {key: on_grid(r, step) for key, r in by_entity.items()}


def open_source(source: Any, wishes: "Wishes") -> "tuple[list[Table], str]":
    """Open the source: its tables, and what to call it.

    What is in memory and has no times gets its row numbers for times.
    """
    if isinstance(source, str | os.PathLike):
        from smkc.recording.files import open_files

        return open_files(source), os.fspath(source)
    from smkc.recording.layout import lacks_times
    from smkc.recording.prometheus_json import from_prometheus, is_prometheus
    from smkc.recording.tables import from_array, from_columns, from_dicts, from_frame

    if is_prometheus(source):
        return [from_prometheus("the answer of Prometheus", source)], "the answer of Prometheus"
    if isinstance(source, Mapping):
        table = from_columns("the dict of arrays", source.items())
    elif isinstance(source, np.ndarray) and source.dtype.names is None:
        table = from_array(source)
    elif isinstance(source, list | tuple):
        table = from_dicts(source)
    else:
        table = from_frame(source)
    return [table.numbered() if lacks_times(table, wishes) else table], table.name


def _tell_of_texts(name: str, texts: Sequence[str], recordings: Sequence[Recording]) -> None:
    """Warn that columns of text are left out; refuse if they may tell rows of one time apart."""
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
        stacklevel=3,
    )


def _warn_of_large(name: str, variables: Sequence[str]) -> None:
    from smkc.recording.tables import listed

    if variables:
        warnings.warn(
            f"values beyond 3.4e38, the largest float32, are left out of {name}, in "
            f"{listed(variables)}; give them in a larger unit",
            InputWarning,
            stacklevel=3,
        )


def _several(names: Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
