import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.smkc.serve.store.making import (
    START,
    alert_of,
    commit_row,
    everything,
    message_of,
    row_of,
    time_of,
    verdict_of,
)

from smkc.recording import Recording
from smkc.serve.rows import Row
from smkc.serve.store import Event, Store, StoreError
from smkc.serve.store.packing import (
    from_bytes,
    pack_evidences,
    pack_row,
    to_bytes,
    unpack_evidences,
    unpack_row,
)


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path / "data") as opened:
        yield opened


def same_row(expected: Row, actual: Row) -> bool:
    return (
        (expected.time, expected.names) == (actual.time, actual.names)
        and actual.values.dtype == np.float32
        and expected.values.tobytes() == actual.values.tobytes()
    )


# ---------------------------------------------------------------------- packing


@given(st.lists(st.integers(0, 2**31 - 1)), st.randoms(use_true_random=False))
def test_rows_are_packed_exactly(codes: list[int], random) -> None:
    values = np.array([random.uniform(-1e30, 1e30) for _ in codes], np.float32)
    packed = pack_row(np.array(codes, np.int32), values)
    actual_codes, actual_values = unpack_row(packed, len(codes))
    assert actual_codes.tolist() == codes
    assert actual_values.tobytes() == values.tobytes()
    with pytest.raises(ValueError, match="holds"):
        unpack_row(packed, len(codes) + 1)


def test_a_row_that_claims_to_be_huge_is_not_unpacked_whole() -> None:
    bomb = pack_row(np.ones(4_000_000, np.int32).cumsum(dtype=np.int32), np.zeros(4_000_000))
    with pytest.raises(ValueError, match="a row of 2 observations holds 17 bytes"):
        unpack_row(bomb, 2)


@given(st.dictionaries(st.integers(0, 2**16 - 1), st.floats(), max_size=5))
def test_evidences_are_packed_exactly(nats: dict[int, float]) -> None:
    codes, values = unpack_evidences(pack_evidences(list(nats), list(nats.values())))
    assert codes == list(nats)
    assert np.array(values).tobytes() == np.array(list(nats.values()), float).tobytes()


@given(st.text(st.characters(exclude_categories=[])))
def test_any_text_comes_back(text: str) -> None:
    assert from_bytes(to_bytes(text)) == text


# ---------------------------------------------------------------------- rows


def test_rows_come_back_as_they_were_also_after_a_restart(tmp_path: Path) -> None:
    expected = [row_of(number) for number in range(150)]
    with Store.open(tmp_path) as store:
        lane = store.lane("w", "prod")
        lane.commit(expected[:100], [None] * 100, [], [])
        for row in expected[100:]:
            lane.commit([row], [None], [], [])
        assert (lane.n_rows, lane.last_time, lane.first_kept_row) == (150, time_of(149), 0)
        before = everything(store)
    with Store.open(tmp_path) as store:
        assert store.set_aside == []
        lane = store.lane("w", "prod")
        assert (lane.n_rows, lane.last_time, lane.first_kept_row) == (150, time_of(149), 0)
        actual = list(lane.each_row(0))
        assert [number for number, _ in actual] == list(range(150))
        assert all(same_row(a, b) for a, (_, b) in zip(expected, actual, strict=True))
        assert [number for number, _ in lane.each_row(131)] == list(range(131, 150))
        assert everything(store) == before
        commit_row(lane)
        assert lane.n_rows == 151


def test_rows_as_a_recording_equal_what_was_put_in(store: Store) -> None:
    rng = np.random.default_rng(5)
    lane = store.lane("w", "")
    rows = []
    for number in range(200):
        names = rng.permutation([f"v{v}" for v in rng.choice(40, rng.integers(0, 20), False)])
        rows.append(row_of(number, tuple(names.tolist())))
    lane.commit(rows, [None] * 200, [], [])
    expected = Recording.from_rows(
        np.array([row.time for row in rows[20:170]], "datetime64[ms]"),
        [dict(zip(row.names, row.values.tolist(), strict=True)) for row in rows[20:170]],
    )
    actual = lane.rows(20, 170)
    assert actual == expected
    assert actual.times.dtype == np.dtype("datetime64[ns]")
    assert (actual.codes.dtype, actual.values.dtype) == (np.int32, np.float32)
    assert np.array_equal(actual.indptr, expected.indptr)
    assert len(lane.rows(7, 7)) == 0


def test_rows_that_are_not_there_are_refused(store: Store) -> None:
    lane = store.lane("w", "")
    lane.commit([row_of(0), row_of(1)], [None] * 2, [], [])
    with pytest.raises(
        StoreError, match="rows 0 to 2 of lane 1 were asked for, and there are none from 2"
    ):
        lane.rows(0, 3)


