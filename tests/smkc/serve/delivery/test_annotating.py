"""Annotations: a server that holds to Grafana's documented API has each alert once."""

import json
import random
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.smkc.serve.delivery.parts import START, STEP, alert_at, config_with, put

from smkc.serve.delivery.courier import Courier
from smkc.serve.store import Store

TOKEN = "a-token-of-a-service-account"


class Grafana:
    """Finds, creates and patches annotations as documented; anything else it refuses."""

    def __init__(self):
        self.annotations = {}
        self.asked = []
        self.failures = []  # status, body and type of the next answers, or "lost" after the work
        grafana = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.take("GET")

            def do_POST(self):
                self.take("POST")

            def do_PATCH(self):
                self.take("PATCH")

            def take(self, method):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                grafana.asked.append((method, self.path))
                how = grafana.failures.pop(0) if grafana.failures else None
                if isinstance(how, tuple):
                    self.answer(*how)
                    return
                if self.headers["Authorization"] != f"Bearer {TOKEN}":
                    self.answer(401, b'{"message":"Invalid API key"}')
                    return
                found = grafana.work(method, urlsplit(self.path), body)
                if how == "lost":
                    self.close_connection = True
                    return
                status, content = found
                self.answer(status, json.dumps(content).encode())

            def answer(self, status, body, kind="application/json"):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/grafana/"

    def work(self, method, address, body):
        path = address.path.removeprefix("/grafana")
        if method == "GET" and path == "/api/annotations":
            asked = parse_qs(address.query)
            assert asked["type"] == ["annotation"]
            found = [
                {"id": number, "dashboardUID": "", **one}
                for number, one in self.annotations.items()
                if set(asked["tags"]) <= set(one["tags"])
            ]
            return 200, found[: int(asked["limit"][0])]
        content = json.loads(body)
        assert content["text"]
        assert set(content) <= {"time", "timeEnd", "tags", "text"}
        assert all(isinstance(tag, str) and len(tag) <= 100 for tag in content["tags"])
        assert all(isinstance(content.get(key, 0), int) for key in ("time", "timeEnd"))
        if method == "POST" and path == "/api/annotations":
            number = len(self.annotations) + 1
            self.annotations[number] = content
            return 200, {"message": "Annotation added", "id": number}
        number = int(path.removeprefix("/api/annotations/"))
        if method != "PATCH" or number not in self.annotations:
            return 404, {"message": "Could not find annotation to update"}
        self.annotations[number] = self.annotations[number] | content
        return 200, {"message": "Annotation patched"}


@pytest.fixture
def grafana(monkeypatch):
    monkeypatch.setenv("GRAFANA_TOKEN", TOKEN)
    made = Grafana()
    thread = threading.Thread(target=made.server.serve_forever, args=(0.01,))
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


@contextmanager
def courier_to(grafana, folder):
    config = config_with(grafana=[{"url": grafana.url, "token_env": "GRAFANA_TOKEN"}])
    with Store.open(folder) as store:
        courier = Courier(store, config, config.grafanas[0], random.Random(7))
        yield store, config, courier
        courier.receiver.close()


def send(store, config, courier, change, alert, at=START):
    put(store, config, [(change, alert)], at)
    courier.step(at)


CLOSED = alert_at(end=START + 4 * STEP, is_open=False, peak=START + STEP)


def test_an_alert_is_a_point_and_then_a_region(grafana, tmp_path):
    with courier_to(grafana, tmp_path) as parts:
        send(*parts, "open", alert_at())
        ((number, drawn),) = grafana.annotations.items()
        assert drawn["time"] == START
        assert "timeEnd" not in drawn
        assert drawn["tags"] == ["smkc", "watch:shop", f"alert:{CLOSED.id}", "entity:checkout"]
        lines = drawn["text"].splitlines()
        assert lines[0].startswith("shop, checkout is anomalous since")
        assert lines[2].startswith("61% level: cpu")
        assert lines[-1] == f"https://smkc.example/alerts/{CLOSED.id}"
        send(*parts, "close", CLOSED, START + 9 * STEP)
        assert list(grafana.annotations) == [number]
        assert grafana.annotations[number]["timeEnd"] == START + 4 * STEP
        assert grafana.annotations[number]["text"].startswith("shop, checkout was anomalous from")
        assert [method for method, _ in grafana.asked] == ["GET", "POST", "GET", "PATCH"]
        status = parts[2].receiver.status()
        assert (status.kind, status.sent, status.failed) == ("grafana", 2, 0)
        assert parts[0].n_waiting() == 0


def test_other_alerts_are_other_annotations(grafana, tmp_path):
    with courier_to(grafana, tmp_path) as parts:
        for n in range(3):
            send(*parts, "open", alert_at(START + n * STEP), START + n * STEP)
    assert len(grafana.annotations) == 3


def test_an_answer_that_is_lost_makes_no_second_annotation(grafana, tmp_path):
    with courier_to(grafana, tmp_path) as parts:
        grafana.failures = [None, "lost"]
        send(*parts, "open", alert_at())
        assert parts[0].n_waiting() == 1
        parts[2].step(START + 60_000)
        assert parts[0].n_waiting() == 0
    assert len(grafana.annotations) == 1
    assert [method for method, _ in grafana.asked] == ["GET", "POST", "GET", "PATCH"]


def test_replicas_draw_an_alert_once(grafana, tmp_path):
    for name in ("one", "two"):
        with courier_to(grafana, tmp_path / name) as parts:
            send(*parts, "open", alert_at())
            send(*parts, "close", CLOSED, START + 9 * STEP)
    assert len(grafana.annotations) == 1


PAGE = (200, b"<html>Log in</html>", "text/html")


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        ((500, b"{}"), "answered 500"),
        ((401, b"{}"), "answered 401"),
        (PAGE, "with a page"),
        ((200, b"{"), "other than a list of annotations"),
        ((200, b'{"message":"no"}'), "other than a list of annotations"),
        ((200, b'[{"uid":"x"}]'), "other than a list of annotations"),
        ((302, b""), "answered 302"),
    ],
    ids=["error", "token", "page", "no JSON", "no list", "no id", "elsewhere"],
)
def test_what_fails_is_tried_again(grafana, tmp_path, failure, said):
    grafana.failures = [failure]
    with courier_to(grafana, tmp_path) as parts:
        send(*parts, "open", alert_at())
        assert said in parts[2].receiver.status().last_error
        assert TOKEN not in parts[2].receiver.status().last_error
        assert parts[0].n_waiting() == 1
        parts[2].step(START + 60_000)
        assert parts[0].n_waiting() == 0
    assert len(grafana.annotations) == 1


def test_a_long_entity_is_cut_in_its_tag(grafana, tmp_path):
    with courier_to(grafana, tmp_path) as parts:
        put(parts[0], parts[1], [("open", alert_at(entity="e" * 300))], START, entity="e" * 300)
        parts[2].step(START)
    (drawn,) = grafana.annotations.values()
    assert drawn["tags"][-1] == "entity:" + "e" * 93
