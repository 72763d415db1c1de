import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.naive_scaling import NaiveScaling, Rows
from tests.smkc.recording.scaled_rows import (
    assert_same_rows,
    fleet,
    record,
    scaled_rows,
    stream,
)

from smkc.errors import InputError, SettingError
from smkc.recording import Identity, Recording, Scaling, scaling


@pytest.fixture(scope="module")
def reference() -> Rows:
    return fleet(np.random.default_rng(1), 300, pods=["a", "b", "c"])


@pytest.fixture(scope="module")
def fitted(reference: Rows) -> Scaling:
    return Scaling.fit(record(reference))


names = st.sampled_from(
    [
        'cpu{pod="a"}',
        'cpu{pod="new"}',
        'queue{pod="a"}',
        'requests_total{pod="a"}',
        'requests_total{pod="new"}',
        "limit",
        "odd{",
        "other",
        "other_total",
    ]
)
values = (
    st.floats(width=32, allow_nan=False, allow_infinity=False)
    | st.floats(0, 10, width=32)
    | st.sampled_from([3.4e38, -3.4e38, 1e-45, 0.0, 1.0])
)
some_rows = st.lists(st.dictionaries(names, values), min_size=1, max_size=40)
FIXTURES = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


# ---------------------------------------------------------------------- against the twin


def test_fit_and_scale_equal_the_naive_ones(reference: Rows, fitted: Scaling) -> None:
    naive = NaiveScaling(reference, [15 * t for t in range(300)])
    rows = fleet(np.random.default_rng(2), 200, pods=["a", "b", "new"])
    actual = fitted.start().scale(record(rows, first=9_000))
    expected = [naive.scale(9_000 + 15 * t, row) for t, row in enumerate(rows)]
    assert_same_rows(expected, scaled_rows(actual))


@FIXTURES
@given(some_rows)
def test_any_rows_equal_the_naive_ones(reference: Rows, fitted: Scaling, rows: Rows) -> None:
    naive = NaiveScaling(reference, [15 * t for t in range(300)])
    actual = fitted.start().scale(record(rows))
    assert np.isfinite(actual.values).all()
    expected = [naive.scale(15 * t, row) for t, row in enumerate(rows)]
    assert_same_rows(expected, scaled_rows(actual))


# ---------------------------------------------------------------------- properties


@FIXTURES
@given(some_rows, st.integers(0, 40))
def test_a_later_value_never_changes_an_earlier_one(fitted: Scaling, rows: Rows, cut: int) -> None:
    whole = fitted.start().scale(record(rows)).rows(0, cut)
    assert whole == fitted.start().scale(record(rows).rows(0, cut))


@FIXTURES
@given(some_rows, st.sampled_from(["int", "float", "date"]), st.randoms(use_true_random=False))
def test_stream_equals_batch(
    reference: Rows, fitted: Scaling, rows: Rows, kind: str, random: Any
) -> None:
    times: Any = np.arange(len(rows)) * 15
    if kind == "float":
        times = times / 7
    if kind == "date":
        start = np.datetime64("2026-01-01T00:00:00.123456789", "ns")
        times = start + times * np.timedelta64(123_456_789, "ns")
        dates = start + np.arange(300) * np.timedelta64(15, "s")
        fitted = Scaling.fit(Recording.from_rows(dates, reference))
    batch = fitted.start().scale(Recording.from_rows(times, rows))
    shuffled = [dict(random.sample(sorted(row.items()), len(row))) for row in rows]
    streamed = stream(fitted.start(), times, shuffled)
    assert batch == Recording.from_rows(times, streamed)


@FIXTURES
@given(some_rows, st.integers(0, 40))
def test_save_and_restore_in_the_middle(fitted: Scaling, rows: Rows, cut: int) -> None:
    recording = record(rows)
    state = fitted.start()
    state.scale(recording.rows(0, cut))
    arrays, header = state.to_arrays()
    restored = fitted.start()
    restored.restore(arrays, json.loads(json.dumps(header)))
    rest = recording.rows(cut, len(recording))
    assert restored.scale(rest) == state.scale(rest)


def test_order_of_variables_changes_nothing(reference: Rows) -> None:
    turned = [dict(reversed(row.items())) for row in reference]
    one, other = Scaling.fit(record(reference)), Scaling.fit(record(turned))
    assert one.names == other.names
    assert one.centre.tobytes() == other.centre.tobytes()
    assert one.spread.tobytes() == other.spread.tobytes()


def test_other_variables_change_nothing(reference: Rows, fitted: Scaling) -> None:
    rows = fleet(np.random.default_rng(3), 60, pods=["a", "new"])
    whole = fitted.start().scale(record(rows))
    for name in whole.names:
        alone = fitted.start().scale(record(rows).select([name]))
        np.testing.assert_array_equal(alone.trace(name), whole.trace(name))


# ---------------------------------------------------------------------- what it is for


