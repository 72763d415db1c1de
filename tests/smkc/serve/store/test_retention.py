import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.smkc.serve.store.making import (
    STEP,
    alert_of,
    everything,
    message_of,
    row_of,
    time_of,
    verdict_of,
)

from smkc.serve.store import Event, LaneStore, Store, StoreError
from smkc.serve.store.names import TOUCH_ROWS

FOR_EVER = 10**13


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path) as opened:
        yield opened


def put(lane: LaneStore, n: int, names: tuple[str, ...] | None = None) -> None:
    for number in range(lane.n_rows, lane.n_rows + n):
        lane.commit([row_of(number, names)], [verdict_of(number)], [], [])


def count(store: Store, table: str) -> int:
    with closing(sqlite3.connect(store.path)) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def keep_rows(store: Store, n: int, n_rows: int) -> None:
    """Keep the last n of a lane's n_rows rows."""
    store.retain(time_of(n_rows), n * STEP, FOR_EVER, FOR_EVER)


def test_old_rows_go_and_the_rest_stays(store: Store) -> None:
    lane, other = store.lane("w", "a"), store.lane("w", "b")
    put(lane, 100)
    put(other, 50)
    keep_rows(store, 30, 100)
    assert (lane.first_kept_row, lane.n_rows, lane.last_time) == (70, 100, time_of(99))
    assert (other.first_kept_row, other.n_rows, other.last_time) == (50, 50, time_of(49))
    assert [number for number, _ in lane.each_row(70)] == list(range(70, 100))
    assert len(lane.rows(80, 100)) == 20
    for read in (lambda: lane.rows(69, 100), lambda: list(lane.each_row(0))):
        with pytest.raises(StoreError, match="no longer kept") as gone:
            read()
        assert not gone.value.is_damaged
    assert len(lane.verdicts(limit=1000)["number"]) == 100
    before = everything(store)
    keep_rows(store, 30, 100)
    assert everything(store) == before
    put(lane, 1)
    put(other, 1)
    assert [number for number, _ in other.each_row(50)] == [50]


