"""Recording: canonical order, parts, joining, equality and what it says of itself."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import recordings

import smkc
from smkc.errors import InputError, MissingExtraError
from smkc.recording import Notes, Recording


@pytest.fixture
def small():
    return Recording.from_rows([0, 10, 20], [{"b": 2.0, "a": 1.0}, {}, {"c": 3.0, "a": 4.0}])


def test_is_canonical(small):
    assert small.names == ("a", "b", "c")
    assert small.indptr.tolist() == [0, 2, 2, 4]
    assert small.codes.tolist() == [0, 1, 0, 2]
    assert small.values.tolist() == [1.0, 2.0, 4.0, 3.0]
    assert (small.codes.dtype, small.values.dtype) == (np.int32, np.float32)
    assert small.cardinality.tolist() == [2, 0, 2]
    assert small.row_numbers.tolist() == [0, 0, 2, 2]


def test_from_observations_sorts_keeps_the_last_and_counts():
    rec = Recording.from_observations(
        np.array([5, 7]),
        rows=np.array([1, 0, 1, 0, 0, 1]),
        codes=np.array([0, 1, 0, 1, 0, 2]),
        values=np.array([1.0, 2.0, 3.0, 4.0, np.inf, np.nan]),
        names=["z", "a", "never"],
    )
    assert rec.names == ("a", "z")
    assert [rec.row(0), rec.row(1)] == [{"a": 4.0}, {"z": 3.0}]
    assert rec.notes == Notes(duplicates=2, infinities=1, missing=1)


def test_values_beyond_float32_count_as_infinite():
    rec = Recording.from_rows([0], [{"huge": 1e39, "large": 1e38, "tiny": 1e-45}])
    assert rec.names == ("large", "tiny")
    assert rec.notes.infinities == 1
    assert 0 < rec.row(0)["tiny"] < 1e-44


def test_one_name_given_twice_is_one_variable():
    rec = Recording.from_observations(
        np.array([0]), np.array([0, 0]), np.array([0, 1]), np.array([1.0, 2.0]), ["a", "a"]
    )
    assert (rec.names, rec.row(0), rec.notes.duplicates) == (("a",), {"a": 2.0}, 1)


def test_times_must_increase():
    with pytest.raises(InputError, match="row 2 is at 1, not after 3"):
        Recording.from_rows([1, 3, 1], [{}, {}, {}])
    with pytest.raises(InputError, match="2 times for 1 rows"):
        Recording.from_rows([1, 3], [{}])


def test_rows_are_slices_that_share_memory(small):
    assert small.rows(0) == small
    assert small.rows(1, 1).times.tolist() == []
    last = small.rows(-1)
    assert (len(last), last.row(0)) == (1, {"a": 4.0, "c": 3.0})
    assert np.shares_memory(last.values, small.values)


def test_between_takes_the_start_and_leaves_the_end(small):
    assert small.between(0, 20).times.tolist() == [0, 10]
    assert small.between(1).times.tolist() == [10, 20]
    assert small.between(end=0.5).times.tolist() == [0]
    assert len(small.between(20, 0)) == 0
    dates = Recording.from_rows(["2026-01-01", "2026-01-02"], [{"a": 1}, {"a": 2}])
    assert dates.between("2026-01-01T12:00:00").row(0) == {"a": 2.0}
    with pytest.raises(InputError, match="is not a date"):
        dates.between(5)


def test_select_keeps_rows(small):
    assert small.select(["a"]).times.tolist() == [0, 10, 20]
    assert small.select("a") == small.select(lambda name: name == "a")
    assert small.select(["c", "a"]).row(2) == {"a": 4.0, "c": 3.0}
    with pytest.raises(InputError, match="no variable 'd'"):
        small.select(["d"])


def test_rename(small):
    assert small.rename({"a": "z"}).row(0) == {"b": 2.0, "z": 1.0}
    with pytest.raises(InputError, match="two variables would be called 'b'"):
        small.rename({"a": "b"})


def test_trace_has_nan_where_nothing_was_observed(small):
    assert np.array_equal(small.trace("c"), [np.nan, np.nan, 3.0], equal_nan=True)


def test_a_table_of_all_variables_or_of_every_second_row_of_some(small):
    whole = np.column_stack([small.trace(name) for name in small.names])
    np.testing.assert_array_equal(small.table(), whole)
    np.testing.assert_array_equal(small.table([2, 0], step=2), whole[::2, [2, 0]])
    assert small.table([]).shape == (len(small), 0)


def test_with_values(small):
    assert small.with_values(small.values) == small
    changed = small.with_values(np.array([1, np.nan, 4, 3], np.float32))
    assert changed == small.select(["a", "c"])


def test_append_and_concat(small):
    longer = small.append(30, {"d": 5.0, "a": 6.0})
    assert longer.rows(0, 3) == small
    assert longer.row(3) == {"a": 6.0, "d": 5.0}
    with pytest.raises(InputError, match="times must increase"):
        small.append(20, {})
    with pytest.raises(InputError, match="at least one"):
        Recording.concat([])
    dates = Recording.from_rows(["2026-01-01"], [{"a": 1}])
    with pytest.raises(InputError, match="cannot be joined"):
        Recording.concat([small, dates])


def test_append_to_nothing():
    empty = Recording.from_rows([], [])
    assert empty.append(3, {"a": 1.0}) == Recording.from_rows([3], [{"a": 1.0}])
    assert repr(empty) == "Recording(0 rows, 0 variables)"


def test_equality_looks_at_observations_only(small):
    unused = Recording(small.times, small.indptr, small.codes, small.values, (*small.names, "z"))
    assert unused == small
    assert small != small.rows(0, 2)
    assert small != small.with_values(small.values + 1)
    assert small != Recording.from_rows([0.0, 10.0, 20.0], [{"a": 1}, {}, {}])
    assert small != "something else"
    with pytest.raises(TypeError):
        hash(small)


def test_repr_names_what_was_dropped():
    rec = Recording.from_observations(
        np.array(["2026-01-01T00:00:00.5"], "M8[ns]"),
        np.array([0, 0, 0]),
        np.array([0, 0, 1]),
        np.array([1.0, 2.0, np.inf]),
        ["a", "b"],
        Notes(ignored=("label", "")),
    )
    assert repr(rec) == (
        "Recording(1 rows, 1 variables, 1 observations, 1 per row, times 2026-01-01T00:00:00.5Z to "
        "2026-01-01T00:00:00.5Z, 1 duplicates dropped, 1 infinities dropped, "
        "ignored label, (unnamed))"
    )


def test_row_out_of_range(small):
    assert small.row(-1) == small.row(2)
    with pytest.raises(InputError, match="no row 3"):
        small.row(3)


@given(recordings(), st.integers(0, 8))
def test_concat_of_parts_is_the_whole(whole, k):
    assert Recording.concat([whole.rows(0, k), whole.rows(k)]) == whole
    grown = whole.rows(0, k)
    for at in range(len(grown), len(whole)):
        grown = grown.append(whole.times[at], whole.row(at))
    assert grown == whole


def test_long_tables_keep_empty_rows(small):
    table = small.to_arrow()
    assert table.column_names == ["time", "variable", "value"]
    assert table.column("time").to_pylist() == [0, 0, 10, 20, 20]
    assert table.column("variable").to_pylist() == ["a", "b", None, "a", "c"]
    assert table.column("value").to_pylist() == [1.0, 2.0, None, 4.0, 3.0]
    assert small.to_pandas()["value"].tolist()[:2] == [1.0, 2.0]
    assert small.to_polars()["variable"].to_list() == ["a", "b", None, "a", "c"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_missing_library_is_named(small, monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=f"pip install {library}"):
        getattr(small, f"to_{library}")()


def test_a_signalling_nan_is_missing_like_any_other():
    # Damaged files hold NaNs whose conversion to float32 is an invalid operation to the processor.
    signalling = np.array([0x7FF0000000000001], np.uint64).view(np.float64)
    values = np.concatenate([[1.0], signalling])
    one = Recording.from_observations(np.arange(2), np.arange(2), np.zeros(2, int), values, ["a"])
    assert one.n_observations == 1
    assert one.notes.missing == 1
    assert smkc.read({"time": np.arange(2), "a": values}).row(1) == {}
