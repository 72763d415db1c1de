"""Customers: HTTP requests at a rate with a slow wave and noise, with timeouts and retries.

In: a port and a rate in requests per second. Out: requests, and metrics of their results.
"""

import http.client
import math
import random
import time
from concurrent.futures import ThreadPoolExecutor

from tools.recorder.worker import Worker, serve

__all__ = ["run_customers"]

WAVE_SECONDS, WAVE_SHARE = 600.0, 0.35
MAX_AT_ONCE = 64
PATIENCE_SECONDS = 3.0

# Paths of the requests, and their shares in percent.
PATHS, SHARES = ("/page", "/history", "/order"), (70, 18, 12)


class Customers(Worker):
    """Customers who retry a failed request; ``patience`` is their timeout in seconds.

    ``retries`` and ``patience`` are set through ``/control``.
    """

    def __init__(self, target: int) -> None:
        super().__init__(
            "http_request_total", "http_request_seconds_sum", "http_error_total", "retry_total"
        )
        self.target = target
        self.words |= {"retries": 0.0, "patience": PATIENCE_SECONDS}

    def ask(self, path: str) -> None:
        """Request a path until it succeeds or the retries are used up."""
        for attempt in range(1 + int(self.words["retries"])):
            with self.timed("http_request_total", "http_request_seconds_sum"):
                is_good = self._ask_once(path)
            if is_good:
                break
            self.add("http_error_total")
            if attempt:
                self.add("retry_total")
        with self.lock:
            self.in_flight -= 1

    def _ask_once(self, path: str) -> bool:
        patience = self.words["patience"]
        connection = http.client.HTTPConnection("127.0.0.1", self.target, timeout=patience)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
        return answer.status == 200


def run_customers(port: int, target: int, rate: float, seed: int) -> None:
    """Send requests forever as a Poisson process whose rate is a wave with a drifting level."""
    customers = Customers(target)
    serve(customers, port)
    rng = random.Random(seed)
    level = 0.0
    phase = rng.uniform(0, 2 * math.pi)
    with ThreadPoolExecutor(MAX_AT_ONCE) as pool:
        while True:
            level += 0.02 * (rng.gauss(0, 1) * 0.5 - level * 0.3)
            wave = 1 + WAVE_SHARE * math.sin(2 * math.pi * time.time() / WAVE_SECONDS + phase)
            time.sleep(rng.expovariate(rate * wave * math.exp(level)))
            with customers.lock:
                is_full = customers.in_flight >= 4 * MAX_AT_ONCE
                customers.in_flight += not is_full
            if not is_full:
                pool.submit(customers.ask, *rng.choices(PATHS, SHARES))
