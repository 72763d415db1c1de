"""Parts for tests that follow a live system: made-up rows, a clock that runs fast, and a server
that plays the made-up data back as Prometheus would.

In: seeds and sizes. Out: rows, clocks and servers; nothing here is random beyond its seed.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import numpy as np
from tests import worlds

from smkc.serve.config import Config, config_of
from smkc.serve.rows import Row

STEP = 15_000
SLOW_SECONDS = 0.6
START = 1_700_000_010_000  # milliseconds; a multiple of the step


def row_of(t: int, names: list[str], values: worlds.Table) -> Row:
    """Return row number t: its names in order, each with its value."""
    order = np.argsort(names)
    return Row(
        time=START + t * STEP,
        names=tuple(names[j] for j in order),
        values=values[order].astype(np.float32),
    )


def made_rows(seed: int, n_rows: int, n_variables: int = 12, *, churn: bool = True) -> list[Row]:
    """Return rows of coupled variables at a step of 15 s; the last ones come and go."""
    rng = np.random.default_rng(seed)
    table = worlds.coupled(rng, n_rows, n_variables)
    rows = []
    for t, values in enumerate(table):
        names = [f'load{{host="h{j}"}}' for j in range(n_variables)]
        if churn:  # the last two live under a new name every 60 rows
            for j in (n_variables - 2, n_variables - 1):
                names[j] = f'load{{host="h{j}",pod="p{t // 60}"}}'
        rows.append(row_of(t, names, values))
    return rows


def with_fault(rows: list[Row], first: int, last: int, size: float = 30.0) -> list[Row]:
    """Return the rows with all variables off by so much from row first to row last."""
    return [
        Row(time=row.time, names=row.names, values=row.values + np.float32(size))
        if first <= t <= last
        else row
        for t, row in enumerate(rows)
    ]


def push_config(folder: object, **watch: object) -> Config:
    """Return a configuration of one watch that is pushed to, at a step of 15 s."""
    settings = {"name": "shop", "source": "push", "history": "2h", "self_test": False} | watch
    return config_of(
        {
            "data": str(folder),
            "watch": [settings],
            "webhook": [{"name": "hook", "url": "http://127.0.0.1:9/"}],
        }
    )


class FastClock:
    """A clock on which sleeping takes no time: it is later by that much at once.

    It stands still at ``limit``, until that is moved.
    """

    def __init__(self, now: int = START, limit: int = START) -> None:
        self._now = now
        self.limit = limit
        self._changing = threading.Lock()

    def now(self) -> int:
        return self._now

    def sleep(self, seconds: float, until: threading.Event) -> None:
        if threading.current_thread().name == "smkc-retention":
            until.wait(seconds)  # an hour: only the threads of rows make time pass
        elif self._now >= self.limit:
            until.wait(0.01)
        else:
            with self._changing:
                self._now = min(self._now + max(int(1000 * seconds), 1), self.limit)

    def step(self, milliseconds: int) -> None:
        """Let the clock jump, either way."""
        with self._changing:
            self._now += milliseconds


def wait_until(is_so: Callable[[], object], seconds: float = 60.0, pause: float = 0.005) -> None:
    """Wait for something that another thread does."""
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError(f"it was not so within {seconds:g} s")
        time.sleep(pause)


class Playback:
    """Answers ``query_range`` from a function of time, and misbehaves when told to.

    Parameters
    ----------
    values
        returns what is observed at a time in milliseconds, by variable.

    Attributes
    ----------
    scrapes
        times in milliseconds at which ``up`` was stored, by job; who asks for ``up`` is refused
        while it is None.
    """

    def __init__(self, values: Callable[[int], dict[str, float]]) -> None:
        self.values = values
        self.fails: Callable[[], str] = lambda: ""  # "", "down", "error", "half", "slow"
        self.scrapes: dict[str, list[int]] | None = {}
        self.n_asked = 0
        self.pause = 0.0  # seconds before an answer
        self.url = ""

    def answer(self, start: float, end: float, step: float) -> bytes:
        series: dict[str, list[list[object]]] = {}
        n = int((end - start) / step + 1e-9) + 1
        for k in range(n):
            time = round(1000 * (start + k * step))
            for name, value in self.values(time).items():
                series.setdefault(name, []).append([time / 1000, repr(value)])
        return answer_of(series)

    def scraped(self) -> bytes:
        series = {
            f'up{{job="{job}"}}': [[at / 1000, "1"] for at in times]
            for job, times in (self.scrapes or {}).items()
        }
        return answer_of(series)

    @contextmanager
    def running(self) -> Iterator["Playback"]:
        """Serve on a free port of this machine."""
        playback = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                asked = {k: v[0] for k, v in parse_qs(self.rfile.read(length).decode()).items()}
                playback.n_asked += 1
                how = playback.fails()
                if how == "down":  # nobody answers
                    self.close_connection = True
                    return
                if how == "slow":
                    time.sleep(SLOW_SECONDS)
                if how == "error":
                    self.send_error(500, "out of order")
                    return
                time.sleep(playback.pause)
                is_range = self.path.endswith("query_range")
                if not is_range and playback.scrapes is None:
                    self.send_error(403, "only ranges may be asked for")
                    return
                times = (float(asked[key]) for key in ("start", "end", "step") if is_range)
                body = playback.answer(*times) if is_range else playback.scraped()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.close_connection = how == "half"
                with suppress(ConnectionError):
                    self.wfile.write(body[: len(body) // 2] if how == "half" else body)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def answer_of(series: dict[str, list[list[object]]]) -> bytes:
    """Return series as Prometheus answers with them."""
    result = [{"metric": labels_of(name), "values": found} for name, found in series.items()]
    data = {"resultType": "matrix", "result": result}
    return json.dumps({"status": "success", "data": data}).encode()


def labels_of(name: str) -> dict[str, str]:
    """Return a variable's labels as Prometheus writes them."""
    metric, _, rest = name.partition("{")
    labels = {"__name__": metric}
    for pair in rest.rstrip("}").split(","):
        if pair:
            key, _, value = pair.partition("=")
            labels[key] = value.strip('"')
    return labels


def pull_config(url: str, folder: object, *, timeout: str = "30s", **watch: object) -> Config:
    """Return a configuration of one watch on a server, at a step of 15 s."""
    usual = {"step": "15s", "history": "1h", "self_test": False}
    settings = {"name": "shop", "query": "{}"} | usual | watch
    return config_of(
        {
            "data": str(folder),
            "prometheus": {"url": url, "timeout": timeout},
            "watch": [settings],
            "webhook": [{"name": "hook", "url": "http://127.0.0.1:9/"}],
        }
    )
