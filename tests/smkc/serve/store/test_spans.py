"""Marked spans and acknowledgements in the store, and files of versions that had neither."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.smkc.serve.store.making import alert_of, everything, row_of, time_of, verdict_of

from smkc.serve.store import Acknowledgement, MarkedSpan, Store, StoreError, opening
from smkc.serve.store.opening import FILE

FOR_EVER = 10**13


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path) as opened:
        yield opened


def span(start: int, end: int | None, kind: str = "maintenance", **more: object) -> MarkedSpan:
    given = {"watch": "w", "who": "ann", "note": ""} | more
    return MarkedSpan(kind=kind, start=start, end=end, **given)  # type: ignore[arg-type]


def test_spans_are_found_by_time_entity_and_kind(store: Store) -> None:
    given = [
        span(10, 20, note="one \ud800"),
        span(15, None, "deploy", entity="a"),
        span(30, 40, "missed", entity="b\udc80"),
        span(5, 100, watch="other"),
    ]
    kept = [store.spans.add(one) for one in given]
    assert [replace(one, id=0) for one in kept] == given
    assert [one.id for one in kept] == [1, 2, 3, 4]

    def found(since: int, until: int, **asked: object) -> list[int]:
        return [one.id for one in store.spans.find("w", since, until, **asked)]  # type: ignore[arg-type]

    assert store.spans.find("w", 0, 100) == [kept[2], kept[1], kept[0]]
    assert found(0, 9) == []
    assert found(0, 10) == [1]
    assert found(20, 20) == [2, 1]
    assert found(21, 29) == [2]
    assert found(10**12, 10**12) == [2]
    assert found(0, 100, entity="a") == [2, 1]
    assert found(0, 100, entity="b\udc80") == [3, 1]
    assert found(0, 100, entity="") == [1]
    assert found(0, 100, kinds=("missed", "deploy")) == [3, 2]
    assert found(0, 100, limit=1) == [3]
    assert store.spans.counts("w") == {"maintenance": 1, "missed": 1, "deploy": 1}
    assert store.spans.counts("nobody") == {"maintenance": 0, "missed": 0, "deploy": 0}


def test_a_span_may_be_changed(store: Store) -> None:
    kept = [store.spans.add(span(10, 20)) for _ in range(2)]
    store.spans.change(kept[0].id, 90, "longer \ud800")
    assert store.spans.get("w", kept[0].id) == replace(kept[0], end=90, note="longer \ud800")
    assert store.spans.get("w", kept[1].id) == kept[1]


def test_a_span_ends_once_and_is_deleted(store: Store) -> None:
    id = store.spans.add(span(10, None)).id
    store.spans.end(id, 50)
    store.spans.end(id, 70)
    assert store.spans.get("w", id) == replace(span(10, 50), id=id)
    store.spans.end(id, 20)  # earlier: it was still to come then
    assert store.spans.get("w", id) == replace(span(10, 20), id=id)
    assert store.spans.get("other", id) is None
    store.spans.delete(id)
    store.spans.delete(id)
    assert store.spans.get("w", id) is None
    assert store.spans.add(span(1, 2)).id > id  # ids are never used again


def test_old_spans_go_with_the_alerts_and_open_ones_stay(store: Store) -> None:
    for one in (span(10, 20), span(10, None), span(10, 200)):
        store.spans.add(one)
    store.retain(1000, FOR_EVER, FOR_EVER, 900)
    assert [one.id for one in store.spans.find("w", 0, 1000)] == [3, 2]


def test_acknowledgements_are_kept_and_go_with_their_alert(store: Store) -> None:
    closed = [alert_of(number, is_open=False) for number in range(2)]
    store.lane("w", "").commit([row_of(0)], [verdict_of(0)], closed, [])
    first, second = (alert.id for alert in closed)
    store.acknowledge(first, "ann", "looking", 5)
    store.acknowledge(first, "bob \ud800", "", 6)
    store.acknowledge("no", "ann", "", 7)
    said = store.acknowledgements([first, second, "no"])
    assert said == {
        first: (
            Acknowledgement(by="bob \ud800", at=6, note=""),
            Acknowledgement(by="ann", at=5, note="looking"),
        ),
        second: (),
        "no": (),
    }
    assert store.acknowledgements([]) == {}
    latest = store.alert(first)
    assert latest is not None
    assert (latest.acknowledged_by, latest.acknowledged_at) == ("bob \ud800", 6)
    store.retain(time_of(1000), FOR_EVER, FOR_EVER, 1)
    assert store.alerts() == []
    assert store.acknowledgements([first]) == {first: ()}


# ---------------------------------------------------------------------- older files


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """Return a folder whose file is as version 1 left it: with two alerts, one acknowledged."""
    with Store.open(tmp_path) as store:
        alerts = [alert_of(number) for number in range(2)]
        store.lane("w", "").commit([row_of(0)], [verdict_of(0)], alerts, [])
        store.acknowledge(alerts[0].id, "ann \ud800", "looking", 5)
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as connection:
        connection.executescript(
            "DROP INDEX alerts_by_incident; ALTER TABLE alerts DROP COLUMN incident; "
            "DROP TABLE incidents; "
            "DROP TRIGGER acknowledgements_go; DROP TABLE acknowledgements; DROP TABLE spans; "
            "UPDATE about SET version = 1; PRAGMA user_version = 1"
        )
        assert opening._described(connection) == opening._expected(1)
    return tmp_path


def version_of(folder: Path) -> int:
    with closing(sqlite3.connect(folder / FILE)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_an_older_file_gets_the_new_tables_and_loses_nothing(older: Path) -> None:
    ids = [alert_of(number).id for number in range(2)]
    for _ in range(2):  # when it is opened for the second time, nothing is left to do
        with Store.open(older) as store:
            assert store.set_aside == []
            assert [alert.record for alert in store.alerts()] == [alert_of(1), alert_of(0)]
            assert store.lane("w", "").n_rows == 1
            assert store.acknowledgements(ids) == {
                ids[0]: (Acknowledgement(by="ann \ud800", at=5, note="looking"),),
                ids[1]: (),
            }
        assert version_of(older) == opening.VERSION
    with Store.open(older) as store:
        before = everything(store)
        store.spans.add(span(1, 2))
        store.acknowledge(ids[1], "bob", "", 9)
        assert everything(store)[0] == before[0]


def test_a_file_that_version_1_made_is_brought_up(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as connection:
        opening._create(connection, 1)
    with Store.open(tmp_path) as store:
        assert store.set_aside == []
        assert store.spans.add(span(1, 2)).id == 1
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        assert opening._described(connection) == opening._expected(opening.VERSION)


def test_a_change_that_fails_halfway_is_undone_and_tried_again(
    older: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        failing = (*opening._VERSIONS[:-1], "INSERT INTO nowhere VALUES (1);")
        patched.setattr(opening, "_VERSIONS", failing)
        with pytest.raises(StoreError, match="cannot open it"):
            Store.open(older)
    assert version_of(older) == 1
    with closing(sqlite3.connect(older / FILE)) as connection:
        assert opening._described(connection) == opening._expected(1)
    with Store.open(older) as store:
        assert store.set_aside == []
        assert len(store.acknowledgements([alert_of(0).id])[alert_of(0).id]) == 1


def test_an_older_file_that_contradicts_itself_is_set_aside(older: Path) -> None:
    with closing(sqlite3.connect(older / FILE, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE spans (id INTEGER)")
    with Store.open(older) as store:
        assert [path.name for path in store.set_aside] == [f"{FILE}.damaged-1"]
        assert store.alerts() == []


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE spans SET note = 'text'", "a span cannot be read"),
        ("UPDATE acknowledgements SET who = 5", "an acknowledgement cannot be read"),
    ],
)
def test_damage_that_shows_later_is_told(tmp_path: Path, statement: str, what: str) -> None:
    with Store.open(tmp_path) as store:
        store.lane("w", "").commit([], [], [alert_of(0)], [])
        store.acknowledge(alert_of(0).id, "ann", "", 5)
        store.spans.add(span(1, 2))
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as connection:
        connection.execute(statement)

    def read_both(store: Store) -> None:
        store.spans.find("w", 0, 10)
        store.acknowledgements([alert_of(0).id])

    with Store.open(tmp_path) as store, pytest.raises(StoreError, match=what) as found:
        read_both(store)
    assert found.value.is_damaged
