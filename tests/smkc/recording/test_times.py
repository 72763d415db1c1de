"""Times: what names a moment, and what does not."""

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest

from smkc.errors import InputError
from smkc.recording.times import as_times, moment, show_time

NOON = np.datetime64("2026-01-31T12:00:00", "ns")


@pytest.mark.parametrize(
    "same",
    [
        "2026-01-31T12:00:00",
        "2026-01-31 12:00",
        " 2026-01-31T12:00:00Z ",
        "2026-01-31T14:00:00+02:00",
        "20260131T120000",
        datetime(2026, 1, 31, 12),
        datetime(2026, 1, 31, 12, tzinfo=UTC),
        datetime(2026, 1, 31, 7, tzinfo=timezone(timedelta(hours=-5))),
        np.datetime64("2026-01-31T12", "h"),
        pd.Timestamp("2026-01-31T13:00:00", tz="Europe/Berlin"),
    ],
)
def test_every_way_to_write_a_moment(same):
    assert as_times([same]) == NOON
    assert as_times(np.array([same], object)) == NOON
    assert moment(same, np.dtype("M8[ns]")) == NOON


def test_dates_begin_at_midnight():
    assert as_times([date(2026, 1, 31)]) == np.datetime64("2026-01-31", "ns")


def test_nanoseconds_are_kept():
    exact = np.datetime64("2026-01-31T12:00:00.123456789", "ns")
    assert as_times(["2026-01-31T12:00:00.123456789Z"]) == exact
    assert as_times([pd.Timestamp("2026-01-31T12:00:00.123456789")]) == exact
    assert show_time(exact) == "2026-01-31T12:00:00.123456789Z"


def test_numbers_stay_numbers():
    assert as_times([1, 2]).dtype == np.int64
    assert as_times(np.array([1, 2], np.uint8)).dtype == np.int64
    assert as_times([1.5, 2]).dtype == np.float64


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (["yesterday"], "'yesterday' is not ISO 8601"),
        ([datetime(3000, 1, 1)], "outside the years 1678 to 2262"),
        (np.array(["9999"], "M8[Y]"), "outside the years"),
        (np.array(["2026", "NaT"], "M8[D]"), "row 1 has no time"),
        ([pd.Timestamp("2026-01-01"), pd.NaT], "row 1 has no time"),
        ([0.0, np.inf], "row 1 has no time"),
        ([True], "type bool"),
        ([None], "type object"),
        ([[1, 2]], r"shape \(1, 2\)"),
        ([2**63], "does not fit 64 bits"),
    ],
)
def test_what_is_no_time_is_named(bad, message):
    with pytest.raises(InputError, match=message):
        as_times(bad)


def test_moment_of_plain_numbers():
    assert moment(3, np.dtype(np.int64)) == 3
    assert moment(2**53 + 1, np.dtype(np.int64)) == 2**53 + 1
    assert moment("3.5", np.dtype(np.int64)) == 3.5
    for bad in ("noon", None, np.nan):
        with pytest.raises(InputError, match="is not a number"):
            moment(bad, np.dtype(np.int64))
    for bad in (3, None, np.datetime64("NaT", "ns")):
        with pytest.raises(InputError, match="is not a date"):
            moment(bad, np.dtype("M8[ns]"))


def test_show_time():
    assert show_time(NOON) == "2026-01-31T12:00:00Z"
    assert show_time(np.int64(7)) == "7"
    assert show_time(np.float64(1700000000.25)) == "1700000000.25"
