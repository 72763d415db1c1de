"""Metrics of a process in the text format of Prometheus, and an HTTP server for them.

In: counters and gauges by name. Out: text, and an HTTP server on loopback.
"""

import os
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

__all__ = ["Handler", "Server", "own_figures", "text_format"]

PAGE = os.sysconf("SC_PAGE_SIZE")


def own_figures() -> dict[str, float]:
    """Return the resident memory, processor time and number of threads of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return {
        "process_resident_memory_bytes": float(pages * PAGE),
        "process_cpu_seconds_total": time.process_time(),
        "process_threads": float(threading.active_count()),
    }


def text_format(figures: Mapping[str, float]) -> bytes:
    r"""Return metrics in the text format; names ending in _total, _sum or _count are counters.

    Examples
    --------
    >>> text_format({"jobs_total": 2.0})
    b'# TYPE jobs_total counter\njobs_total 2.0\n'
    """
    lines = []
    for name, value in figures.items():
        kind = "counter" if name.endswith(("_total", "_sum", "_count")) else "gauge"
        lines.append(f"# TYPE {name} {kind}\n{name} {value!r}\n")
    return "".join(lines).encode("ascii")


class Server(ThreadingHTTPServer):
    """A threaded HTTP server that does not wait for its threads when it ends."""

    daemon_threads = True
    request_queue_size = 128


class Handler(BaseHTTPRequestHandler):
    """A request handler that logs nothing."""

    def answer(self, status: int, body: bytes = b"") -> None:
        """Send a response; ignore a client that has disconnected."""
        with suppress(ConnectionError):
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""
