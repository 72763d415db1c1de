"""Export: a Recording -> a long table, for Arrow, pandas or polars.

In: a recording. Out: columns ``time``, ``variable`` and ``value``, a row an observation; a time
step without any keeps its place as one row with neither variable nor value, so that reading the
table gives the recording back.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from smkc.errors import MissingExtraError

if TYPE_CHECKING:
    from smkc.recording.recording import Recording

__all__ = ["to_arrow", "to_pandas", "to_polars"]


def to_arrow(recording: "Recording") -> Any:
    """Return the long pyarrow Table; the variables are dictionary-encoded."""
    import pyarrow as pa

    rows, codes, values = recording.row_numbers, recording.codes, recording.values
    empty = np.flatnonzero(recording.cardinality == 0)
    absent = np.zeros(len(rows), bool)
    if len(empty):
        at = recording.indptr[empty]
        rows = np.insert(rows, at, empty)
        codes, values = np.insert(codes, at, 0), np.insert(values, at, np.float32(0))
        absent = np.insert(absent, at, True)
    times = pa.array(recording.times[rows])
    if recording.times.dtype.kind == "M":
        times = times.cast(pa.timestamp("ns", "UTC"))
    names = pa.array(recording.names, pa.string())
    variables = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32(), mask=absent), names)
    return pa.table({"time": times, "variable": variables, "value": pa.array(values, mask=absent)})


def to_pandas(recording: "Recording") -> Any:
    """Return the long pandas DataFrame; the variables are categorical."""
    try:
        import pandas  # noqa: F401  # wanted by Arrow
    except ImportError:
        raise MissingExtraError("to_pandas needs pandas; pip install pandas") from None
    return to_arrow(recording).to_pandas()


def to_polars(recording: "Recording") -> Any:
    """Return the long polars DataFrame; the variables are categorical."""
    try:
        import polars
    except ImportError:
        raise MissingExtraError("to_polars needs polars; pip install polars") from None
    return polars.from_arrow(to_arrow(recording))
