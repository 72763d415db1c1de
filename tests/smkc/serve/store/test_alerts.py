from dataclasses import replace
from pathlib import Path

import pytest
from tests.smkc.serve.store.making import alert_of, row_of, time_of

from smkc.serve.store import Store


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path) as opened:
        yield opened


def test_an_alert_grows_and_closes_and_keeps_what_people_said(store: Store) -> None:
    lane = store.lane("w", "")
    lane.commit([row_of(0)], [None], [alert_of(0)], [])
    assert lane.open_alert() == alert_of(0)
    id = alert_of(0).id
    store.acknowledge(id, "ann", "looking \ud800", 5)
    store.give_feedback(id, "bob")
    closed = replace(alert_of(0, is_open=False), end=time_of(9), anomaly=4.0)
    lane.commit([row_of(1)], [None], [closed], [])
    assert lane.open_alert() is None
    found = store.alert(id)
    assert found is not None
    assert found.record == closed
    assert (found.acknowledged_by, found.acknowledged_at, found.note) == (
        "ann",
        5,
        "looking \ud800",
    )
    assert found.feedback == "bob"
    assert len(store.alerts()) == 1


def test_an_alert_that_nobody_spoke_of(store: Store) -> None:
    store.lane("w", "").commit([], [], [alert_of(0)], [])
    found = store.alerts()[0]
    assert found.acknowledged_by is found.note is found.feedback is None


def test_unknown_alerts_are_none(store: Store) -> None:
    store.acknowledge("no", "ann", "", 0)
    store.give_feedback("no", "ann")
    assert store.alert("no") is None
    assert store.alerts(before_id="no") == []


def test_alerts_are_found_by_lane_time_and_page(store: Store) -> None:
    for number in range(10):
        entity = "ab"[number % 2]
        store.lane("w", entity).commit(
            [], [], [alert_of(number, is_open=number > 7, entity=entity)], []
        )
    store.lane("v", "a").commit([], [], [alert_of(10, watch="v", entity="a", is_open=False)], [])

    def found(**asked: object) -> list[int]:
        return [alert.record.first_row for alert in store.alerts(**asked)]  # type: ignore[arg-type]

    assert found() == list(range(10, -1, -1))
    assert found(watch="w", entity="a") == [8, 6, 4, 2, 0]
    assert found(entity="a") == [10, 8, 6, 4, 2, 0]
    assert found(watch="v") == [10]
    assert found(open_only=True) == [9, 8]
    # an alert lasts for two rows: what overlaps counts
    assert found(since=time_of(8)) == [10, 9, 8, 7, 6]
    assert found(until=time_of(2)) == [2, 1, 0]
    assert found(since=time_of(4), until=time_of(4)) == [4, 3, 2]
    first = store.alerts(limit=4)
    assert found(limit=4, before_id=first[-1].record.id) == [6, 5, 4, 3]
