"""The client: requests to the fleet's service ``web``, at a rate with a slow wave and noise.

In: the targets file and a rate in requests per second. Out: requests, and their counts under
``/metrics``.
"""

import math
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.hostwatch.peers import Peers, call
from tools.stack.exposition import Handler, Server, own_figures, text_format

__all__ = ["run_client"]

WAVE_SECONDS = 600.0
WAVE_SHARE = 0.35
MOST_AT_ONCE = 48


def run_client(port: int, rate: float, seed: int, targets: Path) -> None:
    """Send requests forever as a Poisson process whose rate is a wave with a drifting level."""
    rng = random.Random(seed)
    peers = Peers(targets)
    lock = threading.Lock()
    counts = {"http_requests_total": 0.0, "http_errors_total": 0.0, "http_request_seconds_sum": 0.0}
    waiting = 0

    def once() -> None:
        nonlocal waiting
        begun = time.monotonic()
        is_good = call(peers, "web", rng)
        with lock:
            counts["http_requests_total"] += 1
            counts["http_request_seconds_sum"] += time.monotonic() - begun
            counts["http_errors_total"] += not is_good
            waiting -= 1

    class Requests(Handler):
        def do_GET(self) -> None:
            with lock:
                figures = {**counts, "http_in_flight": float(waiting), **own_figures()}
            self.answer(200, text_format(figures))

    server = Server(("127.0.0.1", port), Requests)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    level = 0.0
    with ThreadPoolExecutor(MOST_AT_ONCE) as pool:
        while True:
            level += 0.02 * (rng.gauss(0, 1) * 0.5 - level * 0.3)
            wave = 1 + WAVE_SHARE * math.sin(2 * math.pi * time.time() / WAVE_SECONDS)
            time.sleep(rng.expovariate(rate * wave * math.exp(level)))
            with lock:
                waiting += 1
            pool.submit(once)