def test_odd_names_values_and_rows_without_any(store: Store) -> None:
    names = ("", "a\0b", "\ud800", "\N{SNOWMAN}", 'x{a="\\""}', "y" * 5000)
    values = np.array([0.0, -0.0, 1e-45, 3e38, -1.5, 7], np.float32)
    lane = store.lane("w", "\udfff/1")
    lane.commit([Row(time=START, names=names, values=values), row_of(1, ())], [None, None], [], [])
    (_, first), (_, second) = lane.each_row(0)
    assert same_row(Row(time=START, names=names, values=values), first)
    assert second.names == ()
    assert store.lanes()[0].entity == "\udfff/1"


def test_lanes_do_not_see_each_other(store: Store) -> None:
    a, b = store.lane("w", "a"), store.lane("w", "b")
    assert store.lane("w", "a") is a
    a.commit([row_of(0, ("x", "y"))], [None], [alert_of(0)], [])
    b.commit([row_of(5, ("y", "z"))], [replace(verdict_of(0), time=time_of(5))], [], [])
    assert [row.names for _, row in a.each_row(0)] == [("x", "y")]
    assert [row.names for _, row in b.each_row(0)] == [("y", "z")]
    assert a.latest_verdicts(1) == []
    assert b.open_alert() is None
    assert [lane.entity for lane in store.lanes()] == ["a", "b"]


@pytest.mark.parametrize(
    ("row", "match"),
    [
        (row_of(2), "not after the last"),
        (row_of(1), "not after the last"),
        (Row(time=time_of(4), names=("a", "a"), values=np.ones(2, np.float32)), "twice"),
        (Row(time=time_of(4), names=("a",), values=np.ones(2, np.float32)), "one finite value"),
        (Row(time=time_of(4), names=("a",), values=np.full(1, np.nan, np.float32)), "finite"),
        (Row(time=-1, names=(), values=np.ones(0, np.float32)), "1970"),
        (Row(time=10**14, names=(), values=np.ones(0, np.float32)), "2262"),
    ],
    ids=["same time", "earlier", "name twice", "shape", "nan", "negative", "far"],
)
def test_a_row_that_does_not_follow_is_refused_whole(store: Store, row: Row, match: str) -> None:
    lane = store.lane("w", "")
    for _ in range(3):
        commit_row(lane)
    before = everything(store)
    with pytest.raises(StoreError, match=match):
        lane.commit([row], [None], [alert_of(1)], [message_of("new")])
    with pytest.raises(StoreError, match=match):
        lane.commit([row_of(3), row], [None, None], [], [])
    assert everything(store) == before
    assert lane.n_rows == 3
    lane.commit([row_of(3, ("new", "a"))], [None], [], [])
    assert next(iter(lane.each_row(3)))[1].names == ("new", "a")


def test_verdicts_and_events_must_fit_their_rows(store: Store) -> None:
    lane = store.lane("w", "")
    with pytest.raises(StoreError, match="0 verdicts for 1 rows"):
        lane.commit([row_of(0)], [], [], [])
    with pytest.raises(StoreError, match="says row 1"):
        lane.commit([row_of(0)], [verdict_of(1)], [], [])
    for places in ([2], [1, 0], [-1]):
        with pytest.raises(StoreError, match="do not fit"):
            lane.commit(
                [row_of(0)], [None], [], [], [Event(at_row=at, kind="fit") for at in places]
            )
    assert lane.n_rows == 0


def test_the_latest_verdicts_are_exact(store: Store) -> None:
    lane = store.lane("w", "")
    assert lane.latest_verdicts(2) == []
    odd = replace(
        verdict_of(0), score=math.nan, p_value=0.0, anomaly=math.inf, evidences={"e\udc00": 1e300}
    )
    lane.commit([row_of(0), row_of(1)], [odd, None], [], [])
    (actual,) = lane.latest_verdicts(2)
    assert math.isnan(actual.score)
    assert replace(actual, score=0) == replace(odd, score=0)
    others = [verdict_of(number) for number in (2, 3)]
    lane.commit([row_of(2), row_of(3)], others, [], [])
    assert lane.latest_verdicts(2) == others


# ---------------------------------------------------------------------- events


def test_events_keep_their_order_and_content(store: Store) -> None:
    lane, other = store.lane("w", ""), store.lane("v", "")
    other.commit([], [], [], [], [Event(at_row=0, kind="fit")])
    lane.commit([], [], [], [], [Event(at_row=0, kind="fit", content={"rows": [0, 9]})])
    lane.commit(
        [row_of(0), row_of(1)],
        [None, None],
        [],
        [],
        [Event(at_row=1, kind="accept", content={"a": "\ud800"}), Event(at_row=2, kind="fit")],
    )
    assert lane.events(0) == [
        Event(at_row=0, kind="fit", content={"rows": [0, 9]}, number=0),
        Event(at_row=1, kind="accept", content={"a": "\ud800"}, number=1),
        Event(at_row=2, kind="fit", number=2),
    ]
    assert [event.number for event in lane.events(1)] == [1, 2]


# ---------------------------------------------------------------------- closing


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    lane = store.lane("w", "")
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        commit_row(lane)
    with pytest.raises(StoreError, match="closed"):
        store.alerts()
