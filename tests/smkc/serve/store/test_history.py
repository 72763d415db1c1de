from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.smkc.serve.store.making import STEP, commit_row, row_of, time_of, verdict_of

from smkc.serve.rows import Row
from smkc.serve.store import LaneStore, Store


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path) as opened:
        yield opened


@pytest.fixture
def lane(store: Store) -> LaneStore:
    return store.lane("w", "")


# ---------------------------------------------------------------------- verdicts


def test_few_verdicts_come_back_whole(lane: LaneStore) -> None:
    given = [
        replace(verdict_of(n), evidences={"level": 1.0 * n} if n % 2 else {}) for n in range(9)
    ]
    lane.commit([row_of(n) for n in range(9)], given, [], [])
    columns = lane.verdicts(time_of(2), time_of(7), limit=6)
    for key in ("number", "time", "score", "p_value", "anomaly", "cardinality", "vanished"):
        assert columns[key].tolist() == [getattr(verdict, key) for verdict in given[2:8]], key
    assert columns["number"].dtype == columns["appeared"].dtype == np.int64
    assert columns["score"].dtype == np.float64
    np.testing.assert_array_equal(columns["evidence.level"], [np.nan, 3, np.nan, 5, np.nan, 7])
    assert lane.verdicts()["number"].tolist() == list(range(9))


def test_many_verdicts_are_thinned_to_the_worst(lane: LaneStore) -> None:
    rng = np.random.default_rng(3)
    anomalies = rng.random(1000)
    anomalies[[13, 500, 999]] = [7, np.inf, 5]
    given = [verdict_of(n, anomaly=float(a)) for n, a in enumerate(anomalies)]
    given[700:720] = [replace(v, anomaly=float("nan")) for v in given[700:720]]
    lane.commit([row_of(n, ("a",)) for n in range(1000)], given, [], [])
    columns = lane.verdicts(limit=60)
    assert len(columns["number"]) == 60
    assert {13, 500, 999} <= set(columns["number"].tolist())
    assert (np.diff(columns["time"]) > 0).all()
    for key in ("score", "p_value", "anomaly", "time"):  # a point is one verdict, not a mixture
        expected = [getattr(given[n], key) for n in columns["number"]]
        np.testing.assert_array_equal(columns[key], expected)
    assert columns["appeared"].sum() == sum(verdict.appeared for verdict in given)
    assert columns["vanished"].sum() == sum(verdict.vanished for verdict in given)
    edges = np.linspace(time_of(0), time_of(999) + 1, 61)
    for start, end, number in zip(edges[:-1], edges[1:], columns["number"], strict=True):
        part = [v for v in given if start <= v.time < end and not np.isnan(v.anomaly)]
        if part:
            assert number == max(part, key=lambda v: v.anomaly).number


def test_no_verdicts(lane: LaneStore) -> None:
    columns = lane.verdicts(5, 10, limit=3)
    assert len(columns) == 8
    assert all(len(column) == 0 for column in columns.values())


# ---------------------------------------------------------------------- presence


def test_presence_shows_who_came_and_went(lane: LaneStore) -> None:
    rows = []
    for number in range(60):
        names = ["always"]
        names += ["early"] if number < 30 else ["late"]
        names += ["half"] if 20 <= number < 40 and number % 2 else []
        rows.append(row_of(number, tuple(names)))
    lane.commit(rows, [None] * 60, [], [])
    seen = lane.presence(time_of(0), time_of(60) - 1, n_columns=12, n_names=10)
    assert seen.n_seen == 4
    assert seen.edges.tolist() == [time_of(5 * column) for column in range(13)]
    table = dict(zip(seen.names, seen.shares, strict=True))
    assert seen.names == ("early", "always", "half", "late")
    assert table["always"].tolist() == [1] * 12
    assert table["early"].tolist() == [1] * 6 + [0] * 6
    assert table["late"].tolist() == [0] * 6 + [1] * 6
    np.testing.assert_allclose(table["half"][4:8], [0.4, 0.6, 0.4, 0.6])
    chosen = lane.presence(time_of(0), time_of(60) - 1, n_columns=12, n_names=3)
    assert set(chosen.names) == {"early", "half", "late"}  # what never changes is left out first
    assert chosen.n_seen == 4


def test_presence_without_rows_is_unknown(lane: LaneStore) -> None:
    for number in (0, 1, 8, 9):
        lane.commit([row_of(number, ("a",))], [None], [], [])
    seen = lane.presence(time_of(0), time_of(10) - 1, n_columns=5, n_names=5)
    np.testing.assert_array_equal(seen.shares, [[1, np.nan, np.nan, np.nan, 1]])
    nothing = lane.presence(0, 1000, n_columns=4, n_names=5)
    assert (nothing.names, nothing.shares.shape, nothing.n_seen) == ((), (0, 4), 0)


def test_presence_looks_at_a_few_rows_of_a_long_time(lane: LaneStore) -> None:
    rows = [row_of(number, ("a", f"b{number // 100}")) for number in range(1000)]
    lane.commit(rows, [None] * 1000, [], [])
    seen = lane.presence(time_of(0), time_of(1000) - 1, n_columns=10, n_names=20)
    assert seen.names == ("b0", "a", *(f"b{column}" for column in range(1, 10)))
    expected = np.eye(10)
    np.testing.assert_array_equal(seen.shares[[0, *range(2, 11)]], expected)


# ---------------------------------------------------------------------- traces


def test_traces_are_what_was_put_in(lane: LaneStore) -> None:
    for number in range(20):
        names = ("a", "b") if number % 4 else ("b",)
        values = np.array([number, -number][-len(names) :], np.float32)
        lane.commit([Row(time=time_of(number), names=names, values=values)], [None], [], [])
    found = lane.traces(["a", "b", "c"], time_of(3), time_of(9))
    assert list(found) == ["a", "b", "c"]
    times, values = found["a"]
    assert ((times - time_of(0)) // STEP).tolist() == [3, 5, 6, 7, 9]
    assert values.tolist() == [3, 5, 6, 7, 9]
    assert found["b"][1].tolist() == [-number for number in range(3, 10)]
    assert (found["c"][0].size, found["c"][1].dtype) == (0, np.float32)


def test_long_traces_are_thinned_with_both_ends(lane: LaneStore) -> None:
    for _ in range(100):
        commit_row(lane, row=row_of(lane.n_rows, ("a",)))
    times, values = lane.traces(["a"], 0, time_of(1000), limit=10)["a"]
    assert ((times - time_of(0)) // STEP).tolist() == [0, 11, 22, 33, 44, 55, 66, 77, 88, 99]
    assert values.tolist() == [float(row_of(n, ("a",)).values[0]) for n in range(0, 100, 11)]
