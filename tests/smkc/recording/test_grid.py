"""Grid: steps of equal length, the last value in each, empty rows in gaps."""

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smkc.errors import SettingError
from smkc.recording import Recording, read
from smkc.recording.grid import on_grid

START = np.datetime64("2026-01-01T00:00:00", "ns")


def at_seconds(seconds):
    times = START + np.array(seconds) * np.timedelta64(1, "s")
    return Recording.from_rows(times, [{"a": float(second)} for second in seconds])


def naive_grid(times, values, step):
    """Return the rows of a grid as a dict by bin; a plain loop."""
    bins = {}
    for time, value in sorted(zip(times, values, strict=True)):
        bins[time // step] = value
    return [bins.get(at) for at in range(min(bins), max(bins) + 1)]


def test_last_value_in_the_step_and_empty_rows():
    rec = on_grid(at_seconds([3, 14, 16, 61]), "15s")
    assert [row * 15 for row in range(5)] == ((rec.times - START) / np.timedelta64(1, "s")).tolist()
    assert [rec.row(t) for t in range(5)] == [{"a": 14.0}, {"a": 16.0}, {}, {}, {"a": 61.0}]
    assert rec.notes.duplicates == 0


@pytest.mark.parametrize(
    "step",
    [
        *("60s", "1m", "1min", "60000ms", " 1 m", "60000000us", "60000000000ns"),
        *(timedelta(minutes=1), np.timedelta64(1, "m")),
    ],
)
def test_one_step_written_in_many_ways(step):
    rec = at_seconds([0, 59, 60, 121])
    assert on_grid(rec, step) == on_grid(rec, "1m")
    assert len(on_grid(rec, step)) == 3


def test_longer_units():
    rec = at_seconds([0, 86_400])
    assert [len(on_grid(rec, step)) for step in ("1d", "12h", "2d")] == [2, 3, 1]


@given(
    st.lists(st.integers(-60, 60), min_size=1, max_size=12, unique=True),
    st.integers(1, 20),
)
def test_equals_a_plain_loop(times, step):
    values = [float(time) for time in times]
    expected = naive_grid(times, values, step)
    actual = read({"time": times, "a": values}, step=step)
    assert [actual.row(t).get("a") for t in range(len(actual))] == expected
    assert actual.times[0] == min(times) // step * step
    assert set(np.diff(actual.times).tolist()) <= {step}


def test_numbers_with_fractions():
    rec = read({"time": [0.1, 0.6, 1.7], "a": [1, 2, 3]}, step=0.5)
    assert rec.times.tolist() == [0.0, 0.5, 1.0, 1.5]
    assert read({"time": [1, 2], "a": [1, 2]}, step=0.5).times.tolist() == [1.0, 1.5, 2.0]


def test_the_latest_wins_whatever_the_order_of_input():
    rec = read({"time": [14, 3, 9], "a": [1, 2, 3]}, step=10)
    assert [rec.row(0), rec.row(1)] == [{"a": 3.0}, {"a": 1.0}]


def test_a_recording_is_aligned_too():
    rec = at_seconds([3, 14, 16])
    assert read(rec) is rec
    assert read(rec, step="15s") == on_grid(rec, "15s")


@pytest.mark.parametrize("step", ["soon", "15", "-5s", "0s", "5 weeks", "1M", 5, 0.5, timedelta(0)])
def test_bad_step_for_dates(step):
    with pytest.raises(SettingError, match="step="):
        on_grid(at_seconds([0, 1]), step)


@pytest.mark.parametrize("step", ["15s", timedelta(1), 0, -1, float("nan"), float("inf"), True])
def test_bad_step_for_numbers(step):
    with pytest.raises(SettingError, match="step="):
        on_grid(Recording.from_rows([0, 1], [{}, {}]), step)


def test_absurd_grid_is_refused():
    with pytest.raises(SettingError, match="choose a longer step"):
        on_grid(at_seconds([0, 10**9]), "1s")
    with pytest.raises(SettingError, match="choose a longer step"):
        on_grid(Recording.from_rows([-1e300, 1e300], [{}, {}]), 1)
