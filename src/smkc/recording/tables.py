"""Tables: frames and arrays in memory -> named columns, read batch by batch.

In: pandas, polars, pyarrow or any other data frame, or a dict of arrays. Out: a :class:`Table`, the
same interface as files have (``files.py``), so that readers do not depend on the source.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from smkc.errors import ReadError
from smkc.recording.columns import Where

NAMES_SHOWN = 12

# Column name for row numbers that serve as times; column name for a series without a name.
ROW_NUMBERS, SERIES_NAME = "time", "value"


class Table(Protocol):
    """Named columns that can be read batch by batch."""

    name: str  # name in messages: a path, or the kind of frame
    schema: pa.Schema  # names and types of the columns; names are distinct
    size: float  # amount to read, in the unit that ``batches`` reports; for progress

    def batches(
        self, columns: Sequence[str], n_rows: int, encode: Sequence[str] = ()
    ) -> Iterator[tuple[pa.RecordBatch, float]]:
        """Yield batches of about n_rows rows of some columns, each with its part of ``size``.

        Columns in ``encode`` may be returned as dictionaries, if the source can do so.
        """


class FrameTable:
    """A table in memory."""

    def __init__(self, name: str, table: pa.Table) -> None:
        require_distinct(name, table.column_names)
        self.name = name
        self.schema = table.schema
        self.size = float(table.num_rows)
        self._table = table

    def batches(
        self, columns: Sequence[str], n_rows: int, encode: Sequence[str] = ()
    ) -> Iterator[tuple[pa.RecordBatch, float]]:
        """Yield the table in slices, without a copy."""
        for batch in self._table.select(columns).to_batches(max_chunksize=n_rows):
            yield batch, float(batch.num_rows)

    def numbered(self) -> "FrameTable":
        """Return the table with its row numbers added as times."""
        rows = pa.array(np.arange(self._table.num_rows))
        return FrameTable(self.name, self._table.add_column(0, ROW_NUMBERS, rows))


def from_array(values: np.ndarray[Any, Any]) -> FrameTable:
    """Make a table from (T,) or (T, V) numbers; its columns are v0, v1 and so on."""
    if values.ndim not in (1, 2):
        raise ReadError(
            f"an array of {values.ndim} dimensions cannot be read; give (T,) or (T, V) numbers, "
            "one row per time step"
        )
    columns = values[:, None] if values.ndim == 1 else values
    return from_columns("the array", ((f"v{j}", column) for j, column in enumerate(columns.T)))


def from_dicts(rows: Sequence[Mapping[Any, Any]]) -> FrameTable:
    """Make a table from one mapping per row; keys that a row lacks are missing values."""
    for at, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise ReadError(
                f"item {at} of the list is of type {type(row).__name__}; give one dict per row, "
                "such as {'time': 0, 'cpu': 0.5}, an array, or a dict of arrays"
            )
    names = dict.fromkeys(key for row in rows for key in row)
    columns = ((name, [row.get(name) for row in rows]) for name in names)
    return from_columns("the list of dicts", columns)


def from_frame(frame: Any) -> FrameTable:
    """Make a table from any data frame or series that narwhals or Arrow supports."""
    name = f"the {type(frame).__module__.partition('.')[0]} {type(frame).__name__}"
    if isinstance(frame, pa.Table):
        return FrameTable(name, frame)
    if isinstance(frame, pa.RecordBatch):
        return FrameTable(name, pa.Table.from_batches([frame]))
    import narwhals as nw

    if nw.dependencies.is_into_series(frame):
        frame = frame.to_frame(frame.name or SERIES_NAME)
    if nw.dependencies.is_pandas_like_dataframe(frame):
        return _from_pandas_like(name, frame)
    try:
        known = nw.from_native(frame, pass_through=True)
        if isinstance(known, nw.LazyFrame):
            known = known.collect()
        if isinstance(known, nw.DataFrame):
            return FrameTable(name, known.to_arrow())
        if hasattr(frame, "__arrow_c_stream__"):
            return FrameTable(name, pa.table(frame))
    except (pa.ArrowException, nw.exceptions.NarwhalsError) as error:
        raise ReadError(f"{name} cannot be read: {error}; convert it to Arrow first") from error
    raise ReadError(
        f"{name} cannot be read; give the path of a CSV or Parquet file, a pandas, polars or "
        "pyarrow frame, an array, a dict of arrays or a list of dicts"
    )


def from_columns(name: str, columns: Iterable[tuple[Any, Any]]) -> FrameTable:
    """Make a table from pairs of a name and an array, list or series."""
    pairs = [(str(key), values) for key, values in columns]
    require_distinct(name, [key for key, _ in pairs])
    arrays = {key: _array(name, key, values) for key, values in pairs}
    lengths = {key: len(array) for key, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        one, other = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
        raise ReadError(
            f"column {one!r} of {name} has {lengths[one]} rows and column {other!r} has "
            f"{lengths[other]}; give every column one value per row"
        )
    return FrameTable(name, pa.table(arrays))


def require_distinct(name: str, columns: Sequence[str]) -> None:
    """Raise ReadError if two columns have the same name."""
    twice = [column for column, count in Counter(columns).items() if count > 1]
    if twice:
        raise ReadError(
            f"{name} has more than one column called {listed(twice)}; rename all but one"
        )


def place(name: str, column: str, first: int) -> Where:
    """Return a function that describes a position in the batch that begins at row ``first``."""
    return lambda at: f"row {first + at} (the first is 0) of column {column!r} of {name}"


def listed(names: Iterable[str]) -> str:
    """Format names for a message: at most 12, and the number of the others."""
    all_names = [repr(name) for name in names]
    text = ", ".join(all_names[:NAMES_SHOWN])
    n_more = len(all_names) - NAMES_SHOWN
    return f"{text} and {n_more:,} more" if n_more > 0 else text or "none"


def _from_pandas_like(name: str, frame: Any) -> FrameTable:
    """Make a table from the columns, and from the index if it holds dates or has a name."""
    require_distinct(name, [str(column) for column in frame.columns])
    index = frame.index
    tells = index.dtype.kind == "M" or str(index.dtype).startswith("period")
    columns = [(column, frame[column]) for column in frame.columns]
    if tells or any(level is not None for level in index.names):
        # Not by reset_index, which warns that it is slow if there are many columns.
        taken = set(frame.columns)
        unnamed = "index" if index.nlevels == 1 and "index" not in taken else "level_{}"
        columns = [
            (unnamed.format(at) if level is None else level, index.get_level_values(at).to_series())
            for at, level in enumerate(index.names)
        ] + columns
    return from_columns(name, columns)


def _array(name: str, key: str, values: Any) -> pa.Array | pa.ChunkedArray:
    is_flat = hasattr(values, "__len__") and getattr(values, "ndim", 1) == 1
    if not is_flat or isinstance(values, str | bytes | Mapping):
        raise ReadError(
            f"column {key!r} of {name} is {type(values).__name__}, not a flat array; "
            "give every column one value per row"
        )
    if str(getattr(values, "dtype", "")).startswith("period"):
        values = values.dt.to_timestamp()
    if isinstance(values, np.ndarray):
        values = _plain_numpy(values)
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass
    try:
        return pa.array(np.asarray(values), from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        # Mixed types: as text, so that a value that is no number is found and reported.
        return pa.array([None if _is_missing(value) else str(value) for value in values])


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def _plain_numpy(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Convert units and widths that Arrow does not support to those that it does."""
    if values.dtype.kind == "M":
        unit = np.datetime_data(values.dtype)[0]
        coarse = {"Y": "D", "M": "D", "W": "D", "h": "s", "m": "s"}
        fine = {"ps": "ns", "fs": "ns", "as": "ns"}
        return values.astype(f"datetime64[{(coarse | fine).get(unit, unit)}]")
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        return values.astype(np.float64)
    return values
