"""Read: what becomes of observations, and what is said of input that cannot be used."""

from datetime import datetime

import numpy as np
import pyarrow as pa
import pytest

from smkc.errors import InputError, InputWarning, ReadError, SettingError
from smkc.recording import Recording, read

LONG = {
    "time": [2, 1, 1, 2],
    "metric": ["cpu", "cpu", "mem", "cpu"],
    "value": [0.5, 0.25, 1.0, 0.75],
    "pod": ["a", "a", None, "a"],
}


def test_long_with_labels():
    rec = read(LONG)
    assert rec.names == ('cpu{pod="a"}', "mem")
    assert rec.row(0) == {'cpu{pod="a"}': 0.25, "mem": 1.0}
    assert rec.row(1) == {'cpu{pod="a"}': 0.75}
    assert rec.notes.duplicates == 1


def test_labels_can_be_chosen():
    assert read(LONG, labels=[]).names == ("cpu", "mem")
    assert read(LONG, labels=[]).notes.ignored == ("pod",)
    numbered = {**LONG, "shard": [1, 1, 2, 2]}
    assert read(numbered, labels=["shard"]).names == (
        *('cpu{shard="1"}', 'cpu{shard="2"}', 'mem{shard="2"}'),
    )
    with pytest.raises(ReadError, match=r"labels=\['shard'\].*ignore=\['shard'\]"):
        read(numbered)


def test_many_labels_tell_variables_apart(rng):
    n = 400
    labels = {f"l{at}": rng.choice(["x", "y", ""], n).tolist() for at in range(5)}
    table = {"time": np.arange(n), "metric": ["m"] * n, "value": np.arange(n), **labels}
    rec = read(table)
    for at in range(n):
        written = [f'{name}="{cells[at]}"' for name, cells in labels.items() if cells[at]]
        expected = f"m{{{','.join(written)}}}" if written else "m"
        assert rec.row(at) == {expected: float(at)}


def test_wide_names_are_canonical():
    rec = read({"time": [1], 'm{b="2",a="1"}': [3.0]})
    assert rec.names == ('m{a="1",b="2"}',)
    with pytest.raises(ReadError, match="are the same variable"):
        read({"time": [1], 'm{b="2",a="1"}': [3.0], 'm{a="1",b="2"}': [3.0]})


def test_entities():
    table = {"time": [1, 1, 2, 3], "host": ["b", "a", "b", "a"], "cpu": [1, 2, 3, None]}
    by_host = read(table, entity="host")
    assert list(by_host) == ["a", "b"]
    assert by_host["a"].times.tolist() == [1, 3]
    assert by_host["a"].row(1) == {}
    assert by_host["b"] == Recording.from_rows([1, 2], [{"cpu": 1}, {"cpu": 3}])
    long = {**LONG, "host": [7, 7, 8, 8]}
    assert read(long, entity="host", step=1)["8"].names == ('cpu{pod="a"}', "mem")
    with pytest.raises(ReadError, match=r"row 1 .*'host'.* names no entity"):
        read({"time": [1, 2], "host": ["a", ""], "cpu": [1, 2]}, entity="host")
    with pytest.raises(ReadError, match="no column 'node'"):
        read(table, entity="node")
    with pytest.raises(SettingError, match="one entity"):
        read(by_host["a"], entity="host")


def test_ground_truth_is_left_out_and_named():
    rec = read({"time": [1], "a": [1], "label": [0]})
    assert (rec.names, rec.notes.ignored) == (("a",), ("label",))
    assert read({"time": [1], "a": [1], "label": [0]}, ignore=()).names == ("a", "label")
    assert read({"time": [1], "a": [1], "b": ["x"]}, ignore="b").notes.ignored == ("b",)


def test_times_that_go_back_are_sorted():
    rec = read({"time": [3, 1, 2], "a": [3, 1, 2]})
    assert rec == Recording.from_rows([1, 2, 3], [{"a": 1}, {"a": 2}, {"a": 3}])


def test_duplicates_keep_the_last():
    rec = read({"time": [1, 0, 1], "a": [1, 2, 3], "b": [4, 5, None]})
    assert rec.row(1) == {"a": 3.0, "b": 4.0}
    assert (rec.notes.duplicates, rec.notes.missing) == (1, 1)


@pytest.mark.parametrize("huge", [np.inf, -np.inf, "inf", "1e999"])
def test_infinities_count_as_missing(huge):
    rec = read({"time": [1, 2], "a": [huge, 1.0]})
    assert rec == Recording.from_rows([1, 2], [{}, {"a": 1}])
    assert rec.notes.infinities == 1


