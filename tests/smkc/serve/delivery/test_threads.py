import pytest
from tests.smkc.serve.delivery.parts import START, alert_at, config_with, eventually, put, server

from smkc.serve.delivery import Delivery
from smkc.serve.store import Store


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "data") as made:
        yield made


def test_a_slow_receiver_holds_up_no_other(store):
    with server() as slow, server() as quick:
        config = config_with(
            webhook=[
                {"name": "slow", "url": slow.url, "timeout": "30s"},
                {"name": "quick", "url": quick.url},
            ]
        )
        slow.answers = ["slow"]
        delivery = Delivery(store, config, lambda: START)
        delivery.start()
        try:
            put(store, config, [("open", alert_at())])
            eventually(lambda: slow.requests and quick.requests)
            put(store, config, [("close", alert_at(is_open=False))])
            eventually(lambda: len(quick.requests) == 2)
            assert len(slow.requests) == 1
        finally:
            slow.leave.set()
            delivery.stop()


def test_what_is_wrong_is_said_until_it_is_well_again(store):
    now = START
    with server() as hook:
        config = config_with(webhook=[{"name": "pager", "url": hook.url}])
        hook.answers = [500, (400, {}, b"never")]
        put(store, config, [("open", alert_at())])
        put(store, config, [("close", alert_at(is_open=False))])
        delivery = Delivery(store, config, lambda: now)
        assert delivery.problems() == []
        (courier,) = delivery.workers
        courier.step(now)
        (problem,) = delivery.problems()
        assert problem.startswith("webhook pager since 2026-09-21T14:13:30.000Z: answered 500")
        now = START + 60_000
        courier.step(now)
        (problem,) = delivery.problems()
        assert problem.startswith("webhook pager: 1 messages dropped, the latest at")
        now += 86_400_000
        assert delivery.problems() == []
        delivery.stop()


def test_a_store_that_fails_is_waited_out(store, caplog):
    with server() as hook:
        config = config_with(webhook=[{"name": "pager", "url": hook.url}])
        put(store, config, [("open", alert_at())])
        with store._database.alone("refuse to write") as connection:
            connection.execute("PRAGMA query_only = ON")
        delivery = Delivery(store, config, lambda: START)
        delivery.start()
        try:
            eventually(lambda: "waits" in caplog.text)
            with store._database.alone("write again") as connection:
                connection.execute("PRAGMA query_only = OFF")
            eventually(lambda: store.n_waiting() == 0)
        finally:
            delivery.stop()
        assert len(hook.requests) == 1


def test_stopping_twice_or_without_receivers_is_fine(store):
    delivery = Delivery(store, config_with(), lambda: START)
    delivery.start()
    delivery.stop()
    delivery.stop()
    assert delivery.status() == ()
