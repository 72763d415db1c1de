"""Base of the recorder's own processes, with counters, metrics and control over HTTP.

In: requests to ``/control`` that make it slow, leaking or silent, and requests that a subclass
serves. Out: responses, and ``/metrics`` in the text format of Prometheus.
"""

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qsl, urlsplit

from tools.stack.exposition import Handler, Server, own_figures, text_format

__all__ = ["Worker", "serve"]

# Largest leak, so that other processes of the machine are not affected.
MAX_LEAKED_BYTES = 400 * 1024 * 1024


class Worker:
    """The state of one process; its lock guards the counters.

    Parameters
    ----------
    counters
        names of the counters that ``/metrics`` shows from the start.
    """

    def __init__(self, *counters: str) -> None:
        self.rng = random.Random()
        self.lock = threading.Lock()
        self.counts = dict.fromkeys(counters, 0.0)
        self.in_flight = 0
        self.words = {"added_seconds": 0.0, "slow_factor": 1.0, "leak_a_second": 0.0, "silent": 0.0}
        self._leaked: list[bytes] = []
        threading.Thread(target=self._leak, daemon=True).start()

    def add(self, name: str, value: float = 1.0) -> None:
        """Add to a counter."""
        with self.lock:
            self.counts[name] += value

    @contextmanager
    def timed(self, calls: str, seconds: str) -> Iterator[None]:
        """Count a call and its time, even if it fails."""
        begun = time.monotonic()
        try:
            yield
        finally:
            with self.lock:
                self.counts[calls] += 1
                self.counts[seconds] += time.monotonic() - begun

    def work(self, seconds: float) -> None:
        """Sleep for about the given seconds, longer while a fault makes the worker slow."""
        usual = seconds * self.rng.lognormvariate(0, 0.4)
        time.sleep(usual * self.words["slow_factor"] + self.words["added_seconds"])

    def figures(self) -> dict[str, float]:
        """Return the metrics that ``/metrics`` shows."""
        with self.lock:
            return {**self.counts, "in_flight": float(self.in_flight), **own_figures()}

    def control(self, words: dict[str, str]) -> None:
        """Begin or end a fault."""
        for name, value in words.items():
            self.words[name] = float(value)
        if not self.words["leak_a_second"]:
            self._leaked.clear()

    def answer(self, path: str) -> int:
        """Serve a request; return its HTTP status."""
        return 404

    def _leak(self) -> None:
        while True:
            time.sleep(0.5)
            size = int(self.words["leak_a_second"] / 2)
            if size and len(self._leaked) * size < MAX_LEAKED_BYTES:
                self._leaked.append(b"\x01" * size)


def serve(worker: Worker, port: int) -> None:
    """Serve a worker's requests, metrics and control in background threads."""

    class Requests(Handler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/control":
                worker.control(dict(parse_qsl(parts.query)))
                self.answer(200)
            elif parts.path == "/metrics":
                is_silent = bool(worker.words["silent"])
                self.answer(503) if is_silent else self.answer(200, text_format(worker.figures()))
            else:
                self.answer(worker.answer(parts.path))

    server = Server(("127.0.0.1", port), Requests)
    threading.Thread(target=server.serve_forever, daemon=True).start()
