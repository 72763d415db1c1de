import json
import random
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from tests.smkc.serve.delivery.parts import alert_at, config_with, eventually, put, server

from smkc.serve.delivery.courier import HOLDS_FOR, Courier
from smkc.serve.store import Store

ALERTMANAGER = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")

pytestmark = [
    pytest.mark.prometheus,
    pytest.mark.skipif(ALERTMANAGER is None, reason="needs Debian's prometheus-alertmanager"),
]

CONFIG = """
global: {{resolve_timeout: 1s}}
route: {{receiver: hook, group_by: [watch, entity], group_wait: 0s, group_interval: 1s}}
receivers: [{{name: hook, webhook_configs: [{{url: "{url}", send_resolved: true}}]}}]
"""


class Alertmanager:
    """The real one, on a port of its own, telling a webhook of what it notifies people of."""

    def __init__(self, folder: Path, hook: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._folder = folder
        folder.mkdir()
        (folder / "config.yml").write_text(CONFIG.format(url=hook))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(
            [
                str(ALERTMANAGER),
                f"--config.file={self._folder / 'config.yml'}",
                f"--storage.path={self._folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{self.port}",
                "--cluster.listen-address=",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        eventually(self._is_ready)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def alerts(self) -> list[dict]:
        return httpx.get(f"{self.url}/api/v2/alerts").json()

    def _is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/-/ready").is_success
        except httpx.HTTPError:
            return False


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


@pytest.fixture
def hook():
    with server() as made:
        yield made


@pytest.fixture
def manager(tmp_path, hook):
    made = Alertmanager(tmp_path / "alertmanager", hook.url)
    try:
        yield made
    finally:
        made.stop()


@contextmanager
def courier_to(manager, tmp_path):
    config = config_with(
        alertmanager=[{"url": manager.url, "labels": {"team": "shop"}, "resend": "1s"}]
    )
    with Store.open(tmp_path / "data") as store:
        courier = Courier(store, config, config.alertmanagers[0], random.Random(7))
        yield store, config, courier
        courier.close()


def now() -> int:
    return time.time_ns() // 1_000_000


def notified(hook) -> list[tuple[str, str]]:
    """Return what people were told, in order: the state and the entity."""
    told = [json.loads(request.body) for request in hook.requests]
    return [(one["status"], one["commonLabels"]["entity"]) for one in told]


def test_an_alert_arrives_stays_and_is_resolved(manager, hook, tmp_path):
    manager.start()
    with courier_to(manager, tmp_path) as (store, config, courier):
        began = now() // 1000 * 1000
        alert = alert_at(began)
        put(store, config, [("open", alert)], began)
        # Times that lie back, so that what is told holds for two seconds of ours.
        back = HOLDS_FOR * 1000 - 2000
        courier.step(now() - back)
        (told,) = manager.alerts()
        assert told["labels"] == {
            "alertname": "SmkcAnomaly",
            "watch": "shop",
            "entity": "checkout",
            "team": "shop",
        }
        assert told["status"]["state"] == "active"
        assert told["annotations"]["causes"].startswith("61% level: cpu")
        assert told["generatorURL"] == f"https://smkc.example/alerts/{alert.id}"
        assert told["annotations"]["link"] == told["generatorURL"]
        for _ in range(16):
            time.sleep(0.25)
            courier.step(now() - back)
            assert manager.alerts(), "it expired although it was told again"
        closed = alert_at(began, end=began + 1000, is_open=False)
        put(store, config, [("close", closed)], began + 15_000)
        courier.step(now())
        assert manager.alerts() == []
        eventually(lambda: ("resolved", "checkout") in notified(hook))
        courier.step(now() + 2000)
        assert manager.alerts() == []
        assert notified(hook) == [("firing", "checkout"), ("resolved", "checkout")]
        assert store.n_waiting() == 0


def test_an_alert_that_nobody_tells_of_again_expires(manager, hook, tmp_path):
    manager.start()
    with courier_to(manager, tmp_path) as (store, config, courier):
        began = now() // 1000 * 1000
        put(store, config, [("open", alert_at(began))], began)
        courier.step(now() - HOLDS_FOR * 1000 + 1000)
        assert manager.alerts()
        eventually(lambda: not manager.alerts())


def test_down_for_ten_minutes_nothing_is_lost_and_nothing_doubled(manager, hook, tmp_path):
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
        status = courier.standing.status()
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
        (told,) = manager.alerts()
        assert told["labels"]["entity"] == "checkout"
        assert told["annotations"]["summary"].startswith("shop, checkout is anomalous")
        eventually(lambda: ("firing", "checkout") in notified(hook))
        time.sleep(1.5)  # a group's interval: what would be told twice is told by now
        assert notified(hook).count(("firing", "checkout")) == 1
        assert notified(hook).count(("firing", "payment")) <= 1
        assert courier.standing.status().failing_since is None


def test_alerts_of_a_watch_that_is_no_more_are_not_told_again(manager, hook, tmp_path):
    manager.start()
    with courier_to(manager, tmp_path) as (store, config, courier):
        began = now() // 1000 * 1000
        put(store, config, [("open", alert_at(began, watch="gone"))], began)
        courier.step(now())
        courier.step(now() + 5000)
        assert courier.standing.status().sent == 1
