"""Seasons: which are found, what is usual at a time, and what a wrong hour looks like."""

import math
import statistics

import numpy as np
import pytest

import smkc
from smkc.evidence.settings import SETTINGS
from smkc.evidence.variables.seasons import DAY, WEEK, Seasons, find_period

HOUR = 3600.0
ALL = np.array([True])


def hourly(rng, n_days, *, weekend=1.0, noise=0.1):
    """(n,) a busy day and a quiet night, and times in seconds; weekends are scaled."""
    clocks = HOUR * np.arange(24 * n_days)
    day = np.sin(2 * np.pi * clocks / DAY)
    is_weekend = (clocks // DAY) % 7 >= 5
    values = np.where(is_weekend, weekend, 1.0) * day + noise * rng.normal(size=len(clocks))
    return values.astype(np.float32)[:, None], clocks


def fit(values, clocks, *, has_dates=True):
    return Seasons.fit(values, clocks, np.ones(values.shape[1], bool), has_dates=has_dates)


def test_usual_values_are_the_medians_of_plain_python(rng):
    values, clocks = hourly(rng, 10)
    values = np.hstack([values, 2 * values])
    values[rng.random(values.shape) < 0.2] = np.nan
    values[::24, 1] = np.nan  # nothing was observed at midnight
    seasons, _ = fit(values, clocks)
    assert seasons.columns.tolist() == [0, 1]
    assert seasons.n_slots.tolist() == [24, 24]
    for number, column in enumerate(values.T):
        seen = {hour: [] for hour in range(24)}
        for row, value in enumerate(column.tolist()):
            if not math.isnan(value):
                seen[row % 24].append(value)
        whole = statistics.median(column[~np.isnan(column)].tolist())
        expected = [statistics.median(of_hour) if of_hour else whole for of_hour in seen.values()]
        np.testing.assert_allclose(seasons.usual[number], expected, rtol=1e-6)
    live, times = values[:50], clocks[:50] + 100 * DAY
    expected = live - seasons.usual.T[np.arange(50) % 24]
    np.testing.assert_allclose(seasons.subtract(live, times), expected, rtol=1e-6)


def test_reference_rows_are_compared_with_other_days_only(rng):
    values, clocks = hourly(rng, 8)
    _, before = fit(values, clocks)
    values[25] += 100.0  # the second day
    _, after = fit(values, clocks)
    is_same_day = clocks // DAY == 1
    assert after[25, 0] - before[25, 0] == pytest.approx(100.0, abs=1.0)
    np.testing.assert_array_equal(after[is_same_day][2:], before[is_same_day][2:])


def test_a_day_and_a_week_are_told_apart(rng):
    day, clocks = hourly(rng, 35)
    week, _ = hourly(rng, 35, weekend=0.1)
    seasons, _ = fit(np.hstack([day, week]), clocks)
    assert seasons.period.tolist() == [DAY, WEEK]


@pytest.mark.parametrize("n_days", [1, 2, SETTINGS.min_periods, 5])
def test_a_day_needs_three_days(rng, n_days):
    seasons, distances = fit(*hourly(rng, n_days, noise=0.01))
    assert len(seasons.columns) == (n_days >= SETTINGS.min_periods)
    assert distances.shape == (24 * n_days, len(seasons.columns))


def test_what_the_end_of_the_reference_does_not_confirm_is_not_used(rng):
    values, clocks = hourly(rng, 12)
    values[24 * 7 :] = rng.normal(size=(24 * 5, 1))
    assert not len(fit(values, clocks)[0].columns)
    noise = rng.normal(size=(24 * 12, 20)).astype(np.float32)
    assert not len(fit(noise, clocks)[0].columns)


def test_only_columns_that_are_asked_have_a_season(rng):
    values, clocks = hourly(rng, 10)
    two = np.hstack([values, values])
    seasons, _ = Seasons.fit(two, clocks, np.array([False, True]), has_dates=True)
    assert seasons.columns.tolist() == [1]


@pytest.mark.parametrize("missing", [slice(48, 96), slice(0, 240, 3)])
def test_missing_days_and_rows_do_no_harm(rng, missing):
    values, clocks = hourly(rng, 14)
    kept = np.ones(len(values), bool)
    kept[missing] = False
    seasons, _ = fit(values[kept], clocks[kept])
    assert seasons.period.tolist() == [DAY]
    noon = np.array([clocks[0] + 6 * HOUR + 50 * DAY])
    assert abs(seasons.subtract(np.ones((1, 1), np.float32), noon)[0, 0]) < 0.3


@pytest.mark.parametrize("period", [24, 48, 60, 96, 144, 288, 12.5, 7, 100, 36.25])
@pytest.mark.parametrize("shape", ["wave", "peaks"])
def test_periods_are_found_without_dates(period, shape):
    rng = np.random.default_rng(int(period))
    rows = np.arange(max(int(6 * period), 300))
    phase = rows / period % 1.0
    # One short peak in each period has no higher harmonics to be mistaken for it.
    clean = np.sin(2 * np.pi * phase) if shape == "wave" else np.exp(-(((phase - 0.5) / 0.1) ** 2))
    values = clean[:, None] * rng.uniform(1, 3, 4) + 0.2 * rng.normal(size=(len(rows), 4))
    assert find_period(values.astype(np.float32)) == pytest.approx(period, rel=0.02)
    seasons, _ = fit(values.astype(np.float32), rows.astype(float), has_dates=False)
    assert len(seasons.columns) == 4


def test_among_dates_other_periods_than_days_are_found_too(rng):
    rows = np.arange(8 * 288)
    wave = np.sin(2 * np.pi * rows / 20)[:, None] * rng.uniform(1, 3, 4)
    values = wave + 0.2 * rng.normal(size=wave.shape)
    seasons, _ = fit(values.astype(np.float32), 300.0 * rows)
    assert seasons.period == pytest.approx([6_000.0] * 4, rel=0.02)


@pytest.mark.parametrize(("weekend", "period"), [(1.0, DAY), (0.1, WEEK)])
def test_a_period_found_near_a_day_or_a_week_does_not_replace_them(rng, weekend, period):
    seasons, _ = fit(*hourly(rng, 35, weekend=weekend))
    assert seasons.period.tolist() == [period]


@pytest.mark.parametrize("kind", ["noise", "walk", "constant", "nothing", "short"])
def test_no_period_is_found_where_there_is_none(rng, kind):
    values = {
        "noise": rng.normal(size=(500, 3)),
        "walk": np.cumsum(rng.normal(size=(500, 3)), axis=0),
        "constant": np.ones((500, 3)),
        "nothing": np.full((500, 3), np.nan),
        "short": rng.normal(size=(5, 3)),
    }[kind].astype(np.float32)
    rows = np.arange(len(values), dtype=float)
    assert not len(fit(values, rows, has_dates=False)[0].columns)


def test_the_shortest_period_has_two_rows():
    assert find_period(np.tile([[1.0], [-1.0]], (250, 3)).astype(np.float32)) == 2.0


# ------------------------------------------------------------------ in the detector


def frame(values, first_hour):
    times = np.datetime64("2026-01-05T00", "s") + 3600 * (first_hour + np.arange(len(values)))
    return {"time": times, **{f"v{j}": column for j, column in enumerate(values.T)}}


def busy_days(rng, n_days, n_columns=6):
    hours = np.arange(24 * n_days)[:, None]
    load = 100 + 50 * np.sin(2 * np.pi * (hours - 9) / 24)
    return load * rng.uniform(0.5, 2.0, n_columns) + 4 * rng.normal(size=(24 * n_days, n_columns))


def test_a_level_that_is_wrong_for_the_hour_alone_is_found_and_said_so():
    rng = np.random.default_rng(7)
    values = busy_days(rng, 60)
    reference, live = values[: 24 * 40].copy(), values[24 * 40 :].copy()
    night = 24 * 10 + 1 + np.arange(5)
    live[night, 2] = reference[15::24, 2].mean()  # usual in the afternoon, and never at night
    detector = smkc.Detector().fit(smkc.read(frame(reference, 0)))
    alerts = detector.alerts(smkc.read(frame(live, 24 * 40)))
    (alert,) = [one for one in alerts if night[0] <= one.first_row <= night[-1]]
    assert alert.causes[0].variable == "v2"
    assert "usual at 0" in alert.causes[0].detail


def test_without_a_season_nothing_is_said_of_the_hour(rng):
    values = rng.normal(size=(24 * 40, 4))
    values[-3:, 1] += 30.0
    detector = smkc.Detector().fit(smkc.read(frame(values[: 24 * 30], 0)))
    (alert,) = detector.alerts(smkc.read(frame(values[24 * 30 :], 24 * 30)))
    assert "usual is" in alert.causes[0].detail
