import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smkc.errors import SettingError
from smkc.recording.counters import check_counters, clock, is_counter_name, rates, verdicts

readings = st.floats(width=32, allow_nan=False, allow_infinity=False)


def verdict(values: list[float] | np.ndarray) -> int:
    values = np.asarray(values, np.float64)
    return int(verdicts(np.zeros(len(values), int), values, 1)[0])


def naive_verdict(values: list[float]) -> int:
    steps = list(itertools.pairwise(values))
    falls = [after for before, after in steps if after < before and not after < before / 2]
    resets = [after for before, after in steps if after < before / 2]
    rises = [after for before, after in steps if after > before]
    if falls or min(values) < 0 or len(resets) > 0.01 * len(steps):
        return 0
    return 1 if len(values) >= 32 and len(rises) >= 0.1 * len(steps) else -1


def naive_rates(values: list[float], clocks: list[float]) -> list[float]:
    found = [math.nan]
    for i in range(1, len(values)):
        grown = values[i] - values[i - 1] if values[i] >= values[i - 1] else values[i]
        found.append(min(max(grown / (clocks[i] - clocks[i - 1]), -1e60), 1e60))
    return found


def test_a_steady_counter_is_one() -> None:
    assert verdict(np.arange(32)) == 1
    assert verdict(np.arange(31)) == -1


def test_resets_are_allowed_but_rare() -> None:
    values = np.arange(1000.0) + 1
    values[500:] -= 500
    assert verdict(values) == 1
    assert verdict(np.arange(1000) % 50 + 1) == 0


def test_a_fall_that_is_no_reset_speaks_against() -> None:
    values = np.arange(1000.0)
    values[600] = 550
    assert verdict(values) == 0


def test_negative_readings_speak_against() -> None:
    assert verdict(np.arange(-10, 50)) == 0


def test_standing_still_tells_nothing() -> None:
    assert verdict(np.full(100, 3.0)) == -1
    assert verdict(np.repeat([3.0, 4.0, 5.0], 40)) == -1


@given(st.lists(st.floats(0, 100, width=32) | readings, min_size=1, max_size=80), st.booleans())
def test_verdicts_equal_the_naive_ones(values: list[float], is_sorted: bool) -> None:
    values = sorted(values) if is_sorted else values
    assert verdict(values) == naive_verdict(values)


def test_variables_do_not_mix() -> None:
    rising, falling = np.arange(40.0), np.arange(40.0)[::-1]
    codes = np.repeat([0, 1, 2], 40)
    assert verdicts(codes, np.concatenate([rising, falling, rising]), 4).tolist() == [1, 0, 1, -1]
    found = rates(codes, np.concatenate([rising, falling, rising]), np.tile(np.arange(40.0), 3))
    assert np.flatnonzero(np.isnan(found)).tolist() == [0, 40, 80]


@given(
    st.lists(st.tuples(readings, st.floats(1e-3, 1e9)), min_size=1, max_size=20),
)
def test_rates_equal_the_naive_ones(steps: list[tuple[float, float]]) -> None:
    values = [value for value, _ in steps]
    clocks = np.cumsum([gap for _, gap in steps])
    actual = rates(np.zeros(len(values), int), np.array(values), clocks)
    np.testing.assert_array_equal(actual, naive_rates(values, clocks.tolist()))


def test_rates_are_finite_however_short_the_time() -> None:
    found = rates(np.zeros(3, int), np.array([0, 3e38, -3e38]), np.array([0, 5e-324, 1e-323]))
    assert np.isfinite(found[1:]).all()


def test_clocks_are_seconds_for_dates_else_the_own_unit() -> None:
    dates = np.array(["2026-01-01T00:00:00", "2026-01-01T00:00:15"], "datetime64[ns]")
    assert clock(dates, dates[0]).tolist() == [0.0, 15.0]
    assert clock(np.array([5, 20]), 5).tolist() == [0.0, 15.0]
    assert clock(np.array([0.5, 20]), 0.5).tolist() == [0.0, 19.5]


def test_names_of_counters() -> None:
    assert is_counter_name('latency_bucket{le="0.1"}')
    assert is_counter_name("bytes_total")
    assert not is_counter_name('total{a="_total"}')
    assert is_counter_name("memory{broken_total")


@pytest.mark.parametrize("value", ["yes", True, 1, "", "none"])
def test_settings_that_make_no_sense(value: object) -> None:
    with pytest.raises(SettingError, match="auto"):
        check_counters(value)
