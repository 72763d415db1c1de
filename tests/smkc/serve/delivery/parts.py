"""What the tests of delivery share: a store with an alert, and a server that answers as told."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from smkc.decide import Cause
from smkc.serve.config import Config, config_of
from smkc.serve.incidents.keeping import keep
from smkc.serve.messages import messages_for
from smkc.serve.rows import AlertRecord, Row, Verdict
from smkc.serve.store import Store

STEP = 15_000
START = 1_790_000_010_000  # milliseconds, a multiple of STEP

CAUSES = (
    Cause(
        variable='cpu{pod="web-1"}',
        share=0.61,
        kind="level",
        joint_with=('cpu{pod="web-2"}',),
        detail="rose from 0.2 to 0.9",
    ),
    Cause(variable="memory", share=0.2, kind="relation", detail="left its usual relation"),
    *(Cause(variable=f"disk_{i}", share=0.03, kind="presence") for i in range(5)),
)


def alert_at(time: int = START, **changes: Any) -> AlertRecord:
    record = AlertRecord(
        id=f"{time:016x}"[-16:],
        watch="shop",
        entity="checkout",
        start=time,
        end=time,
        peak=time,
        first_row=0,
        last_row=0,
        peak_row=0,
        anomaly=1.8,
        p_value=1e-6,
        is_open=True,
        evidences={"jump": 0.04, "presence": 4.06, "level": 12.31},
        causes_at=time,
        causes_row=0,
        causes_anomaly=1.8,
        told_anomaly=1.8,
        causes=CAUSES,
    )
    return replace(record, **changes)


def config_with(**tables: Any) -> Config:
    push = [{"name": "shop", "source": "push", "entity": "ns", "step": "15s"}]
    usual = {"watch": push, "public_url": "https://smkc.example", "notify": "alert"}
    return config_of({**usual, **tables})


def put(
    store: Store,
    config: Config,
    changes: list[tuple[str, AlertRecord]],
    time: int | None = None,
    anomaly: float = 0.1,
    entity: str = "checkout",
) -> None:
    """Commit one row with its verdict and what follows from it, as a lane does."""
    lane = store.lane("shop", entity)
    at = time if time is not None else (lane.last_time or START - STEP) + STEP
    row = Row(time=at, names=("cpu",), values=np.ones(1, np.float32))
    verdict = Verdict(
        number=lane.n_rows,
        time=at,
        score=2.5,
        p_value=0.25,
        anomaly=anomaly,
        cardinality=17,
        appeared=0,
        vanished=0,
        evidences={"level": 3.5},
    )
    messages = [
        one
        for change, alert in changes
        if not config.notifies_incidents
        for one in messages_for(alert, change, config)
    ]
    lane.commit(
        [row],
        [verdict],
        [alert for _, alert in changes],
        messages,
        regroup=lambda connection: keep(connection, changes, config),
    )


@dataclass(frozen=True, kw_only=True)
class Request:
    path: str
    headers: dict[str, str]
    body: bytes


class Server:
    """Takes POST requests and answers each by the next of ``answers``, then with 200."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.answers: list[int | str | tuple[int, dict[str, str], bytes]] = []
        self.on_request: Callable[[Request], None] | None = None
        self.leave = threading.Event()
        told = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                request = Request(
                    path=self.path,
                    headers={name.lower(): value for name, value in self.headers.items()},
                    body=body,
                )
                told.requests.append(request)
                if told.on_request is not None:
                    told.on_request(request)
                answer = told.answers.pop(0) if told.answers else 200
                if answer == "close":
                    self.close_connection = True
                    self.connection.close()
                    return
                if answer == "slow":
                    told.leave.wait(30)
                    return
                code, headers, content = (
                    answer if isinstance(answer, tuple) else (int(answer), {}, b"")
                )
                self.send_response(code)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self.leave.set()
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def server() -> Iterator[Server]:
    made = Server()
    try:
        yield made
    finally:
        made.close()


def eventually(is_so: Callable[[], Any], seconds: float = 20.0) -> Any:
    """Wait until something holds, and return it; fail if it never does."""
    end = time.monotonic() + seconds
    while True:
        found = is_so()
        if found:
            return found
        assert time.monotonic() < end, "it never came to be so"
        time.sleep(0.05)
