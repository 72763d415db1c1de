"""Live: an event once a row is committed, a heartbeat when nothing is, an end with the client."""

import json
import threading
import time
from contextlib import contextmanager

import httpx
import pytest

from smkc.serve.api import Keys, Server, Token, create_app, limits
from smkc.serve.api.routes import live
from smkc.serve.config import Listen, config_of
from smkc.serve.live import LiveUpdates
from smkc.serve.rows import Verdict
from smkc.serve.service import Service


def events(answer):
    """Yield the events of a stream as (kind, id, content)."""
    kind = number = content = None
    for line in answer.iter_lines():
        name, _, value = line.partition(": ")
        if name == "event":
            kind = value
        elif name == "id":
            number = int(value)
        elif name == "data":
            content = json.loads(value)
        elif not line and kind is not None:
            yield kind, number, content
            kind = number = content = None


def listen(server, **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.stream(
        "GET", server.url + "/api/v1/live", headers=headers, timeout=30, trust_env=False
    )


@contextmanager
def listen_once_free(server):
    """Open a stream as soon as there is a place for it."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        with listen(server) as answer:
            if answer.status_code == 200:
                yield answer
                return
        time.sleep(0.05)
    raise AssertionError("the place of a stream whose client is gone was never free again")


def verdict(number):
    return Verdict(
        number=number,
        time=1_800_000_000_000 + number,
        score=1.0,
        p_value=0.0,
        anomaly=float("inf"),
        cardinality=3,
        appeared=1,
        vanished=0,
        evidences={"level": float("nan")},
    )


def test_a_row_that_is_committed_is_told(tmp_path, rng):
    """A real service of its own, a second a row: what is pushed is learned from, then judged."""
    watch = {"name": "quick", "source": "push", "step": "1s", "min_rows": 240}
    config = config_of({"data": str(tmp_path), "watch": [watch]})
    with (
        Service(config) as service,
        Server(create_app(service, Keys()), Listen(port=0)) as server,
        listen(server) as answer,
    ):
        assert answer.headers["content-type"].startswith("text/event-stream")
        told = events(answer)
        kind, _, content = next(told)
        assert kind == "heartbeat"
        assert abs(content["now"] - service.now()) < 60_000

        def push(times):
            columns = {name: rng.normal(size=len(times)).tolist() for name in ("a", "b", "c")}
            answer = httpx.post(
                server.url + "/api/v1/observations",
                json={"time": times, "series": columns},
                trust_env=False,
            )
            assert answer.json() == {"samples": 3 * len(times), "watches": ["quick"]}

        push([service.now() - 1000 * before for before in range(300, 0, -1)])
        fitted = [next(one for one in told if one[0] == "status") for _ in range(2)]
        assert [content["watch"] for _, _, content in fitted] == ["quick"] * 2
        push([service.now()])
        row = next(one for one in told if one[0] == "row")
        _, number, content = row
        assert content["number"] == number >= 1
        assert content["watch"] == "quick"
        assert content["verdict"]["cardinality"] == 3
        lane = service.store.lane("quick", "")
        assert lane.n_rows > content["verdict"]["number"] >= 240  # committed before it was told
        kept = lane.verdicts()
        assert content["verdict"]["time"] in kept["time"]


def test_events_are_whole_and_in_order(serve):
    updates = LiveUpdates()
    server = serve(subscribe=lambda: updates)
    with listen(server) as answer:
        told = events(answer)
        next(told)
        for number in range(5):
            updates.tell("row", "shop", "a\nb: \u2028\ud800", verdict=verdict(number))
        found = [next(told) for _ in range(5)]
        updates.tell("status", "shop", "")
        assert next(told)[1] == 6  # each is told once
    assert [number for _, number, _ in found] == [1, 2, 3, 4, 5]
    kind, _, content = found[0]
    assert kind == content["kind"] == "row"
    assert content["entity"].startswith("a\nb: \u2028")
    assert content["verdict"]["anomaly"] is None
    assert content["verdict"]["evidences"] == {"level": None}
    assert content["alert"] is None


@pytest.mark.parametrize(
    ("last", "first"),
    [("2", 3), ("0", 1), ("5", 6), ("6", 6), ("x", 6), ("-1", 6), ("9" * 30, 6), ("\u0663", 6)],
    ids=range(8),
)
def test_a_reader_that_comes_back_goes_on(serve, last, first):
    updates = LiveUpdates()
    for number in range(5):
        updates.tell("row", "shop", "", verdict=verdict(number))
    server = serve(subscribe=lambda: updates)
    with listen(server, Last_Event_ID=last.encode()) as answer:
        told = events(answer)
        next(told)
        updates.tell("status", "shop", "")
        assert next(told)[1] == first


def test_silence_is_broken_by_heartbeats(serve, monkeypatch):
    monkeypatch.setattr(live, "HEARTBEAT_SECONDS", 0.1)
    monkeypatch.setattr(live, "UPDATE_CHECK_SECONDS", 0.02)
    updates = LiveUpdates()
    server = serve(subscribe=lambda: updates)
    with listen(server) as answer:
        told = events(answer)
        assert [next(told)[0] for _ in range(3)] == ["heartbeat"] * 3


def test_a_stream_ends_after_its_time(serve, monkeypatch):
    monkeypatch.setattr(live, "MOST_SECONDS", 0.3)
    server = serve()
    with listen(server) as answer:
        assert [kind for kind, _, _ in events(answer)] == ["heartbeat"]  # and it has ended


def test_a_stream_ends_with_its_token(serve, keys, secrets, service):
    token = keys.token(secrets["read"], service.now())
    short = Token(name="short", role="read", digest=token.digest, expires=service.now() + 1500)
    server = serve(keys=Keys([short]))
    with listen(server, Authorization=f"Bearer {secrets['read']}") as answer:
        assert answer.status_code == 200
        for _ in events(answer):
            pass
    with listen(server, Authorization=f"Bearer {secrets['read']}") as answer:
        assert answer.status_code == 401


def test_a_stream_ends_when_its_client_goes(serve, monkeypatch):
    """Its place is free again: there is but one."""
    monkeypatch.setattr(limits, "MOST_LIVE", 1)
    server = serve()
    for _ in range(3):
        with listen_once_free(server) as answer:
            told = events(answer)
            next(told)
            with listen(server) as second:
                assert second.status_code == 503
                assert "retry-after" in second.headers


def test_many_readers_take_no_threads_and_hold_nothing_up(serve):
    updates = LiveUpdates()
    server = serve(subscribe=lambda: updates)
    before = threading.active_count()
    streams = [listen(server) for _ in range(limits.MOST_LIVE)]
    try:
        readers = [events(stream.__enter__()) for stream in streams]
        for reader in readers:
            next(reader)
        assert threading.active_count() - before < 10
        assert httpx.get(server.url + "/healthz", trust_env=False).status_code == 200
        updates.tell("status", "shop", "")
        assert [next(reader)[0] for reader in readers] == ["status"] * len(readers)
    finally:
        for stream in streams:
            stream.__exit__(None, None, None)


def test_a_server_that_stops_ends_its_streams(serve):
    server = serve()
    with listen(server) as answer:
        told = events(answer)
        next(told)
        server.stop()
        assert list(told) == []  # an end, not a broken line
