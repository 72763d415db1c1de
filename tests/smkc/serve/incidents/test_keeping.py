"""Incidents in the store: with their alerts, after a restart, in any order, and in old files."""

import random
import sqlite3
from contextlib import closing
from dataclasses import replace
from string import ascii_lowercase

import pytest
from tests.smkc.serve.delivery.parts import START
from tests.smkc.serve.incidents.parts import alert, commit, config_of_shop, parts_of

from smkc.serve.store import Store, StoreError, opening

SHOP = config_of_shop(dependencies={"shop": ["postgres"]})
DAY = 86_400_000


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path) as opened:
        yield opened


def ids(*alerts):
    return frozenset(one.id for one in alerts)


def test_alerts_that_share_a_dependency_are_one_incident(store):
    cart, database = alert("shop/cart", 0), alert("postgres", 30)
    stranger = alert("hosts/h1", 30)
    for one in (cart, database, stranger):
        commit(store, SHOP, ("open", one))
    assert parts_of(store) == {ids(cart, database), ids(stranger)}
    (_, _), (incident, alerts) = store.incidents()
    assert (incident.id, incident.is_open) == (cart.id, True)
    assert alerts == [cart, database]
    assert store.alert(database.id).incident == cart.id
    assert store.n_open_incidents() == 2


def test_an_incident_is_open_while_one_of_its_alerts_is_and_opens_again(store):
    cart, database = alert("shop/cart", 0), alert("postgres", 30)
    for one in (cart, database):
        commit(store, SHOP, ("open", one))
    commit(store, SHOP, ("close", alert("shop/cart", 0, 60)))
    assert store.incident(cart.id)[0].is_open
    commit(store, SHOP, ("close", alert("postgres", 30, 90)))
    closed, _ = store.incident(cart.id)
    assert (closed.is_open, closed.start, closed.end) == (False, START, START + 90_000)
    assert store.incidents(open_only=True) == []
    commit(store, SHOP, ("open", alert("shop/search", 90 + 300)))
    assert store.incident(cart.id)[0].is_open
    commit(store, SHOP, ("open", alert("hosts/h1", 90 + 300)))
    assert [one.id for one, _ in store.incidents(open_only=True)] == [
        alert("hosts/h1", 390).id,
        cart.id,
    ]


def test_incidents_that_turn_out_to_be_one_are_merged_into_the_first(store):
    cart, search = alert("shop/cart", 0, None, "x"), alert("shop/search", 15, None, "y")
    both = alert("hosts/h1", 30, None, "x", "y")
    plain = config_of_shop()
    for one in (cart, search):
        commit(store, plain, ("open", one))
    assert store.n_open_incidents() == 2
    commit(store, plain, ("open", both))
    ((incident, alerts),) = store.incidents()
    assert (incident.id, alerts) == (cart.id, [cart, search, both])
    assert store.incident(search.id) == (incident, alerts)  # links that were sent lead there
    assert store.n_open_incidents() == 1
    # and a merged one is never merged into by others
    last = alert("shop/last", 45, None, "y")
    commit(store, plain, ("open", last))
    assert parts_of(store) == {ids(cart, search, both, last)}


def test_what_a_later_row_blames_joins_incidents_too(store):
    cart, search = alert("shop/cart", 0, None, "x"), alert("shop/search", 0, None, "y")
    for one in (cart, search):
        commit(store, config_of_shop(), ("open", one))
    worse = replace(alert("shop/search", 0, None, "x"), end=search.end + 15_000)
    commit(store, config_of_shop(), ("go on", worse))
    assert parts_of(store) == {ids(cart, search)}


def test_it_survives_a_restart(tmp_path):
    cart, database = alert("shop/cart", 0), alert("postgres", 30)
    with Store.open(tmp_path) as store:
        commit(store, SHOP, ("open", cart))
        before = store.incidents()
    with Store.open(tmp_path) as store:
        assert store.incidents() == before
        commit(store, SHOP, ("open", database))
        assert parts_of(store) == {ids(cart, database)}


def test_alerts_and_incidents_are_stored_together_or_not_at_all(store, monkeypatch):
    commit(store, SHOP, ("open", alert("shop/cart", 0)))
    before = store.incidents()

    def fail(*_):
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr("smkc.serve.incidents.keeping.put_incident", fail)
    with pytest.raises(StoreError):
        commit(store, SHOP, ("open", alert("postgres", 30)))
    assert store.incidents() == before
    assert len(store.alerts()) == 1
    assert store.lane("postgres", "").n_rows == 0


