import json
import random
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest
from tests.prometheus_server import real_alertmanager
from tests.smkc.serve.delivery.parts import alert_at, config_with, eventually, put, server

from smkc.serve.delivery.courier import HOLDS_FOR, Courier
from smkc.serve.messages import instant
from smkc.serve.store import Store

pytestmark = pytest.mark.prometheus


@pytest.fixture
def hook():
    with server() as made:
        yield made


@pytest.fixture
def manager(hook):
    with real_alertmanager(hook.url) as made:
        yield made


@contextmanager
def courier_to(manager, tmp_path, **tables):
    config = config_with(
        alertmanager=[{"url": manager.url, "labels": {"team": "shop"}, "resend": "1s"}], **tables
    )
    with Store.open(tmp_path / "data") as store:
        courier = Courier(store, config, config.alertmanagers[0], random.Random(7))
        yield store, config, courier
        courier.receiver.close()


def now() -> int:
    return time.time_ns() // 1_000_000


def alerts_of(manager) -> list[dict]:
    return manager.get("/api/v2/alerts")


def notified(hook) -> list[tuple[str, str]]:
    """Return what people were told, in order: the state and the entity."""
    told = [json.loads(request.body) for request in hook.requests]
    return [(one["status"], one["commonLabels"]["entity"]) for one in told]


def test_an_alert_arrives_stays_and_is_resolved(manager, hook, tmp_path):
    with courier_to(manager, tmp_path) as (store, config, courier):
        began = now() // 1000 * 1000
        alert = alert_at(began)
        put(store, config, [("open", alert)], began)
        # Times that lie back, so that what is told holds for three seconds of ours.
        back = HOLDS_FOR * 1000 - 3000
        courier.step(now() - back)
        (told,) = alerts_of(manager)
        assert told["labels"] == {
            "alertname": "SmkcAnomaly",
            "watch": "shop",
            "entity": "checkout",
            "team": "shop",
        }
        assert told["status"]["state"] == "active"
        assert told["annotations"]["causes"].splitlines()[1].startswith("61% level: cpu")
        assert told["generatorURL"] == f"https://smkc.example/alerts/{alert.id}"
        assert told["annotations"]["link"] == told["generatorURL"]
        for _ in range(18):
            time.sleep(0.25)
            courier.step(now() - back)
            assert alerts_of(manager), "it expired although it was told again"
        closed = alert_at(began, end=began + 1000, is_open=False)
        put(store, config, [("close", closed)], began + 15_000)
        courier.step(now())
        assert alerts_of(manager) == []
        eventually(lambda: ("resolved", "checkout") in notified(hook))
        courier.step(now() + 2000)
        assert alerts_of(manager) == []
        assert notified(hook) == [("firing", "checkout"), ("resolved", "checkout")]
        assert store.n_waiting() == 0


def test_an_alert_that_nobody_tells_of_again_expires(manager, hook, tmp_path):
    with courier_to(manager, tmp_path) as (store, config, courier):
        began = now() // 1000 * 1000
        put(store, config, [("open", alert_at(began))], began)
        courier.step(now() - HOLDS_FOR * 1000 + 1000)
        assert alerts_of(manager)
        eventually(lambda: not alerts_of(manager))


