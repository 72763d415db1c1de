"""The local clock and holidays in the default detector: what is alerted, said and saved.

The days are made up: an office in Berlin that is busy from 08:00 to 18:00 by its own clock.
"""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from tests import promise

import smkc
from smkc import model_file
from smkc.cli.settings import gather
from smkc.errors import ModelFileError, SettingError
from smkc.evidence.variables import DAY, WEEK
from smkc.loading import make_detector
from smkc.plot import report
from smkc.serve.config import config_of, read_config
from smkc.serve.lane.fitting import detector_of, read_reference, write_reference

BERLIN = "Europe/Berlin"
WEDNESDAY = "2026-05-13"


def moments(first, last, minutes=60):
    """Return local times from the beginning of one day in UTC to that of another."""
    start, end = (datetime.fromisoformat(day).replace(tzinfo=UTC) for day in (first, last))
    n = (end - start) // timedelta(minutes=minutes)
    return [(start + timedelta(minutes=minutes * i)).astimezone(ZoneInfo(BERLIN)) for i in range(n)]


def is_daytime(moment):
    return 8 <= moment.hour < 18


def is_workday(moment):
    return is_daytime(moment) and moment.weekday() < 5


def office(seed, times, is_busy):
    """Return a frame of four variables that are busy at some of these times."""
    rng = np.random.default_rng(seed)
    busy = np.array([is_busy(one) for one in times], float)[:, None]
    values = 20 + busy * [60, 80, 100, 120] + 4 * rng.normal(size=(len(times), 4))
    utc = [one.astimezone(UTC).replace(tzinfo=None) for one in times]
    return {"time": np.array(utc, "M8[s]"), **{f"v{j}": values[:, j] for j in range(4)}}


def days_alerted(detector, times, frame):
    """Return the local days of the rows that are alerted."""
    marks = detector.predict(frame)
    return {one.date() for one, mark in zip(times, marks, strict=True) if mark}


def alerts_begin(detector, times, frame):
    """Return the local days on which alerts begin."""
    return [times[alert.first_row].date().isoformat() for alert in detector.alerts(frame)]


# ------------------------------------------------------------------ what is alerted


def test_clocks_that_change_are_no_trouble():
    """The rest of a year, after a reference from its winter: summer time from 29 March on."""
    winter, rest = moments("2026-01-05", "2026-03-16"), moments("2026-03-16", "2027-01-01")
    reference, live = office(1, winter, is_daytime), office(2, rest, is_daytime)
    summer = {one.date() for one in rest if one.dst()}
    utc = days_alerted(smkc.Detector().fit(reference), rest, live)
    local = days_alerted(smkc.Detector(time_zone=BERLIN).fit(reference), rest, live)
    assert len(utc & summer) > 200  # of 211
    assert len(local) < 3


def test_an_hour_that_is_wrong_by_the_local_clock_is_found():
    """In a year with winter and summer, a season by UTC knows both hours as usual."""
    year, spring = moments("2025-03-01", "2026-03-01", 30), moments("2026-03-01", "2026-03-28", 30)

    def is_early(moment):  # on one morning in winter, work begins an hour early
        is_that_day = (moment.month, moment.day) == (3, 17)
        return is_daytime(moment) or (is_that_day and moment.hour == 7)

    reference, live = office(3, year, is_daytime), office(4, spring, is_early)
    assert alerts_begin(smkc.Detector().fit(reference), spring, live) == []
    detector = smkc.Detector(time_zone=BERLIN).fit(reference)
    assert alerts_begin(detector, spring, live) == ["2026-03-17"]
    (alert,) = detector.alerts(live)
    assert "at 2026-03-17T06:" in alert.causes[0].detail
    assert "usual at 07:" in alert.causes[0].detail


def test_a_holiday_is_as_a_sunday_where_a_calendar_is_given():
    weeks, may = moments("2026-02-02", "2026-05-04"), moments("2026-05-04", "2026-05-25")

    def is_open(moment):
        return is_workday(moment) and moment.date().isoformat() != WEDNESDAY

    reference = office(5, weeks, is_workday)
    quiet, busy = office(6, may, is_open), office(6, may, is_workday)
    plain = smkc.Detector(time_zone=BERLIN).fit(reference)
    known = smkc.Detector(time_zone=BERLIN, holidays=[WEDNESDAY]).fit(reference)
    assert set(plain.fitted_.seasons.values()) == {WEEK}
    assert alerts_begin(plain, may, quiet) == [WEDNESDAY]
    assert alerts_begin(known, may, quiet) == []
    assert alerts_begin(plain, may, busy) == []
    assert alerts_begin(known, may, busy) == [WEDNESDAY]
    (alert,) = known.alerts(busy)
    assert "usual on Sundays and holidays at" in alert.causes[0].detail


