"""Load on Redis: clients that read and write a working set, a flood of clients, a memory fill.

In: the port of a Redis server on loopback. Out: commands, sent over plain sockets.
"""

import math
import random
import threading
import time
from contextlib import suppress

from tools.stack.redis import Connection

__all__ = ["FILL_PREFIX", "fill", "flood", "remove_fill", "run_clients"]

N_CLIENTS, N_KEYS, VALUE_BYTES = 4, 2_000, 200
BATCHES_PER_SECOND, COMMANDS_PER_BATCH = 8.0, 6
WAVE_SECONDS = 600.0
WRITE_SHARE, MISS_SHARE = 0.2, 0.05

FILL_PREFIX, FILL_VALUE_BYTES = "fill", 1_000_000


def run_clients(port: int, seed: int) -> None:
    """Read and write until the process is ended; after a reconnect, load the working set again."""
    for number in range(N_CLIENTS):
        rng = random.Random(seed * 1000 + number)
        threading.Thread(target=_run_client, args=(port, rng, number == 0), daemon=True).start()
    while True:
        time.sleep(3600)


def _run_client(port: int, rng: random.Random, loads_keys: bool) -> None:
    while True:
        with suppress(OSError):
            connection = Connection(port)
            try:
                if loads_keys:
                    keys = range(N_KEYS)
                    connection.ask(*(("SET", f"item:{key}", "x" * VALUE_BYTES) for key in keys))
                while True:
                    connection.ask(*(_command(rng) for _ in range(COMMANDS_PER_BATCH)))
                    wave = 1.0 + 0.25 * math.sin(2 * math.pi * time.time() / WAVE_SECONDS)
                    time.sleep(rng.expovariate(BATCHES_PER_SECOND * wave))
            finally:
                connection.close()
        time.sleep(1.0)


def _command(rng: random.Random) -> tuple[str | bytes, ...]:
    key = rng.randrange(N_KEYS)
    chance = rng.random()
    if chance < MISS_SHARE:
        return ("GET", f"missing:{key}")
    if chance < WRITE_SHARE / 2:
        return ("SET", f"session:{key}", "x" * VALUE_BYTES, "EX", "30")
    if chance < WRITE_SHARE:
        return ("SET", f"item:{key}", "x" * VALUE_BYTES)
    return ("GET", f"item:{key}")


def flood(port: int, n_connections: int) -> None:
    """Open many connections and ping on each about once per second until the process is ended."""
    connections = [Connection(port) for _ in range(n_connections)]
    while True:
        for connection in connections:
            connection.ask(("PING",))
            time.sleep(1.0 / n_connections)


def fill(port: int, megabytes: int) -> None:
    """Write keys of 1 MB each within some seconds, then wait until the process is ended."""
    connection = Connection(port)
    value = b"x" * FILL_VALUE_BYTES
    for number in range(megabytes):
        connection.ask(("SET", f"{FILL_PREFIX}:{number}", value))
        time.sleep(0.03)
    while True:
        time.sleep(3600)


def remove_fill(port: int, megabytes: int) -> None:
    """Delete the keys that :func:`fill` wrote."""
    connection = Connection(port)
    connection.ask(*(("UNLINK", f"{FILL_PREFIX}:{number}") for number in range(megabytes)))
    connection.close()