def test_a_lane_whose_rows_are_gone_goes_on_after_a_restart(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        put(store.lane("w", ""), 20)
        keep_rows(store, 0, 100)
    with Store.open(tmp_path) as store:
        assert store.set_aside == []
        lane = store.lane("w", "")
        assert (lane.n_rows, lane.first_kept_row, lane.last_time) == (20, 20, time_of(19))
        put(lane, 1)
        assert lane.first_kept_row == 20


def test_rows_that_are_needed_stay(store: Store) -> None:
    lane = store.lane("w", "")
    put(lane, 100)
    lane.need_rows_from(40)
    keep_rows(store, 10, 100)
    assert lane.first_kept_row == 40
    lane.need_rows_from(95)
    keep_rows(store, 10, 100)
    assert lane.first_kept_row == 90


def test_names_go_with_the_last_row_that_has_them(store: Store) -> None:
    lane = store.lane("w", "")
    n_rows = 4 * TOUCH_ROWS
    for number in range(n_rows):
        names = ["always", f"once{number}"]
        names += ["seldom"] if number % 300 == 0 else []
        lane.commit([row_of(number, tuple(names))], [None], [], [])
    expected = {number: row.names for number, row in lane.each_row(0)}
    for kept in (2 * TOUCH_ROWS, TOUCH_ROWS, 10):
        keep_rows(store, kept, n_rows)
        assert kept <= count(store, "names") <= kept + TOUCH_ROWS + 2
        actual = {number: row.names for number, row in lane.each_row(n_rows - kept)}
        assert actual == {number: expected[number] for number in range(n_rows - kept, n_rows)}
        names = ("once1", "always", "seldom", f"once{n_rows - 1}")  # some removed, some not
        lane.commit([row_of(n_rows, names)], [None], [], [])
        expected[n_rows] = names
        n_rows += 1
        assert next(row.names for _, row in lane.each_row(n_rows - 1)) == names
    keep_rows(store, 0, n_rows + 10)
    assert count(store, "names") == 0
    put(lane, 2, ("always", "new"))
    assert [row.names for _, row in lane.each_row(n_rows)] == [("always", "new")] * 2


def test_a_name_in_use_for_long_is_never_lost(tmp_path: Path) -> None:
    # restarts and rows without the name in between: what is in memory is not relied on
    n_rows = 0
    for round_ in range(6):
        with Store.open(tmp_path) as store:
            lane = store.lane("w", "")
            for _ in range(150):
                names = ("always",) if n_rows % 70 else ("always", "seldom")
                lane.commit([row_of(n_rows, names)], [None], [], [])
                n_rows += 1
            keep_rows(store, 100, n_rows)
            rows = list(lane.each_row(lane.first_kept_row))
            assert len(rows) == 100, round_
            assert all(("seldom" in row.names) == (number % 70 == 0) for number, row in rows)


def test_scores_and_alerts_have_times_of_their_own(store: Store) -> None:
    lane = store.lane("w", "")
    put(lane, 100)
    lane.commit([], [], [alert_of(n, is_open=n == 3) for n in range(0, 100, 3)], [])
    store.retain(time_of(100), FOR_EVER, 20 * STEP, 60 * STEP)
    assert lane.first_kept_row == 0
    assert lane.verdicts()["number"].tolist() == list(range(80, 100))
    # an alert lasts for two rows; the one that goes on stays
    starts = [alert.record.first_row for alert in store.alerts()]
    assert starts == [n for n in range(99, -1, -3) if n + 2 >= 40 or n == 3]


def test_events_before_the_first_row_go_but_the_latest_fit(store: Store) -> None:
    lane = store.lane("w", "")
    for number in range(10):
        kind = "fit" if number in (2, 4) else "accept"
        lane.commit([row_of(number)], [None], [], [], [Event(at_row=number, kind=kind)])
    keep_rows(store, 2, 10)
    assert [event.number for event in lane.events(0)] == [4, 8, 9]
    put(lane, 5)
    keep_rows(store, 0, 100)
    assert [(event.number, event.kind) for event in lane.events(0)] == [(4, "fit"), (9, "accept")]
    lane.commit([], [], [], [], [Event(at_row=15, kind="accept")])
    assert lane.events(0)[-1].number == 10


def test_messages_go_when_they_are_no_longer_of_use(store: Store) -> None:
    lane = store.lane("w", "")
    for number in range(10):
        lane.commit([row_of(number)], [None], [], [message_of(str(number))])
    for message in store.due(0, 8):
        store.settle(message.id)
    store.retain(time_of(10), 4 * STEP, FOR_EVER, FOR_EVER)
    assert count(store, "outbox") == 4  # 6 and 7, which were sent, and 8 and 9, which were not
    store.retain(time_of(10), FOR_EVER, FOR_EVER, STEP)
    assert [message.key for message in store.due(0, 10)] == ["9"]


def test_room_is_given_back(store: Store) -> None:
    lane = store.lane("w", "")
    names = tuple(f"v{v}" for v in range(5000))
    rows = [row_of(number, names) for number in range(400)]
    lane.commit(rows, [None] * 400, [], [])
    big = store.size_bytes()
    keep_rows(store, 5, 400)
    put(lane, 1)
    store.close()
    assert store.size_bytes() < big / 2
    assert store.size_bytes() < 8 * 2**20
    with Store.open(store.path.parent) as again:
        assert again.set_aside == []
        assert len(list(again.lane("w", "").each_row(395))) == 6


def test_a_row_of_any_age_survives_a_clock_that_went_back(store: Store) -> None:
    lane = store.lane("w", "")
    lane.commit([row_of(5)], [replace(verdict_of(0), time=time_of(5))], [alert_of(5)], [])
    before = everything(store)
    store.retain(0, 1, 1, 1)
    assert everything(store) == before
    assert len(lane.verdicts()["number"]) == 1