def test_holidays_in_the_reference_count_as_sundays():
    weeks = moments("2026-02-02", "2026-03-30")
    wednesdays = ["2026-02-11", "2026-02-18", "2026-03-04", "2026-03-11", "2026-03-18"]

    def is_open(moment):
        return is_workday(moment) and moment.date().isoformat() not in wednesdays

    reference = office(7, weeks, is_open)
    noon = np.datetime64("2026-04-01T10:00")  # a Wednesday
    for holidays, usual in (([], 20), (wednesdays, 80)):
        detector = smkc.Detector(time_zone=BERLIN, holidays=holidays).fit(reference)
        known = detector.fitted_.known.usual("v0", noon.astype("M8[ns]"))
        assert known.when == "on Wednesdays at 12:00"
        assert known.middle == pytest.approx(usual, abs=4)


# ------------------------------------------------------------------ references with gaps


@pytest.mark.parametrize("missing", ["a fortnight", "every weekend", "every second day"])
def test_missing_days_do_no_harm(missing):
    is_missing = {
        "a fortnight": lambda one: (2, 10) <= (one.month, one.day) < (2, 24),
        "every weekend": lambda one: one.weekday() >= 5,
        "every second day": lambda one: one.toordinal() % 2 == 0,
    }[missing]
    times = [one for one in moments("2026-01-05", "2026-04-06") if not is_missing(one)]
    later = moments("2026-04-06", "2026-04-11")
    detector = smkc.Detector(time_zone=BERLIN, holidays=["2026-02-04"])
    detector.fit(office(8, times, is_daytime))
    assert set(detector.fitted_.seasons.values()) <= {DAY, WEEK}
    assert len(detector.fitted_.seasons) == 4
    assert not days_alerted(detector, later, office(9, later, is_daytime))


@pytest.mark.parametrize(("last", "minutes"), [("2026-03-30", 10), ("2026-03-31", 10)])
def test_references_shorter_than_three_days_have_no_daily_season(last, minutes):
    times = moments("2026-03-29", last, minutes)  # from the day on which clocks change
    detector = smkc.Detector(time_zone=BERLIN, holidays=["2026-03-29"])
    detector.fit(office(10, times, is_daytime))
    assert not {DAY, WEEK} & set(detector.fitted_.seasons.values())
    later = moments(last, "2026-04-02", minutes)
    assert np.isfinite(detector.decision_function(office(11, later, is_daytime))).all()


def test_references_shorter_than_three_weeks_have_no_weekly_season():
    detector = smkc.Detector(time_zone=BERLIN, holidays=["2026-03-06"])
    detector.fit(office(12, moments("2026-03-02", "2026-03-22"), is_workday))
    assert set(detector.fitted_.seasons.values()) == {DAY}


# ------------------------------------------------------------------ newcomers