@pytest.mark.parametrize("layout", ["wide", "long"])
def test_values_beyond_float32_are_left_out_and_said(layout):
    wide = {"time": [1, 2], "a": [1e39, 1.0], "b": [1.0, np.inf]}
    long = {"time": [1, 1, 2, 2], "metric": list("abab"), "value": [1e39, 1.0, 1.0, np.inf]}
    with pytest.warns(InputWarning, match=r"beyond 3.4e38.*in 'a'; give them in a larger unit"):
        rec = read(wide if layout == "wide" else long)
    assert rec == Recording.from_rows([1, 2], [{"b": 1}, {"a": 1}])
    assert (rec.notes.infinities, rec.notes.beyond) == (2, ("a",))


def test_columns_of_text_are_left_out_and_named(tmp_path):
    (tmp_path / "m.csv").write_text("time,state,a,note\n1,busy,1.5,-\n2,,2.5,\n3,idle,n/a,ok\n")
    with pytest.warns(InputWarning, match=r"columns of text are left out of .*'state', 'note'"):
        rec = read(tmp_path / "m.csv")
    assert (rec.names, rec.notes.ignored) == (("a",), ("state", "note"))
    read(tmp_path / "m.csv", ignore=["state", "note"])  # which warns of nothing
    with pytest.raises(ReadError, match=r"row 0 .*'busy' where a number belongs"):
        read({"time": [1, 2], "state": ["busy", "idle"]})


def test_text_that_tells_rows_of_one_time_apart_is_asked_about():
    table = {"time": [1, 1, 2, 2], "host": ["a", "b", "a", "b"], "load": [1.0, 2.0, 3.0, 4.0]}
    with pytest.raises(ReadError, match=r"'host' of .* say entity='host' to read one recording"):
        read(table)
    assert set(read(table, entity="host")) == {"a", "b"}


def test_dates_in_a_format_of_their_own(tmp_path):
    (tmp_path / "us.csv").write_text("time,a\n01/31/2026 1:05 PM,1\n02/01/2026 12:00 AM,2\n")
    rec = read(tmp_path / "us.csv", time_format="%m/%d/%Y %I:%M %p")
    assert rec.times.astype("datetime64[s]").tolist() == [
        datetime(2026, 1, 31, 13, 5), datetime(2026, 2, 1),
    ]  # fmt: skip
    with pytest.raises(ReadError, match=r"row 0 .*not ISO 8601.*time_format='%m/%d/%Y %H:%M'"):
        read(tmp_path / "us.csv")
    with pytest.raises(ReadError, match=r"row 1 .*does not match.*or time_format='%d/%m/%Y'"):
        read({"time": ["31/01/2026", "02/31/2026"], "a": [1, 2]}, time_format="%d/%m/%Y")
    zoned = read({"time": ["31/01/2026 +0200"], "a": [1]}, time_format="%d/%m/%Y %z")
    assert zoned.times[0] == np.datetime64("2026-01-30T22:00")


def test_huge_and_tiny_values_stay():
    rec = read({"time": [1, 2, 3], "a": [1e38, 1e-45, -3e38]})
    assert rec.values.tolist() == np.array([1e38, 1e-45, -3e38], np.float32).tolist()


@pytest.mark.parametrize("missing", ["", " ", "NaN", "nan", "null", "NULL", "None", "N/A", "-"])
def test_words_for_missing(missing):
    rec = read({"time": [1, 2], "a": [missing, " 1.5 "]})
    assert rec == Recording.from_rows([1, 2], [{}, {"a": 1.5}])
    assert rec.notes.missing == 1


def test_truth_values_are_numbers():
    expected = Recording.from_rows([1, 2], [{"a": 1}, {"a": 0}])
    assert read({"time": [1, 2], "a": [True, False]}) == expected
    assert read({"time": [1, 2], "a": ["True", "false"]}) == expected


@pytest.mark.parametrize("bad", ["x", "1,5", "0x10", "1_000", "12 kg", "--"])
def test_text_where_numbers_belong(bad):
    with pytest.raises(ReadError, match=f"row 2 .*column 'a' .*'{bad}' where a number belongs"):
        read({"time": [1, 2, 3], "b": [1, 2, 3], "a": ["1", "2", bad]})
    with pytest.raises(ReadError, match=f"row 1 .*column 'value' .*'{bad}'"):
        read({"time": [1, 2], "metric": ["a", "b"], "value": ["1", bad]})


def test_the_row_is_counted_over_batches(tmp_path):
    rows = [f"{at},{'oops' if at == 400_000 else '0.123456'}" for at in range(400_010)]
    (tmp_path / "a.csv").write_text("time,a\n" + "\n".join(rows))
    with pytest.raises(ReadError, match=r"row 400000 .*'oops'"):
        read(tmp_path / "a.csv")


@pytest.mark.parametrize(
    "cells",
    [
        [[1], [2]],
        [{"x": 1}, {"x": 2}],
        np.array([1, 2], "m8[s]"),
        np.array([1, 2], "M8[s]"),
        np.array([1j, 2]),
        np.eye(2),
        [object(), 1],
    ],
)
def test_what_is_no_number_is_named(cells):
    with pytest.raises(ReadError, match="column 'a'"):
        read({"time": [1, 2], "a": cells})


