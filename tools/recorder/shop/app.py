"""The application: one replica of the shop, between nginx and the database with its cache.

In: requests for a page, a history or an order. Out: an HTTP status, and metrics.
"""

import hashlib
import queue
import time
from contextlib import suppress

from tools.recorder.shop.postgres import Postgres
from tools.recorder.worker import Worker, serve
from tools.stack.redis import Connection

__all__ = ["N_CUSTOMERS", "N_ITEMS", "run_app"]

N_ITEMS, N_CUSTOMERS = 4000, 5000

# Database connections per replica, mean lifetime of one, and longest wait for a free one.
POOL, LIFETIME_SECONDS, WAIT_SECONDS = 4, 8.0, 1.0

WORK_SECONDS = 0.006
CACHED_SECONDS, VALUE_BYTES = 90, 1200

ORDER = """\
BEGIN;
UPDATE accounts SET balance = balance - {price} WHERE customer = {customer};
INSERT INTO orders (customer, item, price) VALUES ({customer}, {item}, {price});
COMMIT"""


class App(Worker):
    """One replica, with pools of connections to the database and to the cache."""

    def __init__(self, postgres: int, redis: int, password: str, slow: float) -> None:
        super().__init__(
            "http_request_total",
            "http_request_seconds_sum",
            "http_error_total",
            "cache_hit_total",
            "cache_miss_total",
            "db_call_total",
            "db_call_seconds_sum",
            "db_error_total",
        )
        self.postgres, self.redis, self.password = postgres, redis, password
        self.words["slow_factor"] = slow
        self._places: queue.Queue[tuple[Postgres, float] | None] = queue.Queue()
        for _ in range(POOL):
            self._places.put(None)
        self._caches: queue.SimpleQueue[Connection] = queue.SimpleQueue()

    def answer(self, path: str) -> int:
        """Serve a request; return its HTTP status."""
        with self.lock:
            self.in_flight += 1
        try:
            with self.timed("http_request_total", "http_request_seconds_sum"):
                self.work(WORK_SECONDS)
                if path == "/order":
                    self._order()
                elif path == "/history":
                    self._history()
                else:
                    self._page()
        except OSError:
            self.add("http_error_total")
            return 503
        finally:
            with self.lock:
                self.in_flight -= 1
        return 200

    def figures(self) -> dict[str, float]:
        """Return the metrics that ``/metrics`` shows."""
        return {**super().figures(), "db_free_places": float(self._places.qsize())}

    def _page(self) -> None:
        item = min(int(self.rng.paretovariate(0.5)), N_ITEMS)
        session = f"session:{self.rng.randrange(2000)}"
        key = f"item:{item}"
        found, _ = self._cache(("GET", key), ("SET", session, item, "EX", 60))
        if found is None:
            self.add("cache_miss_total")
            (text,) = self._query(f"SELECT description FROM items WHERE item = {item}")
            self._cache(("SET", key, text, "EX", CACHED_SECONDS))
        else:
            self.add("cache_hit_total")
        for _ in range(20):
            hashlib.sha256(key.encode() * 20).digest()

    def _order(self) -> None:
        customer, item = self.rng.randint(1, N_CUSTOMERS), self.rng.randint(1, N_ITEMS)
        price = self.rng.randint(1, 99)
        self._query(ORDER.format(customer=customer, item=item, price=price))

    def _history(self) -> None:
        customer = self.rng.randint(1, N_CUSTOMERS)
        self._query(f"SELECT item FROM orders WHERE customer = {customer} ORDER BY placed LIMIT 20")

    def _query(self, text: str) -> list[str]:
        """Send a query to the database over a connection of the pool."""
        with self.timed("db_call_total", "db_call_seconds_sum"):
            try:
                held = self._places.get(timeout=WAIT_SECONDS)
            except queue.Empty:
                self.add("db_error_total")
                raise TimeoutError("all connections are in use") from None
            try:
                held = self._fresh(held)
                return held[0].ask(text)
            except OSError:
                self.add("db_error_total")
                if held is not None:
                    held[0].close()
                held = None
                raise
            finally:
                self._places.put(held)

    def _fresh(self, held: tuple[Postgres, float] | None) -> tuple[Postgres, float]:
        """Return the connection, or a new one if it is too old or missing."""
        if held is not None:
            if held[1] > time.monotonic():
                return held
            held[0].close()
        connection = Postgres(self.postgres, "shop", "shop", self.password)
        return connection, time.monotonic() + LIFETIME_SECONDS * self.rng.uniform(0.5, 1.5)

    def _cache(self, *commands: tuple[str | bytes | int, ...]) -> list[object]:
        """Send commands to the cache; return None for each if it cannot be reached."""
        try:
            connection = self._caches.get_nowait()
        except queue.Empty:
            try:
                connection = Connection(self.redis, timeout=1.0)
            except OSError:
                return [None] * len(commands)
        try:
            replies = list(connection.ask(*commands))
        except OSError:
            with suppress(OSError):
                connection.close()
            return [None] * len(commands)
        self._caches.put(connection)
        return list(replies)


def run_app(port: int, postgres: int, redis: int, password: str, slow: float) -> None:
    """Serve until the process is ended."""
    serve(App(postgres, redis, password, slow), port)
    while True:
        time.sleep(3600)
