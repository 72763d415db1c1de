"""The same observations, however they are written down, give the same recording."""

import csv
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import TIME, long_columns, recordings, wide_columns

from smkc.recording import Recording, read

LONG = {"layout": "long", "time": TIME, "variable": "variable", "value": "value"}
WIDE = {"layout": "wide", "time": TIME}
SAME_TIMES = {"time_unit": "step", "ignore": ()}


def arrow_table(columns):
    times = np.array(columns[TIME])
    return pa.table({**columns, TIME: pa.array(times)})


def read_long(source):
    return read(source, **LONG, **SAME_TIMES)


def read_wide(source):
    return read(source, **WIDE, **SAME_TIMES)


@given(recordings())
def test_long_equals_wide(expected):
    assert read_long(arrow_table(long_columns(expected))) == expected
    assert read_wide(arrow_table(wide_columns(expected))) == expected


@given(recordings(), st.randoms(use_true_random=False))
def test_order_of_rows_and_columns_changes_nothing(expected, random):
    long, wide = arrow_table(long_columns(expected)), arrow_table(wide_columns(expected))
    for table, reader in ((long, read_long), (wide, read_wide)):
        rows, columns = list(range(len(table))), list(table.column_names)
        random.shuffle(rows)
        random.shuffle(columns)
        assert reader(table.select(columns).take(rows)) == expected


@given(recordings(), st.integers(0, 8))
def test_parts_join_to_the_whole(whole, k):
    assert Recording.concat([whole.rows(0, k), whole.rows(k)]) == whole
    tables = [part.to_arrow() for part in (whole.rows(k), whole.rows(0, k))]
    assert read_long(pa.concat_tables(tables, promote_options="default")) == whole


@given(recordings())
def test_what_leaves_comes_back(expected):
    for table in (expected.to_arrow(), expected.to_pandas(), expected.to_polars()):
        assert read(table, **SAME_TIMES) == expected


@given(recordings())
def test_every_kind_of_frame_is_alike(expected):
    for columns, reader in (
        (long_columns(expected), read_long),
        (wide_columns(expected), read_wide),
    ):
        table = arrow_table(columns)
        assert reader(columns) == expected
        assert reader({name: np.array(cells) for name, cells in columns.items()}) == expected
        assert reader(table) == expected
        assert reader(table.to_pandas()) == expected
        assert reader(pl.from_arrow(table)) == expected
        assert reader(pl.from_arrow(table).lazy()) == expected
        assert reader(pd.DataFrame({n: pd.Series(c) for n, c in columns.items()})) == expected


@given(recordings())
def test_every_kind_of_file_is_alike(expected):
    for columns, reader in (
        (long_columns(expected), read_long),
        (wide_columns(expected), read_wide),
    ):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder)
            pq.write_table(arrow_table(columns), path / "a.parquet", row_group_size=3)
            assert reader(path / "a.parquet") == expected
            write_csv(path / "a.csv", columns)
            assert reader(path / "a.csv") == expected


@given(recordings(min_rows=2), st.integers(1, 7))
def test_files_of_a_folder_are_joined(expected, k):
    parts = [expected.rows(0, k), expected.rows(k)]
    with tempfile.TemporaryDirectory() as folder:
        for at, part in enumerate(parts):
            if len(part):
                write_csv(Path(folder) / f"{at}.csv", wide_columns(part))
        assert read_wide(folder) == expected
        assert read_wide(f"{folder}/*.csv") == expected


@given(recordings(), st.data())
def test_a_never_observed_variable_changes_nothing(expected, data):
    columns = wide_columns(expected)
    empty = data.draw(st.sampled_from(["unseen", "zzz", "0"]).filter(lambda n: n not in columns))
    missing = data.draw(st.sampled_from([None, float("nan"), "", "null", "NaN"]))
    columns[empty] = [missing] * len(expected)
    assert read_wide(columns) == expected


@pytest.mark.parametrize("values", [np.float32, np.float64, np.int16, np.uint64, np.bool_])
def test_number_types_are_alike(values, rng):
    numbers = rng.integers(0, 2, 20).astype(values)
    actual = read({"time": np.arange(20), "a": numbers})
    assert np.array_equal(actual.values, numbers.astype(np.float32))


def write_csv(path, columns):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for cells in zip(*columns.values(), strict=True):
            writer.writerow("" if cell is None else str(cell) for cell in cells)
