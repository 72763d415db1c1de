"""Threads: whatever a route has to wait for, it waits for outside of the event loop."""

import threading

import httpx
import numpy as np
from tests.smkc.serve.decoding.writing import encode_remote_write

from smkc.serve.api import Keys, Server, create_app
from smkc.serve.config import Listen
from smkc.serve.intake.samples import Samples

ID = "00112233445566aa"

# What takes no time: a clock, settings, a counter.
QUICK = {"config", "now"}


class Traced:
    """The real service, noting the thread in which anything slow is asked of it."""

    def __init__(self, inner, noted, name=""):
        self._inner, self._noted, self._name = inner, noted, name

    def __getattr__(self, name):
        if name not in QUICK:
            self._noted.append((f"{self._name}{name}", threading.current_thread().name))
        found = getattr(self._inner, name)
        return Traced(found, self._noted, "store.") if name == "store" else found


def test_nothing_slow_is_asked_in_the_event_loop(service):
    noted = []
    now = service.now()
    pushed = Samples(names=("a",), codes=np.zeros(1, int), times=np.array([now]), values=np.ones(1))
    span = {"since": 1_799_990_000_000, "until": 1_800_010_000_000}
    packed = {"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy"}
    rows = {"observations": [{"time": now, "name": "a", "value": 1.0}]}
    app = create_app(Traced(service, noted), Keys())
    with (
        Server(app, Listen(port=0)) as server,
        httpx.Client(base_url=server.url, timeout=60, trust_env=False) as client,
    ):
        for path in ("/healthz", "/readyz", "/metrics", "/openapi.json", "/", "/login"):
            assert client.get(path).status_code == 200
        for path in ("watches", "alerts", f"alerts/{ID}", "session"):
            assert client.get(f"/api/v1/{path}").status_code == 200
        for part in ("scores", "presence", "traces"):
            params = {**span, "name": 'load{pod="p1"}'}
            assert client.get(f"/api/v1/watches/shop/{part}", params=params).status_code == 200
        client.post("/api/v1/watches/none/refit")
        client.post(f"/api/v1/alerts/{ID}/acknowledge", json={"note": "x"})
        client.post(f"/api/v1/alerts/{ID}/feedback")
        assert client.post("/api/v1/observations", json=rows).status_code == 200
        content = encode_remote_write(pushed)
        assert client.post("/api/v1/write", content=content, headers=packed).status_code == 204
    asked = {name for name, _ in noted}
    assert asked >= {
        "health",
        "is_ready",
        "watches",
        "receive",
        "feedback",
        "store.alert",
        "store.alerts",
        "store.acknowledge",
        "lane",
    }
    assert {name for name, thread in noted if thread == "smkc-api"} == set()
