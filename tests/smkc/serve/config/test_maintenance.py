"""Planned maintenance: once, or every week, in a time zone with summer time."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smkc.errors import SettingError
from smkc.serve.config import MaintenanceConfig, WatchConfig, config_of
from smkc.serve.rows import LATEST_TIME

HOUR, WEEK = 3_600_000, 7 * 86_400_000


def ms(text):
    return round(1000 * datetime.fromisoformat(text).timestamp())


def read(**table):
    watch = {"name": "a", "source": "push", "maintenance": [table]}
    return config_of({"watch": [watch]}).watches[0].maintenance[0]


def shown(spans, hours=0):
    zone = timezone(timedelta(hours=hours))
    return [
        " ".join(datetime.fromtimestamp(at / 1000, zone).strftime("%m-%d %H:%M") for at in span)
        for span in spans
    ]


@pytest.mark.parametrize(
    "start",
    [
        "2026-03-01T22:00:00Z",
        "2026-03-01 23:00:00+01:00",
        "2026-03-01T22:00",
        datetime(2026, 3, 1, 22, tzinfo=UTC),
        datetime(2026, 3, 1, 22),
    ],
)
def test_a_time_is_read_as_text_or_as_a_date(start):
    found = read(start=start, end="2026-03-02T01:00:00Z")
    assert found.between(0, LATEST_TIME) == [(ms("2026-03-01T22:00Z"), ms("2026-03-02T01:00Z"))]


def test_what_happens_once_is_found_where_it_overlaps():
    once = MaintenanceConfig(start=100, end=200)
    assert [len(once.between(*span)) for span in ((0, 99), (0, 100), (200, 300), (201, 300))] == [
        *(0, 1, 1, 0)
    ]


def test_a_deploy_may_be_a_moment():
    deploy = read(kind="deploy", start="2026-03-01T22:00Z")
    at = ms("2026-03-01T22:00Z")
    assert deploy.between(at, at) == [(at, at)]
    assert deploy.between(at + 1, LATEST_TIME) == []
    assert read(kind="deploy", weekly="Tue 10:00-10:30").kind == "deploy"
    assert read(weekly="Tue 10:00-10:30").kind == "maintenance"


def test_weekly_times_follow_the_clock_on_the_wall():
    """Berlin was at UTC+1 until 2026-03-29 01:00 UTC, then at UTC+2."""
    weekly = MaintenanceConfig(weekly="Sun 04:00-06:00", time_zone="Europe/Berlin")
    found = weekly.between(ms("2026-03-20T00:00Z"), ms("2026-04-06T00:00Z"))
    assert shown(found) == [
        "04-05 02:00 04-05 04:00",
        "03-29 02:00 03-29 04:00",
        "03-22 03:00 03-22 05:00",
    ]


def test_a_time_over_midnight_ends_on_the_next_day():
    weekly = MaintenanceConfig(weekly="Sat 23:00-01:30")
    found = weekly.between(ms("2026-03-08T00:30Z"), ms("2026-03-08T00:30Z"))
    assert shown(found) == ["03-07 23:00 03-08 01:30"]
    assert weekly.between(ms("2026-03-08T01:31Z"), ms("2026-03-08T12:00Z")) == []
    day = MaintenanceConfig(weekly="Mon 00:00-00:00")
    assert shown(day.between(ms("2026-03-02T12:00Z"), ms("2026-03-02T12:00Z"))) == [
        "03-02 00:00 03-03 00:00"
    ]


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Etc/GMT+12", "UTC"])
@given(at=st.integers(10 * WEEK, 3_000 * WEEK), length=st.integers(0, 5 * WEEK))
def test_every_occurrence_in_a_range_is_found_and_no_other(zone, at, length):
    """Zones without summer time, up to a day from UTC, beside plain counting in weeks."""
    hours = {"Pacific/Kiritimati": 14, "Etc/GMT+12": -12, "UTC": 0}[zone]
    if zone == "Pacific/Kiritimati":
        at = max(at, 1_400 * WEEK)  # it changed sides of the date line in 1995
    weekly = MaintenanceConfig(weekly="Thu 01:00-02:00", time_zone=zone)
    found = weekly.between(at, at + length)
    first = (1 - hours) * HOUR  # 1970-01-01 was a Thursday
    begins = range(first + (at - first) // WEEK * WEEK - WEEK, at + length + 1, WEEK)
    assert found == [(one, one + HOUR) for one in reversed(begins) if one + HOUR >= at]


def test_a_range_of_centuries_is_cut_short():
    weekly = MaintenanceConfig(weekly="Sun 02:00-04:00")
    assert 0 < len(weekly.between(0, 253_402_300_799_999)) <= 520


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({}, "give start and end, or weekly"),
        ({"start": "2026-03-01T22:00Z"}, "give start and end"),
        ({"weekly": "Sun 02:00-04:00", "end": "2026-03-01T22:00Z"}, "give start and end"),
        ({"start": "2026-03-02T00:00Z", "end": "2026-03-01T00:00Z"}, "end is not after start"),
        ({"kind": "deploy", "start": "2026-03-02T00:00Z", "end": "2026-03-01T00:00Z"}, "not after"),
        ({"kind": "deploy"}, "give start and end"),
        ({"kind": "deploy", "end": "2026-03-01T22:00Z"}, "give start and end"),
        ({"kind": "missed", "weekly": "Sun 02:00-04:00"}, "kind='missed': choose 'maintenance' or"),
        ({"start": "tomorrow", "end": "2026-03-01T00:00Z"}, "start: 'tomorrow' is not a time"),
        ({"start": 5, "end": "2026-03-01T00:00Z"}, "start: 5 is not a time; write it like"),
        ({"start": "1960-03-01T00:00Z", "end": "2026-03-01T00:00Z"}, "is not a time"),
        ({"weekly": "sunday 2-4"}, "weekly='sunday 2-4': write it like 'Sun 02:00-04:00'"),
        ({"weekly": "Sun 02:00-25:00"}, "write it like"),
        ({"weekly": "Sun 02:00-04:00", "time_zone": "Mars/Base"}, "time_zone='Mars/Base' is not"),
        ({"weekly": "Sun 02:00-04:00", "time_zone": "../../etc/passwd"}, "is not known here"),
        ({"weekly": "Sun 02:00-04:00", "entity": "a"}, "names an entity, but the watch is not"),
        ({"weekly": "Sun 02:00-04:00", "tz": "UTC"}, "no setting 'tz'"),
    ],
)
def test_what_makes_no_sense_is_refused(table, words):
    with pytest.raises(SettingError, match=rf"\[\[watch\]\] 'a': .*{words}"):
        read(**table)


def test_a_watch_that_is_split_may_name_an_entity():
    once = MaintenanceConfig(start=1, end=2, entity="eu")
    assert WatchConfig(name="a", source="push", entity="zone", maintenance=(once,))
