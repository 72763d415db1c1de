"""The local clock and the holidays of seasons, against plain arithmetic with dates."""

import sys
import zoneinfo
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import naive_variables as naive

from smkc.errors import SettingError
from smkc.evidence.variables.calendar import DAY, WEEK, Calendar
from smkc.evidence.variables.seasons import Seasons

# With summer time of an hour, of half an hour and in winter, with offsets of quarters of an hour,
# without changes, and one that left out a whole day.
ZONES = (
    *("UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Europe/Dublin"),
    *("Australia/Lord_Howe", "America/St_Johns", "Asia/Kolkata", "Asia/Kathmandu"),
    *("Africa/Casablanca", "Pacific/Apia"),
)

# Seconds since 1970, from 1684 to 2255, in quarters of a second.
TIMES = st.integers(-36_000_000_000, 36_000_000_000).map(lambda quarters: quarters / 4)


def slots(calendar, period, n_slots, clocks):
    """Return the slots by the code that rows go through: what is usual in a slot is its number."""
    seasons = Seasons(
        columns=np.array([0]),
        period=np.array([period]),
        n_slots=np.array([n_slots]),
        usual=np.arange(n_slots, dtype=np.float32)[None],
        calendar=calendar,
    )
    nothing = np.zeros((len(clocks), 1), np.float32)
    return (-seasons.subtract(nothing, np.array(clocks, np.float64))[:, 0]).astype(int).tolist()


def local_date(seconds, zone):
    utc = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    return utc.astimezone(zoneinfo.ZoneInfo(zone)).date().isoformat()


@given(
    st.lists(TIMES, min_size=1, max_size=12),
    st.sampled_from(ZONES),
    st.sampled_from([DAY, WEEK]),
    st.sampled_from([2, 7, 24, 48, 100, 168, 288, 336]),
    st.integers(0, 3),
)
def test_slots_are_those_of_plain_dates(times, zone, period, n_slots, n_holidays):
    times = sorted(times)
    holidays = [local_date(time, zone) for time in times[:n_holidays]]
    calendar = Calendar(time_zone=zone, holidays=holidays)
    expected = [naive.season_slot(time, zone, period, n_slots, holidays) for time in times]
    assert slots(calendar, period, n_slots, times) == expected
    assert [slots(calendar, period, n_slots, [time])[0] for time in times] == expected


@pytest.mark.parametrize(
    ("zone", "change"),
    [
        ("Europe/Berlin", "2026-03-29T01:00"),  # 02:00 to 03:00 is skipped
        ("Europe/Berlin", "2026-10-25T01:00"),  # 02:00 to 03:00 is repeated
        ("America/New_York", "2090-11-05T06:00"),  # by rule, beyond the list of changes
        ("Australia/Lord_Howe", "2026-04-04T15:00"),  # by half an hour
        ("Australia/Lord_Howe", "2026-10-03T15:30"),
        ("Europe/Berlin", "1940-04-01T01:00"),
        ("Pacific/Apia", "2011-12-30T10:00"),  # by a day
    ],
)
def test_skipped_and_repeated_hours(zone, change):
    at = datetime.fromisoformat(change).replace(tzinfo=UTC).timestamp()
    times = [*(at + np.arange(-10_800, 10_800, 299)).tolist(), at - 1, at - 0.25, at, at + 0.25]
    holidays = [local_date(at, zone)]
    calendar = Calendar(time_zone=zone, holidays=holidays)
    offsets = calendar.clocks(np.array(times), DAY) - times
    assert len(np.unique(offsets)) == 2  # the change is among these times
    for period, n_slots in ((DAY, 288), (WEEK, 336)):
        expected = [naive.season_slot(time, zone, period, n_slots, holidays) for time in times]
        assert slots(calendar, period, n_slots, times) == expected


def test_every_zone_of_the_database(rng):
    for zone in sorted(zoneinfo.available_timezones()):
        times = rng.integers(-2_500_000_000, 4_000_000_000, 2).tolist()
        expected = [naive.season_slot(time, zone, DAY, 288) for time in times]
        assert slots(Calendar(time_zone=zone), DAY, 288, times) == expected, zone


def test_other_periods_and_the_default_leave_times_as_they_are(rng):
    clocks = 1e9 * rng.random(50)
    berlin = Calendar(time_zone="Europe/Berlin", holidays=["2001-01-01"])
    assert berlin.clocks(clocks, 600.0) is clocks
    assert Calendar().clocks(clocks, DAY) is clocks
    assert Calendar().clocks(clocks, WEEK) is clocks
    assert not len(berlin.clocks(np.empty(0), WEEK))


def test_words_are_by_the_local_clock():
    none = np.empty((2, 0), np.float32)
    berlin = Calendar(time_zone="Europe/Berlin", holidays=["2026-12-25"])
    seasons = Seasons(
        columns=np.arange(2),
        period=np.array([DAY, WEEK]),
        n_slots=np.ones(2, np.int64),
        usual=none,
        calendar=berlin,
    )

    def told(time):
        clock = datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp()
        return [seasons.when(number, clock) for number in range(2)]

    assert told("2026-07-05T22:30") == ["at 00:30", "on Mondays at 00:30"]
    assert told("2026-12-25T08:00") == ["at 09:00", "on Sundays and holidays at 09:00"]
    assert told("2026-12-27T08:00") == ["at 09:00", "on Sundays at 09:00"]


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Europe/Berln", "'Europe/Berln' is not known; did you mean 'Europe/Berlin'"),
        ("europe/berlin", "did you mean 'Europe/Berlin'"),
        ("utc", "did you mean .*'UTC'"),
        ("Europe", r"time_zone='Europe' is not known; did you mean 'Europe/"),
        ("Mars/Olympus-Mons-Base", "such as 'Europe/Berlin', or leave it out for UTC"),
        ("../../etc/passwd", "IANA"),
        ("/etc/localtime", "is not known"),
        ("a\0b", "IANA"),
        ("", "IANA"),
        (None, "time_zone=None"),
        (2, "time_zone=2"),
    ],
)
def test_zones_that_do_not_exist_are_named(name, told):
    with pytest.raises(SettingError, match=told):
        Calendar(time_zone=name)


@pytest.mark.parametrize(
    ("holidays", "told"),
    [
        ("2026-12-25", r"give a list of dates, such as \['2026-12-25'\]"),
        (None, "holidays=None: give a list"),
        ({"2026-12-25": "Christmas"}, "give a list"),
        (["2026-12-25", "2026-02-30"], "'2026-02-30' is not text like '2026-12-25'"),
        (["Christmas"], "'Christmas' is not text like"),
        ([date(2026, 12, 25)], "in quotes"),
        ([20261225], "20261225 is not text like"),
    ],
)
def test_holidays_that_are_no_dates_are_named(holidays, told):
    with pytest.raises(SettingError, match=told):
        Calendar(holidays=holidays)


def test_without_a_database_the_remedy_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "tzdata"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tzdata", None)
    zoneinfo.reset_tzpath([])
    zoneinfo.ZoneInfo.clear_cache()
    try:
        assert Calendar(time_zone="UTC") == Calendar()
        with pytest.raises(SettingError, match=r"time_zone='Europe/Berlin'.*pip install tzdata"):
            Calendar(time_zone="Europe/Berlin")
    finally:
        zoneinfo.reset_tzpath()
