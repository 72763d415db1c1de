"""A simulated Prometheus server, with synthetic series that come and go.

In: the number of series and the lifetime of each. Out: the JSON of ``query_range`` for any range,
always the same for the same range. It replaces a real Prometheus server that would have to record
that many series for days.
"""

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import numpy as np

METRICS = 50
TEXTS = 65_536  # number of different values, formatted once


@dataclass(frozen=True, kw_only=True)
class Played:
    """Series of the simulated server.

    Parameters
    ----------
    n_series
        number of series at any time.
    life
        steps after which a series is renamed; 0 for never.
    steady
        number of series, the first ones, that always keep their names.
    step
        milliseconds between samples.
    entities
        number of values of the label ``ns``, which the series share evenly; 0 for no such label.
    """

    n_series: int
    life: int = 0
    steady: int = 0
    step: int = 15_000
    entities: int = 0

    def answer(self, first: int, last: int) -> bytes:
        """Return the response body for steps ``first`` to ``last``."""
        if first == last:
            return self._moment(first)
        number = np.arange(first, last + 1)
        times = [f"{k * self.step / 1000:.3f}" for k in number]
        parts = []
        for s in range(self.n_series):
            drawn = (s * 7919 + number * 104_729 + (number * number) % 8191 * s) % TEXTS
            lives = 0 * number
            if self.life and s >= self.steady:
                lives = (number + s % self.life) // self.life
            for life in np.unique(lives):
                at = np.flatnonzero(lives == life)
                labels = self._labels(s, int(life))
                pairs = ",".join(f'[{times[i]},"{_TEXTS[drawn[i]]}"]' for i in at)
                parts.append(f'{{"metric":{labels},"values":[{pairs}]}}')
        return (
            '{"status":"success","data":{"resultType":"matrix","result":[' + ",".join(parts) + "]}}"
        ).encode()

    def _moment(self, k: int) -> bytes:
        """Return the response body for one step; fast, since its time is measured too."""
        s = np.arange(self.n_series)
        drawn = ((s * 7919 + k * 104_729 + k * k % 8191 * s) % TEXTS).tolist()
        lives = [0] * self.n_series
        if self.life:
            lives = np.where(s < self.steady, 0, (k + s % self.life) // self.life).tolist()
        at = f"{k * self.step / 1000:.3f}"
        parts = [
            f'{{"metric":{self._labels(i, life)},"values":[[{at},"{_TEXTS[x]}"]]}}'
            for i, (x, life) in enumerate(zip(drawn, lives, strict=True))
        ]
        return (_OPEN + ",".join(parts) + "]}}").encode()

    def _labels(self, s: int, life: int) -> str:
        entity = f',"ns":"e{s % self.entities}"' if self.entities else ""
        return f'{{"__name__":"m{s % METRICS}","pod":"p{s}-{life}","job":"played"{entity}}}'


_OPEN = '{"status":"success","data":{"resultType":"matrix","result":['
_TEXTS = [f"{x:.5g}" for x in 10 + np.random.default_rng(0).normal(size=TEXTS)]


@contextmanager
def served(played: Played) -> Iterator[str]:
    """Run the server in a separate process; yield its address."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=_serve, args=(played, theirs), daemon=True
    )
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        process.kill()
        process.join()


def _serve(played: Played, pipe: Any) -> None:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            """Answer a query in the form data of the request body."""
            length = int(self.headers.get("Content-Length", 0))
            self._answer(parse_qs(self.rfile.read(length).decode()))

        def do_GET(self) -> None:
            """Answer a query in the URL."""
            self._answer(parse_qs(self.path.partition("?")[2]))

        def _answer(self, asked: dict[str, list[str]]) -> None:
            body = b"ready"
            if "start" in asked:
                ends = [
                    round(float(asked[key][0]) * 1000 / played.step) for key in ("start", "end")
                ]
                body = played.answer(*ends)
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    pipe.send(server.server_port)
    server.serve_forever()