def followed(values: np.ndarray, known: np.ndarray | None = None) -> np.ndarray:
    """Scale (T, V) variables unknown to the reference data, without a family or of a known one."""
    n_rows, n_variables = values.shape
    if known is None:
        rows, unknown = [{"m": 1.0}] * 40, [f"u{number}" for number in range(n_variables)]
    else:
        rows = [{"m": float(value)} for value in known]
        unknown = [f'm{{v="{number}"}}' for number in range(n_variables)]
    state = Scaling.fit(record(rows)).start()
    rows = [dict(zip(unknown, row.tolist(), strict=True)) for row in values]
    scaled = state.scale(Recording.from_rows(np.arange(n_rows), rows))
    return np.column_stack([scaled.trace(name) for name in unknown])


@pytest.mark.parametrize("has_family", [False, True])
@pytest.mark.parametrize("kind", ["normal", "correlated", "heavy"])
def test_a_followed_variable_gets_unit_spread(has_family: bool, kind: str) -> None:
    rng = np.random.default_rng(4)
    values = rng.standard_t(4, size=(800, 60)) if kind == "heavy" else rng.normal(size=(800, 60))
    if kind == "correlated":
        for t in range(1, len(values)):
            values[t] = 0.7 * values[t - 1] + math.sqrt(1 - 0.49) * values[t]
    known = 50 + 7 * rng.normal(size=500)
    scaled = followed(1000 + 7 * values, known if has_family else None)[300:]
    low, high = np.percentile(scaled, [25, 75], axis=0)
    assert abs(np.median(scaled)) < 0.1
    assert 0.8 < np.mean((high - low) / 1.349) < 1.2


@pytest.mark.parametrize("has_family", [False, True])
def test_a_step_in_a_young_variable_is_seen(has_family: bool) -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(size=(60, 100))
    values[20:] += 10
    scaled = followed(values, rng.normal(size=500) if has_family else None)
    assert np.median(scaled[20]) > 8
    assert np.median(scaled[25]) > 6
    assert np.median(scaled[30]) > 4
    assert np.median(scaled[59]) < 5


def test_one_outlier_does_not_drag() -> None:
    rng = np.random.default_rng(6)
    values = rng.normal(size=(200, 100))
    quiet = followed(values)
    values[100] = 1e6
    disturbed = followed(values)
    assert (disturbed[100] == 10).all()
    assert np.abs(disturbed[101:] - quiet[101:]).max() < 0.2


def test_warm_up_shows_presence_only_unless_the_family_is_known() -> None:
    values = np.random.default_rng(7).normal(size=(20, 30))
    assert (followed(values)[:8] == 0).all()
    assert (followed(values)[8] != 0).all()
    known = np.random.default_rng(8).normal(size=100)
    assert (followed(values, known)[0] == 0).all()
    assert (followed(values, known)[1] != 0).all()


def test_a_followed_constant_that_moves_saturates_then_settles() -> None:
    values = np.zeros((500, 20))
    values[50:] = np.random.default_rng(9).normal(size=(450, 20))
    scaled = followed(values)
    assert (scaled[:50] == 0).all()
    assert (np.abs(scaled[50]) == 10).all()
    assert np.median(np.abs(scaled[51:56])) > 1
    assert 0.8 < np.median(scaled[100:200].std(axis=0)) < 1.6
    assert 0.8 < np.median(scaled[300:].std(axis=0)) < 1.2


def test_rare_blips_stay_large() -> None:
    values = np.zeros((2000, 1))
    values[100::200] = 5.0
    scaled = followed(values)
    assert (scaled[100::200] > 8).all()
    assert np.abs(np.delete(scaled, np.s_[100::200])).max() < 1


def test_a_settled_constant() -> None:
    rows = [
        {"limit": 4.0, "zero": 0.0, 'cpu{p="a"}': float(t % 5), 'cpu{p="b"}': 1.0}
        for t in range(50)
    ]
    state = Scaling.fit(record(rows)).start()
    same = state.scale(record([rows[0]])).row(0)
    assert same["limit"] == same["zero"] == same['cpu{p="b"}'] == 0
    moved = state.scale(record([{"limit": 4.04, "zero": 1e-40, 'cpu{p="b"}': 2.0}])).row(0)
    assert moved["limit"] == pytest.approx(1, rel=1e-4)
    assert moved["zero"] == 10
    assert moved['cpu{p="b"}'] == pytest.approx(1.349 / 2)


def test_rare_bursts_count_towards_the_spread() -> None:
    rows = [{"burst": 10.0 if t % 10 == 0 else 0.0} for t in range(100)]
    fitted = Scaling.fit(record(rows))
    assert fitted.centre.tolist() == [0]
    assert fitted.spread == pytest.approx(0.25 * 3)  # the quartiles are 0, the deviation is 3


