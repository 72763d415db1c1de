"""Tables: frames and arrays in memory."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from smkc.errors import ReadError
from smkc.recording import Recording, read

INDEX = pd.date_range("2026-01-01", periods=3, freq="D")
EXPECTED = Recording.from_rows(INDEX.to_numpy(), [{"a": 1}, {}, {"a": 3}])
CELLS = [1.0, np.nan, 3.0]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": CELLS}, index=INDEX),
        pd.DataFrame({"a": CELLS}, index=INDEX.tz_localize("UTC")),
        pd.DataFrame({"a": CELLS}, index=INDEX.to_period()),
        pd.DataFrame({"a": CELLS, "time": INDEX}, index=[7, 3, 5]),
        pd.DataFrame({"a": CELLS, "time": INDEX.to_period()}),
        pd.DataFrame({"a": CELLS, "date": INDEX}).set_index("date"),
        pd.DataFrame({"a": pd.arrays.SparseArray(CELLS), "time": INDEX}),
        pd.DataFrame({"a": pd.array([1, None, 3], "Int64"), "time": INDEX}),
        pd.DataFrame({"a": pd.Categorical(["1", None, "3"]), "time": INDEX}),
        pd.DataFrame({"a": np.array([1, None, "3"], object), "time": INDEX}),
        pl.DataFrame({"a": CELLS, "time": INDEX.to_numpy()}),
        pl.LazyFrame({"a": [1, None, 3], "time": INDEX.to_numpy()}),
        pa.table({"a": [1, None, 3], "time": INDEX}).to_batches()[0],
        pa.table({"a": pa.array([1, None, 3], pa.decimal128(9, 2)), "time": INDEX}),
        pa.table({"a": pa.array(["1", None, "3"], pa.large_string()), "time": INDEX}),
        pa.table({"a": pa.array([1, None, 3], pa.float16()), "time": INDEX}),
        {"a": np.ma.masked_array([1, 2, 3], [0, 1, 0]), "time": INDEX},
        {"a": np.array(CELLS, np.longdouble), "time": INDEX},
        {"a": (1, None, 3), "time": list(INDEX)},
    ],
)
def test_kinds_of_frames(frame):
    assert read(frame) == EXPECTED


class OnlyArrow:
    """A frame of some other library: all it has is the Arrow stream."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def test_any_frame_with_an_arrow_stream():
    assert read(OnlyArrow(pa.table({"time": [1], "a": [2]}))).row(0) == {"a": 2.0}


def test_text_types_are_alike():
    texts = pa.array(["a", "b", "a"])
    for kind in (pa.large_string(), pa.string_view(), pa.binary(), pa.dictionary("i1", "string")):
        table = pa.table({"time": [1, 1, 2], "metric": texts.cast(kind), "value": [1, 2, 3]})
        assert read(table) == Recording.from_rows([1, 2], [{"a": 1, "b": 2}, {"a": 3}])


def test_index_levels_are_columns():
    index = pd.MultiIndex.from_product([[1, 2], ["x", "y"]], names=["time", "host"])
    by_host = read(pd.DataFrame({"a": [1, 2, 3, 4]}, index=index), entity="host")
    assert by_host["y"] == Recording.from_rows([1, 2], [{"a": 2}, {"a": 4}])


def test_column_names_become_text():
    assert read(pd.DataFrame({"time": [1], 5: [2]})).names == ("5",)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1, 2, 3]], columns=["time", "a", "a"]),
        pd.DataFrame([[1, 2, 3]], columns=["time", "a", "a"]).set_index("time"),
        pa.table([pa.array([1])] * 3, names=["time", "a", "a"]),
        {"time": [1], 5: [1], "5": [2]},
    ],
    ids=["pandas", "pandas index", "arrow", "dict"],
)
def test_two_columns_of_one_name(frame):
    with pytest.raises(ReadError, match=r"more than one column called '[a5]'"):
        read(frame)


@pytest.mark.parametrize("source", [None, 5, np.zeros((3, 2, 2)), object()])
def test_what_cannot_be_read(source):
    with pytest.raises(ReadError, match="cannot be read"):
        read(source)


@pytest.mark.parametrize("source", [{}, {"time": [1, 2], "a": [1]}, {"time": [1], "a": 5}])
def test_dicts_that_are_no_tables(source):
    with pytest.raises(ReadError, match="the dict of arrays"):
        read(source)


def test_text_that_is_not_utf8():
    with pytest.raises(ReadError, match="cannot be read"):
        read({"time": [1], "metric": [b"\xff"], "value": [1]}, layout="long")
