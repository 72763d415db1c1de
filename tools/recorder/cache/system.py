"""The cache tier as a system: a Redis cluster with clients, replacement of nodes, and faults.

In: actions of a schedule. Out: running software with routine changes and faults.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar

from tools.recorder.cache.client import (
    HOT_KEY,
    KEPT_SECONDS,
    N_KEYS,
    N_SLOTS,
    VALUE_BYTES,
    key_slot,
    slot_range,
)
from tools.recorder.cache.kinds import KINDS, ROUTINES
from tools.recorder.cache.variables import QUERIES
from tools.recorder.faults import CommonFaults
from tools.recorder.members import Member
from tools.recorder.system import Stop
from tools.stack.processes import free_port
from tools.stack.redis import Connection, Reply

__all__ = ["Cache"]

NODES, CLIENTS = 4, 3
CALLS_PER_SECOND = 40.0  # per client
PASSWORD = "cache"
NODE_MEMORY = 16 << 20
FLOOD_CONNECTIONS = 300

# A script that keeps a node busy for 30 ms.
BUSY_SCRIPT = """\
local begun = redis.call('TIME')
repeat local now = redis.call('TIME')
until (now[1] - begun[1]) * 1000000 + now[2] - begun[2] > 30000"""

# Seconds between two checks of the progress of a replacement, and timeout of each of its steps.
LOOK_SECONDS, STEP_SECONDS = 0.5, 20.0


class Cache(CommonFaults):
    """A Redis cluster of masters, its exporter and its clients."""

    name = "cache"
    what = (
        "a Redis cluster whose nodes are replaced one by one under new names, and clients whose "
        "load has a strong season of ten minutes"
    )
    kinds = KINDS
    routines = ROUTINES
    own_queries = QUERIES
    own_programs: ClassVar[dict[str, str]] = {
        "redis-server": "redis-server",
        "prometheus-redis-exporter": "prometheus-redis-exporter",
    }

    def start_services(self) -> None:
        """Start the exporter and the cluster, fill the cluster, and start the clients."""
        self.exporter_port = free_port()
        self.members.start(
            "redis",
            [
                "prometheus-redis-exporter",
                "-redis.addr=",
                f"-redis.password={PASSWORD}",
                f"-web.listen-address=127.0.0.1:{self.exporter_port}",
            ],
            role="exporter",
        )
        nodes = [self._start_node() for _ in range(NODES)]
        for number, one in enumerate(nodes):
            first, last = (N_SLOTS * place // NODES for place in (number, number + 1))
            self.retried(partial(self.ask, one, "PING"))
            self.ask(one, "CLUSTER", "ADDSLOTSRANGE", first, last - 1)
            self.ask(one, "CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for one in nodes[1:]:
            self._meet(one, nodes[0])
        self._until(lambda: all("cluster_state:ok" in self._info(one) for one in nodes))
        self._fill(nodes)
        for _ in range(CLIENTS):
            self.start_replica("client")

    def start_replica(self, service: str) -> Member:
        """Start a client."""
        return self.members.start_own(
            "client",
            service,
            nodes=",".join(str(port) for port in self.ports("redis")),
            password=PASSWORD,
            rate=CALLS_PER_SECOND,
            slow=self.slow_factor.get(service, 1.0),
        )

    def ports(self, service: str) -> list[int]:
        """Return the ports of the replicas of a service."""
        return [one.port for one in self.members.of(service)]

    # ------------------------------------------------------------------ nodes

    def _start_node(self) -> Member:
        name, port = self.members.new_name("redis"), free_port()
        words = {
            "port": port,
            "bind": "127.0.0.1",
            "cluster-enabled": "yes",
            "cluster-port": free_port(),
            "cluster-config-file": f"nodes-{name}.conf",
            "cluster-node-timeout": 3000,
            "cluster-require-full-coverage": "no",
            "requirepass": PASSWORD,
            "masterauth": PASSWORD,
            "maxmemory": NODE_MEMORY,
            "maxmemory-policy": "allkeys-lru",
            "save": "",
            "repl-diskless-sync-delay": 0,
            "dir": self.folder,
        }
        command = ["redis-server"]
        for word, value in words.items():
            command += [f"--{word}", str(value)]
        return self.members.start(
            "redis",
            command,
            name=name,
            role="node",
            port=port,
            scraped_at=self.exporter_port,
            scrape={
                "__metrics_path__": "/scrape",
                "__param_target": f"redis://127.0.0.1:{port}",
            },
        )

    def ask(self, one: Member, *words: str | bytes | int) -> Reply:
        """Send a command to a node; return its reply."""
        connection = Connection(one.port, PASSWORD)
        try:
            return connection.ask(words)[0]
        finally:
            connection.close()

    def _info(self, one: Member) -> str:
        replies = (self.ask(one, "CLUSTER", "INFO"), self.ask(one, "INFO"))
        return "".join(reply.decode() for reply in replies if isinstance(reply, bytes))

    def _id(self, one: Member) -> bytes:
        found = self.ask(one, "CLUSTER", "MYID")
        assert isinstance(found, bytes)
        return found

    def _meet(self, one: Member, known: Member) -> None:
        port = self.ask(known, "CONFIG", "GET", "cluster-port")
        assert isinstance(port, list)
        assert isinstance(port[1], bytes)
        self.ask(one, "CLUSTER", "MEET", "127.0.0.1", known.port, port[1])

    def _until(self, holds: Callable[[], bool], seconds: float = 30.0) -> None:
        until = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > until:
                raise SystemExit("the cluster did not form")
            time.sleep(0.2)

    def _fill(self, nodes: list[Member]) -> None:
        """Write every key once, with a random time to live."""
        commands: dict[int, list[tuple[str | bytes | int, ...]]] = {}
        value = b"x" * VALUE_BYTES
        for number in range(N_KEYS):
            key = f"item:{number}"
            place = key_slot(key.encode()) * NODES // N_SLOTS
            life = self.rng.randint(10, KEPT_SECONDS)
            commands.setdefault(place, []).append(("SET", key, value, "EX", life))
        for place, chosen in commands.items():
            connection = Connection(nodes[place].port, PASSWORD)
            for start in range(0, len(chosen), 200):
                connection.ask(*chosen[start : start + 200])
            connection.close()

    # ------------------------------------------------------------------ routine

    def do_replace(self, about: dict[str, Any]) -> None:
        """Replace the oldest node: a new one copies it, takes over, and the old one leaves."""
        old = self.members.of("redis")[0]
        self.timeline.log("replace", seconds=10, service="redis", pods=[old.name])
        self._advance(self._replace(old))

    def _advance(self, steps: Iterator[None]) -> None:
        """Continue a replacement, and schedule its next step."""
        with suppress(StopIteration):
            next(steps)
            self.timeline.soon(LOOK_SECONDS, self._advance, steps)

    def _replace(self, old: Member) -> Iterator[None]:
        new = self._start_node()
        others = [one for one in self.members.of("redis") if one is not new]
        yield
        yield from self._wait(lambda: self.ask(new, "PING") is not None)
        self._meet(new, old)
        name = self._id(old)
        yield from self._wait(lambda: self._replicates(new, name))
        yield from self._wait(lambda: "master_link_status:up" in self._info(new))
        # The masters vote on a failover, so all of them must know the replica.
        yield from self._wait(
            lambda: all(self.ask(one, "CLUSTER", "REPLICAS", name) for one in others)
        )
        yield
        self.ask(new, "CLUSTER", "FAILOVER")
        yield from self._wait(lambda: "role:master" in self._info(new))
        yield  # until the other nodes know the new master
        yield
        self.retire(old)
        for one in [new, *others]:
            with suppress(OSError):
                self.ask(one, "CLUSTER", "FORGET", name)

    def _replicates(self, new: Member, name: bytes) -> bool:
        """Make a new node a replica of another; raise OSError while it does not know that node."""
        self.ask(new, "CLUSTER", "REPLICATE", name)
        return True

    def _wait(self, holds: Callable[[], bool]) -> Iterator[None]:
        until = time.monotonic() + STEP_SECONDS
        while time.monotonic() < until:
            with suppress(OSError):
                if holds():
                    return
            yield
        raise TimeoutError("a node could not be replaced in time")

    # ------------------------------------------------------------------ faults

    def begin_cache_flushed(self, about: dict[str, Any]) -> Stop:
        """Empty a node twice per second."""
        one = self.pod(about)
        return self.repeated(lambda: self.ask(one, "FLUSHALL"), 0.5)

    def begin_node_slow(self, about: dict[str, Any]) -> Stop:
        """Run scripts on a node that keep it busy."""
        one = self.pod(about)
        return self.repeated(lambda: self.ask(one, "EVAL", BUSY_SCRIPT, 0), 0.02)

    def begin_node_crash_loop(self, about: dict[str, Any]) -> Stop:
        """Kill a node and start it again, repeatedly."""
        return self.begin_crash_loop(about)

    def begin_client_flood(self, about: dict[str, Any]) -> Stop:
        """Open many connections to a node, and ping on them."""
        one = self.pod(about)
        held = [Connection(one.port, PASSWORD) for _ in range(FLOOD_CONNECTIONS)]
        stop = self.repeated(lambda: [each.ask(("PING",)) for each in held], 1.0)

        def close() -> None:
            stop()
            for each in held:
                each.close()

        return close

    def begin_memory_cut(self, about: dict[str, Any]) -> Stop:
        """Set the memory limit of a node below its usage."""
        one = self.pod(about)
        facts = dict(line.split(":", 1) for line in self._info(one).splitlines() if ":" in line)
        limit = int(facts["used_memory"]) - int(0.6 * int(facts["used_memory_dataset"]))
        self.ask(one, "CONFIG", "SET", "maxmemory", limit)

        def stop() -> None:
            self.ask(one, "CONFIG", "SET", "maxmemory", NODE_MEMORY)

        return stop

    def begin_hot_key(self, about: dict[str, Any]) -> Stop:
        """Make the clients read one key most of the time, and record the node that holds it."""
        slot = key_slot(HOT_KEY.encode())
        ranges = self.ask(self.members.of("redis")[0], "CLUSTER", "SLOTS")
        assert isinstance(ranges, list)
        (port,) = (port for first, last, port in map(slot_range, ranges) if first <= slot <= last)
        about["pod"] = next(one.name for one in self.members.of("redis") if one.port == port)
        return self.controlled(self.members.of("client"), "hot", 0.6, 0)

    def begin_clock_jump(self, about: dict[str, Any]) -> Stop:
        """Set the clocks of the clients back by an hour."""
        return self.controlled(self.members.of("client"), "clock", -3600, 0)

    def begin_password_wrong(self, about: dict[str, Any]) -> Stop:
        """Change the password of a node."""
        connection = Connection(self.pod(about).port, PASSWORD)
        connection.ask(("CONFIG", "SET", "requirepass", "another"))

        def stop() -> None:
            connection.ask(("CONFIG", "SET", "requirepass", PASSWORD))
            connection.close()

        return stop

    def repeated(self, step: Callable[[], object], seconds: float) -> Stop:
        """Repeat a step in a thread, with a pause of some seconds, until the fault ends."""
        stopping = threading.Event()

        def run() -> None:
            while not stopping.wait(seconds):
                with suppress(OSError):
                    step()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()

        def stop() -> None:
            stopping.set()
            thread.join()

        return stop