def test_a_value_without_a_variable():
    with pytest.raises(ReadError, match=r"row 1 .* is empty but the row has a value"):
        read({"time": [1, 2], "metric": ["a", None], "value": [1, 2]})


def test_nothing_observed():
    for table in ({"time": [], "a": []}, {"time": [], "metric": [], "value": []}):
        with pytest.raises(ReadError, match="holds no observation"):
            read(table, layout="long" if "metric" in table else "auto")
    with pytest.raises(ReadError, match="2 values are missing"):
        read({"time": [1, 2], "a": [None, np.nan]})
    with pytest.raises(ReadError, match="no observation"):
        read(pa.table({"time": pa.array([1]), "a": pa.nulls(1)}))


def test_one_row_one_variable():
    rec = read({"time": [5], "a": [1.5]})
    assert (len(rec), rec.names, rec.row(0)) == (1, ("a",), {"a": 1.5})


def test_a_constant_is_read_like_any_other():
    assert read({"time": range(9), "a": [7] * 9}).trace("a").tolist() == [7.0] * 9


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["long", "wide"])
def test_a_hundred_thousand_variables_in_one_row(layout):
    names = [f'cpu{{pod="web-{at}"}}' for at in range(100_000)]
    if layout == "long":
        n = len(names)
        table = {"time": np.ones(n), "metric": names, "value": np.arange(n)}
    else:
        table = {"time": [1.0], **{name: [at] for at, name in enumerate(names)}}
    rec = read(table)
    assert rec.cardinality.tolist() == [100_000]
    assert rec.select([names[77_777]]).values.tolist() == [77_777.0]


def test_names_with_any_unicode():
    names = ["\u00e9t\u00e9", "\U0001f525", "\u0645\u0631\u062d\u0628\u0627", "a\x00b", "a\nb", " "]
    wide = read({"time": [1], **{name: [at] for at, name in enumerate(names)}})
    long = read({"time": [1] * 6, "metric": names, "value": range(6)})
    assert wide == long
    assert set(wide.names) == set(names)


@pytest.mark.parametrize(
    "wishes",
    [
        {"layout": "tall"},
        {"layout": "wide", "variable": "metric"},
        {"time_unit": "minutes"},
        {"time": "metric", "variable": "metric"},
        {"step": "often"},
    ],
)
def test_settings_that_make_no_sense(wishes):
    with pytest.raises(SettingError):
        read(LONG, **wishes)


def test_every_error_is_a_value_error():
    with pytest.raises(ValueError, match="no column"):
        read({"a": ["x"]})
    assert issubclass(ReadError, InputError)


# ------------------------------------------------------------------ in memory, without times


def test_an_array_is_read_with_row_numbers_for_times(rng):
    values = rng.normal(size=(5, 2))
    values[2, 1] = np.nan
    recording = read(values)
    assert recording.names == ("v0", "v1")
    assert recording.times.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(recording.trace("v1"), values[:, 1].astype(np.float32))
    assert read(values[:, 0]).names == ("v0",)
    with pytest.raises(ReadError, match="3 dimensions"):
        read(values[None])


def test_a_list_of_dicts_is_read_row_by_row():
    rows = [{"cpu": 1.0}, {"cpu": 2.0, "mem": 3.0}, {}]
    recording = read(rows)
    assert recording.names == ("cpu", "mem")
    assert recording.cardinality.tolist() == [1, 2, 0][: len(recording)]
    timed = read([{"time": 10, "cpu": 1.0}, {"time": 20, "cpu": 2.0}])
    assert timed.times.tolist() == [10, 20]
    with pytest.raises(
        ReadError, match=r"item 1 of the list is of type int; give one dict per row"
    ):
        read([{"cpu": 1.0}, 3])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_and_series_without_times_get_row_numbers(library):
    module = pytest.importorskip(library)
    frame = module.DataFrame({"cpu": [1.0, 2.0], "mem": [3.0, None]})
    assert read(frame).times.tolist() == [0, 1]
    assert read(frame).names == ("cpu", "mem")
    series = module.Series(name="cpu", data=[1.0, 2.0]) if library == "pandas" else frame["cpu"]
    assert read(series).names == ("cpu",)


def test_a_dated_series_keeps_its_dates():
    pandas = pytest.importorskip("pandas")
    dates = pandas.date_range("2026-01-01", periods=3, freq="h")
    recording = read(pandas.Series([1.0, 2.0, 3.0], index=dates))
    assert recording.names == ("value",)
    assert recording.times[1] == np.datetime64("2026-01-01T01:00")


@pytest.mark.parametrize(
    "frame",
    [
        {"when": [1_700_000_000, 1_700_000_060], "cpu": [1.0, 2.0]},
        {"host": ["a", "b"], "cpu": [1.0, 2.0]},
    ],
    ids=["seconds since 1970", "text"],
)
def test_what_may_hold_times_or_names_is_asked_about(frame):
    with pytest.raises(ReadError, match=r"no column that is known to hold times"):
        read(frame)