def test_counters_become_rates() -> None:
    rows = [{"requests": 10.0 * t + (t % 3), "cpu": float(t % 7)} for t in range(300)]
    fitted = Scaling.fit(record(rows))
    assert dict(zip(fitted.names, fitted.counter.tolist(), strict=True)) == {
        "cpu": False, "requests": True,
    }  # fmt: skip
    state = fitted.start()
    after = state.scale(record([{"requests": 1e6}, {"requests": 1e6 + 10}, {"requests": 10.0}]))
    assert after.cardinality.tolist() == [0, 1, 1]
    assert after.values[0] == after.values[1]  # a reset to 10 is an increase of 10
    plain = Scaling.fit(record(rows), counters=None)
    assert not plain.counter.any()
    assert plain.start().scale(record([{"requests": 1e6}])).n_observations == 1


def test_an_idle_counter_follows_its_family_or_its_name(fitted: Scaling) -> None:
    counter = dict(zip(fitted.names, fitted.counter.tolist(), strict=True))
    assert counter['errors_total{pod="a"}']
    assert not counter['limit{pod="a"}']
    rows = [{'n{p="a"}': float(t), 'n{p="idle"}': 5.0} for t in range(50)]
    assert Scaling.fit(record(rows)).counter.all()


def test_a_rate_is_a_second_for_dates(reference: Rows, fitted: Scaling) -> None:
    dates = np.datetime64("2026-01-01", "ns") + np.arange(300) * np.timedelta64(15, "s")
    dated = Scaling.fit(Recording.from_rows(dates, reference))
    np.testing.assert_array_equal(dated.centre, fitted.centre)


def test_too_little_history_is_not_settled() -> None:
    rows: Rows = [{"long": float(t % 5)} | ({"short": 1.0} if t < 31 else {}) for t in range(40)]
    assert Scaling.fit(record(rows)).names == ("long",)
    assert Scaling.fit(record(rows[:20])).names == ()


def test_families_by_rule() -> None:
    rows = [{"pod-a/cpu": float(t % 9)} for t in range(64)]
    probe = record([{"pod-b/cpu": 0.0}, {"pod-b/cpu": 3.0}])
    without = Scaling.fit(record(rows)).start().scale(probe)
    with_rule = Scaling.fit(record(rows), Identity(pattern="/(.*)")).start().scale(probe)
    assert without.values.tolist() == [0, 0]
    assert with_rule.values[1] > 0


def test_update_settles_new_variables_and_leaves_the_old(reference: Rows, fitted: Scaling) -> None:
    more = fleet(np.random.default_rng(10), 100, pods=["a", "late"])
    updated = fitted.update(record([{k: 5 * v for k, v in row.items()} for row in more]))
    n = len(fitted.names)
    assert updated.names[:n] == fitted.names
    assert updated.centre[:n].tobytes() == fitted.centre.tobytes()
    assert updated.spread[:n].tobytes() == fitted.spread.tobytes()
    assert set(updated.names[n:]) == {name for name in record(more).names if "late" in name}
    assert updated.update(record(more)) is updated


def test_settled_variables_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "MAX_SETTLED", 3)
    rows = [{f"v{i}": float(t % 5) for i in range(6) if t < 40 + i} for t in range(50)]
    fitted = Scaling.fit(record(rows))
    assert fitted.names == ("v3", "v4", "v5")
    assert fitted.update(record(rows)).names == fitted.names


# ---------------------------------------------------------------------- rows as they come


def test_a_row_takes_what_a_recording_would() -> None:
    state = Scaling.fit(record([{"x": float(t % 5)} for t in range(40)])).start()
    found = state.scale(record([{"x": np.nan, "a": np.inf, "b": 1e300, "c": 1.0}]))
    assert list(found.row(0)) == ["c"]
    assert state.to_arrays()[1]["names"] == ["c"]


def test_empty_recordings() -> None:
    nothing = Recording.from_rows(np.empty(0, np.int64), [])
    state = Scaling.fit(nothing).start()
    assert len(state.scale(nothing)) == 0
    hollow = Recording.from_rows([0, 1], [{}, {}])
    assert state.scale(hollow) == hollow


def test_many_variables_in_one_row() -> None:
    names = [f"v{i}" for i in range(100_000)]
    state = Scaling.fit(record([{"x": 1.0}])).start()
    for t in range(3):
        found = state.scale(record([dict.fromkeys(names, float(t))], first=t))
    assert found.n_observations == 100_000


# ---------------------------------------------------------------------- refusals


def test_settings_that_make_no_sense() -> None:
    rows = record([{"x": 1.0}])
    for bad in ({"counters": "yes"}, {"clip": 0}, {"clip": np.inf}, {"max_variables": 0}):
        with pytest.raises(SettingError, match=str(next(iter(bad)))):
            Scaling.fit(rows, **bad)  # type: ignore[arg-type]


def test_times_of_another_kind_are_refused(fitted: Scaling) -> None:
    dates = np.array(["2026-01-01"], "datetime64[ns]")
    dated = Recording.from_rows(dates, [{"x": 1.0}])
    for attempt in (fitted.start().scale, fitted.update):
        with pytest.raises(InputError, match="time_unit"):
            attempt(dated)
