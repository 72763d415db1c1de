"""A replica: a small HTTP service with a queue, workers, a cache and metrics.

In: requests to ``/work``; requests to ``/control`` that make it slow, leaking or silent. Out:
responses, and ``/metrics`` in the text format of Prometheus.
"""

import hashlib
import queue
import random
import threading
import time
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from tools.hostwatch.peers import Peers, call
from tools.stack.exposition import Handler, Server, own_figures, text_format

__all__ = ["serve_replica"]

WORKERS = 2
LONGEST_QUEUE = 64
PATIENCE = 3.0
CACHE_ENTRIES = 2000
KEYS = 6000

# Largest leak in bytes, so that other processes of the machine are not affected.
MOST_LEAKED = 250 * 1024 * 1024


class Replica:
    """The state of one replica; its lock guards the counters."""

    def __init__(self, calls: list[str], work_seconds: float, targets: Path) -> None:
        self.calls = calls
        self.work_seconds = work_seconds
        self.peers = Peers(targets)
        self.rng = random.Random()
        self.tasks: queue.Queue[threading.Event] = queue.Queue(LONGEST_QUEUE)
        self.lock = threading.Lock()
        self.counts = dict.fromkeys(
            (
                "http_requests_total",
                "http_errors_total",
                "http_request_seconds_sum",
                "upstream_errors_total",
                "cache_hits_total",
            ),
            0.0,
        )
        self.in_flight = 0
        self.cache: dict[int, bytes] = {}
        self.added_seconds = 0.0
        self.leak_a_second = 0
        self.is_silent = False
        self.leaked: list[bytes] = []
        for target in (self._work, self._work, self._leak):
            threading.Thread(target=target, daemon=True).start()

    def add(self, name: str, value: float = 1.0) -> None:
        """Add to a counter."""
        with self.lock:
            self.counts[name] += value

    def handle(self) -> bool:
        """Serve a request: call other services, then wait for a worker; return its success."""
        begun = time.monotonic()
        with self.lock:
            self.in_flight += 1
        try:
            is_good = all([self._ask(service) for service in self.calls])
            done = threading.Event()
            try:
                self.tasks.put_nowait(done)
            except queue.Full:
                is_good = False
            else:
                is_good = done.wait(PATIENCE) and is_good
        finally:
            with self.lock:
                self.in_flight -= 1
        self.add("http_requests_total")
        self.add("http_request_seconds_sum", time.monotonic() - begun)
        if not is_good:
            self.add("http_errors_total")
        return is_good

    def figures(self) -> dict[str, float]:
        """Return the metrics that ``/metrics`` shows."""
        with self.lock:
            counts = dict(self.counts)
        return {
            **counts,
            "http_in_flight": float(self.in_flight),
            "queue_length": float(self.tasks.qsize()),
            "cache_entries": float(len(self.cache)),
            **own_figures(),
        }

    def control(self, words: dict[str, str]) -> None:
        """Begin or end a fault."""
        if "added_seconds" in words:
            self.added_seconds = float(words["added_seconds"])
        if "leak_a_second" in words:
            self.leak_a_second = int(float(words["leak_a_second"]))
            if not self.leak_a_second:
                self.leaked.clear()
        if "silent" in words:
            self.is_silent = words["silent"] == "1"

    def _ask(self, service: str) -> bool:
        # Only one request in three calls the service orders; the other services are always called.
        if service == "orders" and self.rng.random() > 1 / 3:
            return True
        is_good = call(self.peers, service, self.rng)
        if not is_good:
            self.add("upstream_errors_total")
        return is_good

    def _work(self) -> None:
        while True:
            done = self.tasks.get()
            key = min(int(self.rng.paretovariate(0.6)), KEYS)
            if key in self.cache:
                self.add("cache_hits_total")
            else:
                if len(self.cache) >= CACHE_ENTRIES:
                    del self.cache[next(iter(self.cache))]
                self.cache[key] = self.rng.randbytes(self.rng.randint(500, 4000))
            for _ in range(40):
                hashlib.sha256(self.cache[key]).digest()
            time.sleep(self.work_seconds * self.rng.lognormvariate(0, 0.5) + self.added_seconds)
            done.set()

    def _leak(self) -> None:
        while True:
            time.sleep(0.5)
            size = self.leak_a_second // 2
            if size and len(self.leaked) * size < MOST_LEAKED:
                self.leaked.append(b"\x01" * size)


def serve_replica(port: int, calls: list[str], work_seconds: float, targets: Path) -> None:
    """Serve until the process is ended."""
    replica = Replica(calls, work_seconds, targets)

    class Requests(Handler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/work":
                self.answer(200 if replica.handle() else 503)
            elif parts.path == "/metrics" and not replica.is_silent:
                self.answer(200, text_format(replica.figures()))
            elif parts.path == "/control":
                replica.control(dict(parse_qsl(parts.query)))
                self.answer(200)
            else:
                self.answer(503)

    Server(("127.0.0.1", port), Requests).serve_forever()