@pytest.mark.parametrize("minutes", [60, 10])
def test_a_newcomer_of_a_seasonal_family_is_not_strange_at_night(minutes):
    times = moments("2026-01-05", "2026-02-02", minutes)
    later = moments("2026-02-02", "2026-02-09", minutes)

    def family(seed, times, n_before):  # the last of four services appears at noon
        frames = [office(seed + service, times, is_daytime) for service in range(4)]
        loads = {f'load{{service="{j}"}}': frame["v0"] for j, frame in enumerate(frames)}
        loads['load{service="3"}'][:n_before] = np.nan
        return {"time": frames[0]["time"], **loads}

    detector = smkc.Detector(time_zone=BERLIN).fit(family(20, times, len(times)))
    assert set(detector.fitted_.seasons.values()) == {DAY}
    assert alerts_begin(detector, later, family(30, later, 36 * 60 // minutes)) == []


# ------------------------------------------------------------------ saved, streamed, configured


@pytest.fixture(scope="module")
def fitted():
    """A detector with a weekly season, and rows over the change to summer time."""
    settings = {"time_zone": BERLIN, "holidays": ["2026-03-25"], "align": "prompt"}
    reference = office(15, moments("2026-01-05", "2026-03-09"), is_workday)
    live = smkc.read(office(16, moments("2026-03-09", "2026-04-06"), is_workday))
    return smkc.Detector(**settings).fit(reference), live


def test_stream_and_model_file_agree_with_the_whole(fitted, tmp_path):
    detector, live = fitted
    expected = detector.decision_function(live)
    assert (
        expected
        != smkc.Detector()
        .fit(office(15, moments("2026-01-05", "2026-03-09"), is_workday))
        .decision_function(live, align="prompt")
    ).any()  # the calendar matters
    detector.save(tmp_path / "model.smkc")
    loaded = smkc.load(tmp_path / "model.smkc")
    assert loaded.get_params() == detector.get_params() | {"holidays": ("2026-03-25",)}
    promise.assert_scores_agree(loaded.decision_function(live), expected, detector)
    stream = loaded.stream()
    half = len(live) // 2
    scores = [stream.push(live.times[row], live.row(row)) for row in range(half)]
    stream.save(tmp_path / "stream.smkc")
    resumed = detector.stream(resume=tmp_path / "stream.smkc")
    scores += [resumed.push(live.times[row], live.row(row)) for row in range(half, len(live))]
    promise.assert_scores_agree(scores, expected, detector)


def test_a_stream_of_another_calendar_is_refused(tmp_path):
    rng = np.random.default_rng(17)
    times = np.datetime64("2026-03-02", "s") + 60 * np.arange(600)
    reference = {"time": times, "a": rng.normal(size=600)}
    for name, settings in (("utc", {}), ("local", {"time_zone": BERLIN})):
        detector = smkc.Detector(**settings).fit(reference)
        stream = detector.stream()
        stream.push(times[-1] + np.timedelta64(60, "s"), {"a": 0.0})
        stream.save(tmp_path / name)
    with pytest.raises(ModelFileError):
        detector.stream(resume=tmp_path / "utc")


def test_models_from_before_there_was_a_calendar_are_refused(fitted, tmp_path):
    fitted[0].save(tmp_path / "model.smkc")
    arrays, header = model_file.read(tmp_path / "model.smkc")
    del header["evidence"]["variables"]["seasons"]["calendar"]
    model_file.write(tmp_path / "before.smkc", arrays, header)
    with pytest.raises(ModelFileError, match=r"lacks 'calendar'; fit the model again"):
        smkc.load(tmp_path / "before.smkc")


def test_more_reference_data_are_counted_by_the_same_calendar(fitted):
    detector, live = fitted
    reference = office(15, moments("2026-01-05", "2026-03-09"), is_workday)
    more = smkc.Detector(time_zone=BERLIN, holidays=["2026-03-25"]).fit(reference)
    more.partial_fit(live)
    assert more.fitted_.known.variables.seasons.calendar == detector.fitted_.calendar


@pytest.mark.parametrize("settings", [{"time_zone": BERLIN}, {"holidays": ["2026-12-25"]}])
def test_numbers_have_no_calendar(rng, settings):
    numbers = {"time": np.arange(500), "a": rng.normal(size=500)}
    for use in (
        smkc.Detector(**settings).fit,
        lambda it: smkc.diagnose(it, smkc.Detector(**settings)),
    ):
        with pytest.raises(SettingError, match="need dates, but the reference's times are numbers"):
            use(numbers)


def test_wrong_settings_are_named(rng):
    dates = {"time": np.datetime64("2026-01-05", "s") + np.arange(100), "a": rng.normal(size=100)}
    with pytest.raises(SettingError, match="did you mean 'Europe/Berlin'"):
        smkc.Detector(time_zone="Europe/Berln").fit(dates)
    with pytest.raises(SettingError, match="'Christmas' is not text like"):
        smkc.Detector(holidays=["Christmas"]).fit(dates)


def test_the_command_line_takes_a_calendar(tmp_path):
    pairs = [f"time_zone={BERLIN}", 'holidays=["2026-12-25"]']
    expected = {"time_zone": BERLIN, "holidays": ["2026-12-25"]}
    assert gather(None, pairs).detector == expected
    config = tmp_path / "smkc.toml"
    config.write_text(f'[detector]\ntime_zone = "{BERLIN}"\nholidays = ["2026-12-25"]\n')
    assert gather(config).detector == expected
    assert make_detector(expected).time_zone == BERLIN


def test_a_watch_takes_a_calendar_and_says_what_is_wrong_with_it(fitted, tmp_path):
    def config(**detector):
        watch = {"name": "a", "query": "up", "detector": detector}
        return config_of({"prometheus": {"url": "http://localhost:9090"}, "watch": [watch]})

    (watch,) = config(time_zone=BERLIN, holidays=["2026-12-25"]).watches
    write_reference(tmp_path / "reference.smkc", fitted[1], watch)  # for a process beside
    _, again = read_reference(tmp_path / "reference.smkc")
    made = detector_of(again)
    assert (made.time_zone, list(made.holidays)) == (BERLIN, ["2026-12-25"])
    with pytest.raises(SettingError, match=r"watch.*time_zone='Berlin'.*'Europe/Berlin'"):
        config(time_zone="Berlin")
    path = tmp_path / "watch.toml"
    path.write_text(
        '[prometheus]\nurl = "http://localhost:9090"\n[[watch]]\nname = "a"\nquery = "up"\n'
        "[watch.detector]\nholidays = [2026-12-25]\n"
    )
    with pytest.raises(SettingError, match=r"watch.*holidays: .*in quotes"):
        read_config(path)


def test_the_report_names_the_zone(fitted, tmp_path):
    detector, live = fitted
    page = report(tmp_path / "report.html", detector.score(live)).read_text("utf-8")
    assert "4 weekly, by the clock of Europe/Berlin." in page
