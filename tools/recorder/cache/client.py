"""A client of the cache: one replica that reads from the cluster and writes missing values.

In: ports of nodes of the cluster. Out: commands to the node that holds each key, and metrics.
"""

import math
import random
import threading
import time
from contextlib import suppress

from tools.recorder.worker import Worker, serve
from tools.stack.redis import Connection, ReplyError

__all__ = [
    "HOT_KEY",
    "KEPT_SECONDS",
    "N_KEYS",
    "N_SLOTS",
    "VALUE_BYTES",
    "key_slot",
    "run_client",
    "slot_range",
]

N_KEYS, VALUE_BYTES = 8_000, 1000
N_THREADS = 3
SEASON_SECONDS, SEASON_SHARE = 600.0, 0.7
LOAD_SECONDS = 0.004  # time to load a value from the store behind the cache
KEPT_SECONDS = 240
LIFETIME_SECONDS = 8.0
N_SLOTS = 16384
WRITE_SHARE = 0.1
HOT_KEY = "item:hot"


def key_slot(key: bytes) -> int:
    """Return the Redis Cluster slot of a key: CRC16 (XMODEM) modulo 16,384.

    Examples
    --------
    >>> key_slot(b"123456789")
    12739
    """
    crc = 0
    for byte in key:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc % N_SLOTS


class Cluster:
    """Connections of one thread to the nodes of the cluster.

    The map of slots is read again after a slot has moved or a node could not be reached.
    """

    def __init__(self, ports: list[int], password: str) -> None:
        self.ports, self.password = ports, password
        self._owners: list[tuple[int, int, int]] = []
        self._open: dict[int, tuple[Connection, float]] = {}

    def ask(self, key: str, *command: str | bytes | int) -> object:
        """Send a command to the node that holds a key."""
        slot = key_slot(key.encode())
        for _ in range(3):
            port = self._port(slot)
            try:
                return self._connection(port).ask((*command[:1], key, *command[1:]))[0]
            except ReplyError as error:
                if not str(error).startswith(("MOVED", "ASK")):
                    raise
                self._owners = []
            except OSError:
                self.drop(port)
                raise
        raise ConnectionError(f"slot {slot} keeps moving")

    def drop(self, port: int) -> None:
        """Close a connection and discard the map of slots."""
        held = self._open.pop(port, None)
        self._owners = []
        if held is not None:
            held[0].close()

    def _connection(self, port: int) -> Connection:
        held = self._open.get(port)
        if held is None or held[1] < time.monotonic():
            if held is not None:
                held[0].close()
                del self._open[port]
            until = time.monotonic() + LIFETIME_SECONDS * random.uniform(0.5, 1.5)
            held = Connection(port, self.password, timeout=1.0), until
            self._open[port] = held
        return held[0]

    def _port(self, slot: int) -> int:
        if not self._owners:
            self._learn()
        for first, last, port in self._owners:
            if first <= slot <= last:
                return port
        raise ConnectionError(f"nobody holds slot {slot}")

    def _learn(self) -> None:
        """Read the map of slots from any node that answers."""
        for port in [*self._open, *self.ports]:
            with suppress(OSError):
                (reply,) = self._connection(port).ask(("CLUSTER", "SLOTS"))
                assert isinstance(reply, list)
                self._owners = [slot_range(entry) for entry in reply]
                self.ports = [port for _, _, port in self._owners] or self.ports
                return
        raise ConnectionError("no node answers")


def slot_range(entry: object) -> tuple[int, int, int]:
    """Return the first slot, last slot and owner's port of an entry of CLUSTER SLOTS."""
    assert isinstance(entry, list)
    first, last, owner = entry[:3]
    return int(first), int(last), int(owner[1])


class Client(Worker):
    """A replica whose threads each read and write at a seasonal rate."""

    def __init__(self, ports: list[int], password: str, rate: float, slow: float) -> None:
        super().__init__(
            "call_total",
            "call_seconds_sum",
            "call_error_total",
            "cache_hit_total",
            "cache_miss_total",
        )
        self.ports, self.password, self.rate = ports, password, rate
        self.words |= {"slow_factor": slow, "hot": 0.0, "clock": 0.0}
        for _ in range(N_THREADS):
            threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        cluster = Cluster(self.ports, self.password)
        while True:
            season = 1 + SEASON_SHARE * math.sin(2 * math.pi * time.time() / SEASON_SECONDS)
            time.sleep(self.rng.expovariate(self.rate * season / N_THREADS))
            with self.lock:
                self.in_flight += 1
            try:
                with self.timed("call_total", "call_seconds_sum"):
                    self._call(cluster)
            except OSError:
                self.add("call_error_total")
            with self.lock:
                self.in_flight -= 1

    def _call(self, cluster: Cluster) -> None:
        key = f"item:{int(N_KEYS * self.rng.random() ** 2)}"  # small numbers are popular
        if self.rng.random() < self.words["hot"]:
            key = HOT_KEY
        if self.words["slow_factor"] > 1 or self.words["added_seconds"] > 0:
            self.work(0.002)
        if self.rng.random() < WRITE_SHARE or cluster.ask(key, "GET") is None:
            self.add("cache_miss_total")
            time.sleep(LOAD_SECONDS)
            # The expiry is computed from the client's own clock, which a fault may set back.
            expires = int(time.time() + self.words["clock"]) + KEPT_SECONDS
            cluster.ask(key, "SET", b"x" * VALUE_BYTES, "EXAT", expires)
        else:
            self.add("cache_hit_total")


def run_client(port: int, nodes: str, password: str, rate: float, slow: float) -> None:
    """Read and write until the process is ended."""
    serve(Client([int(node) for node in nodes.split(",")], password, rate, slow), port)
    while True:
        time.sleep(3600)