def life(lane, begin, end, *variables):
    """Return an alert's changes, each of which comes with a row."""
    opened = alert(lane, begin, None, *variables)
    grown = [("go on", replace(opened, end=START + 1000 * at)) for at in range(begin + 15, end, 15)]
    return [("open", opened), *grown, ("close", alert(lane, begin, end, *variables))]


def lives(choice):
    """Return the changes of some lanes, each in its order."""
    lanes = ["shop/cart", "shop/search", "postgres", "hosts/h1", "hosts/h2", "hosts/h3"]
    return [
        [
            change
            for begin in range(0, 6_000, 2_000)
            for change in life(
                lane,
                begin + choice.randrange(0, 400, 15),
                begin + choice.randrange(415, 900, 15),
                *choice.sample(ascii_lowercase, 3),
            )
        ]
        for lane in lanes
    ]


@pytest.mark.parametrize("seed", range(5))
def test_the_same_alerts_give_the_same_incidents_however_lanes_take_turns(tmp_path, seed):
    changes = lives(random.Random(seed))
    found = []
    for turns in (random.Random(1), random.Random(2), None):
        with Store.open(tmp_path / str(len(found))) as store:
            waiting = [list(lane) for lane in changes]
            while any(waiting):
                lane = next(filter(None, waiting)) if turns is None else turns.choice(waiting)
                if lane:
                    n = 1 if turns is None else turns.randint(1, 9)  # rows are committed in batches
                    commit(store, SHOP, *lane[:n])
                    del lane[:n]
            found.append((parts_of(store), {one.is_open for one, _ in store.incidents(limit=999)}))
            n_alerts = len(store.alerts(limit=10**6))
    parts, _ = found[0]
    assert found == [(parts, {False})] * 3
    assert sum(map(len, parts)) == n_alerts == 18
    assert 1 < len(parts) < 18


def test_the_same_changes_give_the_same_messages_in_batches_of_any_size(tmp_path):
    config = config_of_shop(webhook=[{"name": "hook", "url": "http://127.0.0.1:9"}])
    changes = lives(random.Random(3))
    told = []
    for size in (1, 7, 10**6):
        with Store.open(tmp_path / str(size)) as store:
            for lane in changes:
                for at in range(0, len(lane), size):
                    commit(store, config, *lane[at : at + size])
            told.append(_keys(store))
    assert told[0] == told[1] == told[2]
    assert len(set(told[0])) == len(told[0]) > 18


def _keys(store):
    with closing(sqlite3.connect(store.path)) as connection:
        return [bytes(key) for (key,) in connection.execute("SELECT key FROM outbox ORDER BY id")]


def test_old_incidents_go_with_their_alerts(store):
    for number, begin in enumerate((0, 10_000, 20_000)):
        is_last = number == 2
        commit(store, SHOP, ("open", alert("shop/cart", begin, None if is_last else begin + 60)))
    store.retain(START + 5_000_000, DAY, DAY, 10 * 60_000)
    assert [one.start for one, _ in store.incidents()] == [START + 20_000_000, START + 10_000_000]
    store.retain(START + 90_000_000, DAY, DAY, 10 * 60_000)
    ((left, _),) = store.incidents()
    assert left.is_open


def test_a_file_of_the_version_before_gets_incidents_and_keeps_its_alerts(tmp_path):
    cart = alert("shop/cart", 0)
    with Store.open(tmp_path) as store:
        store.lane("shop", "cart").commit([], [], [cart], [])
    path = tmp_path / opening.FILE
    with closing(sqlite3.connect(path, isolation_level=None)) as new:
        lane, old_alert = (
            new.execute(f"SELECT * FROM {table}").fetchone() for table in ("lanes", "alerts")
        )
    path.unlink()
    with closing(sqlite3.connect(path, isolation_level=None)) as old:
        opening._create(old, 1)
        old.execute(f"INSERT INTO lanes VALUES ({', '.join('?' * len(lane))})", lane)
        old.execute(f"INSERT INTO alerts VALUES ({', '.join('?' * 10)})", old_alert[:10])
    for _ in range(2):  # the second time it is up to date
        with Store.open(tmp_path) as store:
            assert store.set_aside == []
            assert store.alerts()[0].record == cart
            assert store.alerts()[0].incident is None
            assert store.incidents() == []
    with Store.open(tmp_path) as store:  # an alert that went on joins an incident at its next row
        commit(store, SHOP, ("go on", cart))
        assert parts_of(store) == {ids(cart)}


def test_a_damaged_incident_is_told(store):
    commit(store, SHOP, ("open", alert("shop/cart", 0)))
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute("UPDATE incidents SET names = '{'")
    with pytest.raises(StoreError, match="an incident cannot be read") as found:
        store.incidents()
    assert found.value.is_damaged