def test_down_for_ten_minutes_nothing_is_lost_and_nothing_doubled(manager, hook, tmp_path):
    manager.stop()
    with courier_to(manager, tmp_path) as (store, config, courier):
        end = now() // 1000 * 1000
        start = end - 600_000
        lasting = alert_at(start)
        passed = alert_at(start + 1, entity="payment")
        put(store, config, [("open", lasting), ("open", passed)], start)
        for at in range(start, end, 1000):
            if at == start + 300_000:
                over = alert_at(start + 1, entity="payment", end=at - 60_000, is_open=False)
                worse = alert_at(start, anomaly=4.0, peak=at, end=at)
                put(store, config, [("update", worse), ("close", over)], at)
            courier.step(at)
        status = courier.receiver.status()
        assert status.sent == 0
        assert 8 <= status.failed <= 16
        assert "cannot be reached" in status.last_error
        assert store.n_waiting() == 4
        manager.start()
        for at in range(end, end + 301_000, 1000):  # the wait that is under way ends in there
            courier.step(at)
            if store.n_waiting() == 0:
                break
        assert store.n_waiting() == 0
        (told,) = alerts_of(manager)
        assert told["labels"]["entity"] == "checkout"
        assert told["annotations"]["summary"].startswith("shop, checkout is anomalous")
        eventually(lambda: ("firing", "checkout") in notified(hook))
        time.sleep(1.5)  # a group's interval: what would be told twice is told by now
        assert notified(hook).count(("firing", "checkout")) == 1
        assert notified(hook).count(("firing", "payment")) <= 1
        assert courier.receiver.status().failing_since is None


def test_an_open_alert_that_is_muted_is_not_told(manager, hook, tmp_path):
    with courier_to(manager, tmp_path) as (store, config, courier):
        began = now() // 1000 * 1000
        put(store, config, [], began)
        muted = alert_at(began, is_muted=True)
        store.lane("shop", "checkout").commit([], [], [muted], [])
        courier.step(now())
        courier.step(now() + 5000)
        assert alerts_of(manager) == []
        store.lane("shop", "checkout").commit([], [], [alert_at(began)], [])
        courier.step(now() + 10_000)
        (told,) = alerts_of(manager)
        assert told["labels"]["entity"] == "checkout"


def test_alerts_of_a_watch_that_is_no_more_are_not_told_again(manager, hook, tmp_path):
    with courier_to(manager, tmp_path) as (store, config, courier):
        began = now() // 1000 * 1000
        put(store, config, [("open", alert_at(began, watch="gone"))], began)
        courier.step(now())
        courier.step(now() + 5000)
        assert courier.receiver.status().sent == 1


def test_an_incident_is_one_alert_that_grows_and_is_resolved_with_its_last(manager, hook, tmp_path):
    with courier_to(manager, tmp_path, notify="incident") as (store, config, courier):
        began = now() // 1000 * 1000
        parts = [  # both have the same causes
            alert_at(began, labels={"service": "cart"}, severity="warning"),
            alert_at(began + 1000, entity="payment", severity="warning"),
        ]
        for one in parts:
            put(store, config, [("open", one)], one.start, entity=one.entity)
        courier.step(now())
        expected = {
            "alertname": "SmkcAnomaly",
            "incident": parts[0].id,
            "watch": "shop",
            "entity": "checkout",
            "service": "cart",
            "severity": "warning",
            "team": "shop",
        }
        (told,) = alerts_of(manager)
        assert told["labels"] == expected
        said = told["annotations"]
        assert said["summary"].startswith("shop / checkout and 1 more: anomalous since")
        assert (
            said["timeline"]
            .splitlines()[1]
            .startswith(f"{instant(began + 1000)}, 1s later: shop /")
        )
        assert told["generatorURL"] == f"https://smkc.example/incidents/{parts[0].id}"
        # The first part is over: the incident goes on, and is told again.
        over = replace(parts[0], end=began + 2000, is_open=False)
        put(store, config, [("close", over)], began + 15_000)
        courier.step(now() + 2000)
        (told,) = alerts_of(manager)
        assert told["labels"] == expected
        last = replace(parts[1], end=began + 3000, is_open=False)
        put(store, config, [("close", last)], began + 15_000, entity="payment")
        courier.step(now() + 4000)
        eventually(lambda: alerts_of(manager) == [])
        eventually(lambda: ("resolved", "checkout") in notified(hook))
        assert notified(hook) == [("firing", "checkout"), ("resolved", "checkout")]
        assert store.n_waiting() == 0
