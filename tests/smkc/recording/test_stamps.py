"""Stamps: time columns as people have them."""

from datetime import date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from smkc.errors import ReadError, SettingError
from smkc.recording import read

NOON = "2023-11-14T22:13:20"
SECONDS = 1_700_000_000


def times_of(times, **wishes):
    return read({"time": times, "a": np.arange(len(times))}, **wishes).times


@pytest.mark.parametrize(
    "times",
    [
        [SECONDS],
        [float(SECONDS)],
        [str(SECONDS)],
        [f"{SECONDS}.0"],
        [SECONDS * 10**3],
        [SECONDS * 10**6],
        [SECONDS * 10**9],
        [SECONDS * 1e3],
        np.array([SECONDS], np.uint32),
        [NOON],
        [NOON + "Z"],
        [f" {NOON} "],
        ["2023-11-15T00:13:20+02:00"],
        ["20231114T221320"],
        [datetime.fromisoformat(NOON)],
        pd.Series(pd.to_datetime([NOON + "Z"])).dt.tz_convert("Asia/Tokyo"),
        pl.Series([datetime.fromisoformat(NOON)]),
        pa.array([SECONDS], pa.timestamp("s")),
        pa.array([NOON]).dictionary_encode(),
        np.array([NOON], "M8[s]"),
    ],
)
def test_one_moment_written_in_many_ways(times):
    assert times_of(times).tolist() == np.array([NOON], "M8[ns]").tolist()


def test_zones_may_be_mixed_and_missing():
    times = [NOON, NOON + "Z", "2023-11-14T23:13:21+01:00"]
    rec = read({"time": times, "a": [1, 2, 3]})
    assert (len(rec), rec.notes.duplicates) == (2, 1)


def test_dates():
    expected = np.array(["2026-01-31", "2026-02-01"], "M8[ns]")
    assert np.array_equal(times_of([date(2026, 1, 31), date(2026, 2, 1)]), expected)
    assert np.array_equal(times_of(["2026-01-31", "2026-02-01"]), expected)
    assert np.array_equal(times_of(np.array(["2026-01-31", "2026-02-01"], "M8[D]")), expected)


def test_small_numbers_count_steps():
    assert times_of([0, 10**8 - 1]).dtype == np.int64
    assert times_of(["0", "7"]).tolist() == [0, 7]
    assert times_of([0.0, 0.5]).dtype == np.float64
    assert times_of([5, SECONDS]).dtype == np.int64  # not all in one range
    assert times_of([10**8]).dtype.kind == "M"


def test_the_unit_can_be_said():
    assert times_of([SECONDS], time_unit="step").tolist() == [SECONDS]
    assert times_of([1], time_unit="s")[0] == np.datetime64("1970-01-01T00:00:01")
    assert times_of([1], time_unit="ms")[0] == np.datetime64("1970-01-01T00:00:00.001")
    assert times_of([1.5], time_unit="s")[0] == np.datetime64("1970-01-01T00:00:01.5")
    assert times_of([NOON], time_unit="ms")[0] == np.datetime64(NOON)
    with pytest.raises(SettingError, match="time_unit='hours'"):
        times_of([1], time_unit="hours")


def test_fractions_of_a_second_survive():
    assert times_of([SECONDS + 0.123])[0] == np.datetime64(NOON + ".123")


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([1, None], r"row 1 .*'time'.* holds no time"),
        ([1.0, float("nan")], "row 1 .* holds no time"),
        (["2026-01-01", " "], "row 1 .* holds no time"),
        ([NOON, "teatime"], "row 1 .*'teatime' is not ISO 8601"),
        (["teatime", "1"], "row 0 .*'teatime'"),
        ([True, False], "type bool"),
        ([[1], [2]], "type list"),
        (np.array([1, 2], "m8[s]"), "type duration"),
        (np.array(["3000-01-01"], "M8[s]"), "outside the years"),
        (np.array([2**64 - 1], np.uint64), "no usable time"),
    ],
)
def test_what_is_no_time_is_named(times, message):
    with pytest.raises(ReadError, match=message):
        times_of(times)


def test_a_time_too_far_for_its_unit():
    with pytest.raises(ReadError, match="time_unit"):
        times_of([10**12], time_unit="s")
    with pytest.raises(ReadError, match="time_unit"):
        times_of([1e300], time_unit="ms")


def test_dates_and_numbers_do_not_mix(tmp_path):
    (tmp_path / "a.csv").write_text("time,a\n1,1\n")
    (tmp_path / "b.csv").write_text("time,a\n2026-01-01,1\n")
    with pytest.raises(ReadError, match="dates in one part"):
        read(tmp_path)
