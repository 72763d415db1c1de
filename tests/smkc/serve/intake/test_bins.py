"""Rows of a grid: the last value of each step, whatever the order, and nothing without end."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smkc.serve.intake import bins as bins_module
from smkc.serve.intake.bins import Bins, rows_of
from smkc.serve.intake.samples import Samples

STEP, LATENESS, LIMIT = 1000, 700, 50


def samples_of(readings) -> Samples:
    """Samples of (name, time, value) triples."""
    names = tuple(dict.fromkeys(name for name, _, _ in readings))
    code = {name: at for at, name in enumerate(names)}
    return Samples(
        names=names,
        codes=np.array([code[name] for name, _, _ in readings], np.int64),
        times=np.array([time for _, time, _ in readings], np.int64),
        values=np.array([value for _, _, value in readings], np.float64),
    )


def plain(rows) -> list[tuple[int, dict[str, float]]]:
    for row in rows:
        assert row.values.dtype == np.float32
        assert len(row.names) == len(row.values) == len(set(row.names)) > 0
    return [(row.time, dict(zip(row.names, row.values.tolist(), strict=True))) for row in rows]


def naive_rows(readings, step: int) -> list[tuple[int, dict[str, float]]]:
    """The definition in plain Python: of each step the last in time, of equal times the last."""
    last: dict[int, dict[str, tuple[int, float]]] = {}
    for name, time, value in readings:
        end = -(-time // step) * step
        row = last.setdefault(end, {})
        if name not in row or time >= row[name][0]:
            row[name] = (time, value)
    found = []
    for end in sorted(last):
        seen = {name: one[1] for name, one in sorted(last[end].items()) if one[1] == one[1]}
        if seen:
            found.append((end, seen))
    return found


def fed(readings, sizes=(), **options) -> Bins:
    bins = Bins(STEP, LATENESS, None, LIMIT, **options)
    at = 0
    for size in [*sizes, len(readings)]:
        if readings[at : at + size]:
            bins.take(samples_of(readings[at : at + size]))
        at += size
    return bins


names = st.sampled_from(["a", "b", 'c{pod="x"}', "d"])
some_values = st.one_of(st.integers(-4, 4).map(float), st.just(float("nan")))
readings_of_some_steps = st.lists(
    st.tuples(names, st.integers(0, 9 * STEP), some_values), max_size=40
)


@given(readings=readings_of_some_steps, sizes=st.lists(st.integers(0, 9), max_size=5))
def test_rows_hold_the_last_values(readings, sizes):
    bins = fed(readings, sizes)
    assert plain(bins.close_until(10**6)) == naive_rows(readings, STEP)
    assert (bins.counts["late"], bins.counts["refused"], bins.n_pending, bins.oldest_open) == (
        0,
        0,
        0,
        None,
    )


@given(data=st.data(), readings=readings_of_some_steps)
def test_order_within_the_lateness_changes_nothing(data, readings):
    once = list({(name, time): (name, time, value) for name, time, value in readings}.values())
    # Each reading arrives when the clock shows its time or up to the lateness later.
    delays = data.draw(st.lists(st.integers(0, LATENESS), min_size=len(once), max_size=len(once)))
    arrivals = sorted(zip(once, delays, strict=True), key=lambda one: one[0][1] + one[1])
    bins, rows = Bins(STEP, LATENESS, None, LIMIT), []
    for reading, delay in arrivals:
        rows += bins.close_until(reading[1] + delay - 1)
        bins.take(samples_of([reading]))
    rows += bins.close_until(10**6)
    assert plain(rows) == naive_rows(once, STEP)
    assert (bins.counts["late"], bins.counts["duplicates"]) == (0, 0)


@given(data=st.data(), readings=readings_of_some_steps)
def test_order_changes_nothing_where_a_row_is_offered_too_much(data, readings):
    once = list({(name, time): (name, time, value) for name, time, value in readings}.values())
    shuffled = data.draw(st.permutations(once))
    rows = []
    for some in (once, shuffled):
        bins = Bins(STEP, LATENESS, None, 2)
        for reading in some:
            bins.take(samples_of([reading]))
        rows.append((plain(bins.close_until(10**6)), bins.counts["refused"]))
    assert rows[0] == rows[1]


@given(readings=st.lists(st.tuples(names, st.integers(0, 8), some_values), max_size=40))
def test_rows_of_equals_bins_on_the_grid(readings):
    on_grid = [(name, place * STEP, value) for name, place, value in readings]
    bins = fed(on_grid, previous=("d",))
    bins._max_series = 2
    together = rows_of(samples_of(on_grid), STEP, 2, ("d",))
    assert plain(bins.close_until(10**6)) == plain(together)


def test_duplicates_keep_the_last_and_are_counted():
    bins = fed([("a", 500, 1.0), ("a", 500, 2.0), ("a", 400, 9.0)], sizes=[1])
    assert plain(bins.close_until(5000)) == [(1000, {"a": 2.0})]
    assert bins.counts["duplicates"] == 1


def test_a_row_includes_its_end_and_not_its_start():
    bins = fed([("a", 1000, 1.0), ("b", 1001, 2.0)])
    assert plain(bins.close_until(5000)) == [(1000, {"a": 1.0}), (2000, {"b": 2.0})]


def test_a_row_waits_for_its_lateness():
    bins = fed([("a", 1000, 1.0)])
    assert bins.close_until(1000 + LATENESS - 1) == []
    assert bins.oldest_open == 1000
    assert plain(bins.close_until(1000 + LATENESS)) == [(1000, {"a": 1.0})]


def test_nothing_comes_after_its_row_was_closed():
    bins = fed([("a", 3000, 1.0)])
    bins.close_until(9000)
    bins.take(samples_of([("b", 2999, 1.0), ("b", 1500, 1.0), ("b", 3001, 2.0)]))
    assert bins.counts["late"] == 2
    assert plain(bins.close_until(99_000)) == [(4000, {"b": 2.0})]


def test_what_the_lane_has_already_is_late():
    bins = Bins(STEP, LATENESS, 5000, LIMIT)
    bins.take(samples_of([("a", 5000, 1.0), ("a", 5001, 2.0)]))
    assert bins.counts["late"] == 1
    assert plain(bins.close_until(99_000)) == [(6000, {"a": 2.0})]


def test_steps_without_a_value_give_no_row():
    bins = Bins(STEP, LATENESS, 1000, LIMIT)
    bins.take(samples_of([("a", 4000, 1.0), ("a", 5000, np.nan), ("a", 6000, 1.0)]))
    assert [row.time for row in bins.close_until(99_000)] == [4000, 6000]


def test_a_variable_that_went_stale_is_gone_and_may_come_back():
    stale = [("a", 100, 1.0), ("b", 100, 1.0), ("a", 200, np.nan), ("c", 1, np.nan), ("c", 2, 3.0)]
    assert plain(fed(stale).close_until(99_000)) == [(1000, {"b": 1.0, "c": 3.0})]


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e39])
def test_infinities_are_not_observed_and_are_counted(value):
    bins = fed([("a", 100, value), ("b", 100, 1.0)])
    assert plain(bins.close_until(99_000)) == [(1000, {"b": 1.0})]
    assert (bins.counts["infinite"], bins.infinite_name, bins.counts["refused"]) == (1, "a", 0)


def test_a_sender_that_catches_up_fills_whole_rows():
    bins = Bins(STEP, LATENESS, 0, LIMIT)
    assert bins.close_until(60_000) == []
    bins.take(samples_of([("a", 1000, 1.0), ("a", 2000, 1.0)]))
    assert bins.close_until(60_100) == []
    bins.take(samples_of([("b", 1000, 2.0), ("b", 2000, 2.0)]))
    rows = plain(bins.close_until(60_000 + LATENESS))
    assert rows == [(1000, {"a": 1.0, "b": 2.0}), (2000, {"a": 1.0, "b": 2.0})]
    assert bins.counts["late"] == 0


def test_rows_behind_one_that_waits_wait_too():
    bins = Bins(STEP, LATENESS, 0, LIMIT)
    bins.take(samples_of([("a", 9000, 1.0)]))
    bins.close_until(9500)
    bins.take(samples_of([("a", 2000, 1.0)]))
    assert bins.close_until(9000 + LATENESS) == []
    assert [row.time for row in bins.close_until(9500 + LATENESS)] == [2000, 9000]


def test_a_clock_that_steps_back_neither_doubles_nor_loses():
    bins = fed([("a", 1000, 1.0), ("a", 2000, 2.0)])
    rows = bins.close_until(2000)
    bins.take(samples_of([("a", 3000, 3.0)]))
    rows += bins.close_until(-50_000)
    rows += bins.close_until(2000)
    rows += bins.close_until(4000)
    assert [row.time for row in rows] == [1000, 2000, 3000]


def test_a_catching_up_row_does_not_wait_for_a_clock_that_stepped_back():
    bins = Bins(STEP, LATENESS, 0, LIMIT)
    bins.close_until(10**9)
    bins.take(samples_of([("a", 1000, 1.0)]))
    assert bins.close_until(50_000) == []
    assert [row.time for row in bins.close_until(50_000 + LATENESS)] == [1000]


@pytest.mark.parametrize("clock_known", [True, False], ids=["clock known", "clock unknown"])
def test_a_wrong_clock_ahead_is_refused(clock_known):
    bins = Bins(STEP, LATENESS, None, LIMIT)
    if clock_known:
        bins.close_until(0)
    far = bins_module.AHEAD_MS + 10 * STEP
    bins.take(samples_of([("a", 100, 1.0), ("a", far, 2.0), ("b", far + 9**9, 2.0)]))
    assert [row.time for row in bins.close_until(2000)] == [1000]
    assert bins.counts["refused"] == 2
    assert (bins.n_pending, bins.oldest_open) == (0, None)


@pytest.mark.parametrize("time", [2**63 - 1, -(2**63), 10**15, -(10**15)])
def test_impossible_times_are_refused(time):
    bins = fed([("a", time, 1.0), ("a", 1, 2.0)])
    assert bins.counts["refused"] == 1
    assert plain(bins.close_until(5000)) == [(1000, {"a": 2.0})]
    assert plain(rows_of(samples_of([("a", time, 1.0), ("a", 1, 2.0)]), STEP, 9)) == [
        (1000, {"a": 2.0})
    ]


def test_a_row_takes_so_many_series_those_of_the_row_before_first():
    bins = Bins(STEP, LATENESS, None, 3)
    bins.take(samples_of([(name, 100, 1.0) for name in "ywx"]))
    bins.take(samples_of([(name, 1100, 2.0) for name in "abcdwx"]))
    first, second = bins.close_until(99_000)
    assert (first.names, second.names) == (("w", "x", "y"), ("a", "w", "x"))
    assert bins.counts["refused"] == 3


def test_the_row_before_counts_also_if_it_was_closed_before():
    bins = Bins(STEP, LATENESS, None, 2, ("z",))
    bins.take(samples_of([(name, 100, 1.0) for name in "xyz"]))
    assert [row.names for row in bins.close_until(1000 + LATENESS)] == [("x", "z")]
    bins.take(samples_of([(name, 1100, 2.0) for name in "abxz"]))
    assert [row.names for row in bins.close_until(99_000)] == [("x", "z")]


def test_what_waits_is_bounded_and_the_oldest_rows_stay(monkeypatch):
    monkeypatch.setattr(bins_module, "LEAST_ROOM", 64)
    monkeypatch.setattr(bins_module, "ROWS_OF_ROOM", 1)
    bins = Bins(STEP, LATENESS, None, 4)
    for row in range(40):
        bins.take(samples_of([(f"v{n}", row * STEP, 1.0) for n in range(4)]))
    assert bins.n_pending <= 64
    assert [row.time for row in bins.close_until(10**6)] == [row * STEP for row in range(16)]
    assert bins.counts["refused"] == 4 * 24


def test_readings_that_others_replace_take_no_room(monkeypatch):
    monkeypatch.setattr(bins_module, "LEAST_ROOM", 64)
    monkeypatch.setattr(bins_module, "ROWS_OF_ROOM", 1)
    bins = Bins(STEP, LATENESS, None, 4)
    for time in range(1, 1000):
        bins.take(samples_of([("a", time, float(time)), ("b", 1000 - time, float(time))]))
    assert bins.n_pending <= 64
    assert plain(bins.close_until(10**6)) == [(1000, {"a": 999.0, "b": 1.0})]
    assert bins.counts["refused"] == 0


def test_rows_that_wait_are_bounded(monkeypatch):
    monkeypatch.setattr(bins_module, "MAX_OPEN_ROWS", 10)
    bins = fed([("a", row * STEP, 1.0) for row in range(25)], sizes=[7, 11])
    assert len(bins.close_until(10**6)) == 10
    assert bins.counts["refused"] == 15


def test_names_that_went_are_forgotten(monkeypatch):
    monkeypatch.setattr(bins_module, "LEAST_NAMES", 32)
    bins = Bins(STEP, LATENESS, None, 100)
    for row in range(200):
        bins.take(samples_of([(f"pod{row}_{n}", row * STEP, float(n)) for n in range(10)]))
        for closed in bins.close_until(row * STEP):
            number = closed.time // STEP
            expected = {f"pod{number}_{n}": float(n) for n in range(10)}
            assert plain([closed]) == [(closed.time, expected)]
    assert len(bins._names) == len(bins._codes) < 64


def test_no_samples_no_rows():
    assert rows_of(samples_of([]), STEP, 5) == []
    bins = fed([])
    bins.take(samples_of([]))
    assert (bins.close_until(10**6), bins.n_pending) == ([], 0)
