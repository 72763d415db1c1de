"""The pipeline as a system: RabbitMQ, producers, consumers, a small file system, and faults.

In: actions of a schedule. Out: running software with routine changes and faults.
"""

import base64
import fcntl
import json
import os
import threading
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from tools.recorder.faults import CommonFaults
from tools.recorder.members import Member
from tools.recorder.pipeline.kinds import CONSUMERS, KINDS, ROUTINES
from tools.recorder.pipeline.stomp import Stomp
from tools.recorder.pipeline.variables import QUERIES
from tools.recorder.pipeline.workers import POISON, QUEUES
from tools.recorder.system import Stop
from tools.stack.processes import free_port
from tools.stack.prometheus import answered, wait_for

__all__ = ["Pipeline"]

PRODUCERS, REPLICAS = 3, 2
PASSWORD = "pipeline"
VOLUME_MEGABYTES = 128
FLOOD_CONNECTIONS, POISONED = 120, 20

# Age in seconds below which a cleaning keeps results, and size of all results in bytes above which
# they are cleaned at once.
KEPT_SECONDS, MAX_RESULT_BYTES = 40, 70_000_000

# The server of Debian's package; the one in the search path changes the user.
SERVER = "/usr/lib/rabbitmq/bin/rabbitmq-server"

PLUGINS = "[rabbitmq_management,rabbitmq_prometheus,rabbitmq_stomp].\n"
CONFIG = """\
listeners.tcp.1 = 127.0.0.1:{amqp}
stomp.listeners.tcp.1 = 127.0.0.1:{stomp}
prometheus.tcp.ip = 127.0.0.1
prometheus.tcp.port = {prometheus}
management.tcp.ip = 127.0.0.1
management.tcp.port = {management}
log.console.level = error
collect_statistics_interval = 2000
"""


class Pipeline(CommonFaults):
    """RabbitMQ with its built-in exporter, producers and consumers."""

    name = "pipeline"
    what = (
        "RabbitMQ between producers and consumers that come and go, batches of messages, and "
        "results on a small file system that fills and is cleaned"
    )
    kinds = KINDS
    routines = ROUTINES
    own_queries = QUERIES
    own_programs: ClassVar[dict[str, str]] = {
        "rabbitmq-server": "rabbitmq-server",
        "mkfs.ext4": "e2fsprogs",
    }

    def start_services(self) -> None:
        """Mount the file system, then start the broker, the consumers and the producers."""
        self.out = self._mount_volume()
        self._start_broker()
        for service in CONSUMERS:
            for _ in range(REPLICAS):
                self.start_replica(service)
        for _ in range(PRODUCERS):
            self.start_replica("producer")

    def start_replica(self, service: str) -> Member:
        """Start a producer or a consumer."""
        words = {
            "stomp": self.port["stomp"],
            "password": PASSWORD,
            "slow": self.slow_factor.get(service, 1.0),
        }
        if service == "producer":
            return self.members.start_own("producer", service, **words)
        return self.members.start_own("consumer", service, queue=service, out=self.out, **words)

    def ports(self, service: str) -> list[int]:
        """Return the port that the broker's clients use."""
        return [self.port["stomp"]]

    def look_after(self) -> None:
        """Also delete old results if they take too much space."""
        super().look_after()
        if sum(path.stat().st_size for path in self._results()) > MAX_RESULT_BYTES:
            self.do_clean({})

    # ------------------------------------------------------------------ parts

    def _mount_volume(self) -> Path:
        """Mount a small file system and return its path; it is unmounted with the namespace."""
        image, volume = self.folder / "volume.img", self.folder / "volume"
        with image.open("wb") as file:
            file.truncate(VOLUME_MEGABYTES << 20)
        self.run("mkfs.ext4", "-q", "-m", "0", str(image))
        volume.mkdir()
        self.run("mount", "-o", "loop", str(image), str(volume))
        return volume

    def _start_broker(self) -> None:
        folder = self.folder / "rabbitmq"
        folder.mkdir()
        self.port = {
            name: free_port() for name in ("amqp", "stomp", "prometheus", "management", "erlang")
        }
        (folder / "rabbitmq.conf").write_text(CONFIG.format(**self.port), encoding="utf-8")
        (folder / "plugins").write_text(PLUGINS, encoding="utf-8")
        environment = {
            **os.environ,
            "HOME": str(folder),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": "rabbit@localhost",
            "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            "RABBITMQ_PID_FILE": str(folder / "pid"),
            "RABBITMQ_DIST_PORT": str(self.port["erlang"]),
            # Erlang's schedulers must not busy-wait, which would look like load.
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none",
        }
        port = self.port["prometheus"]
        one = self.members.start(
            "rabbitmq", [SERVER], role="server", scraped_at=port, environment=environment
        )
        assert one.target is not None
        labels = {"__metrics_path__": "/metrics/detailed", "__param_family": "queue_coarse_metrics"}
        entry = {"targets": one.target["targets"], "labels": {**one.target["labels"], **labels}}
        self.members.further_targets.append(entry)
        wait_for(f"http://127.0.0.1:{port}/metrics", 120.0)
        self._manage("users/worker", {"password": PASSWORD, "tags": ""})
        everything = {"configure": ".*", "write": ".*", "read": ".*"}
        self._manage("permissions/%2F/worker", everything)

    def _manage(self, path: str, content: dict[str, str]) -> None:
        """Change a resource of the broker through its HTTP interface."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port['management']}/api/{path}",
            data=json.dumps(content).encode(),
            method="PUT",
            headers={
                "Authorization": f"Basic {base64.b64encode(b'guest:guest').decode()}",
                "Content-Type": "application/json",
            },
        )
        answered(request)

    def _results(self) -> list[Path]:
        return sorted(self.out.glob("*.out"))

    # ------------------------------------------------------------------ routine

    def do_clean(self, about: dict[str, Any]) -> None:
        """Delete results older than KEPT_SECONDS."""
        old = [
            path for path in self._results() if path.stat().st_mtime < time.time() - KEPT_SECONDS
        ]
        self.timeline.log("clean", seconds=2, service="storage", pods=[])
        for path in old:
            path.unlink()

    def do_batch(self, about: dict[str, Any]) -> None:
        """Send many messages at once."""
        queue, n = about["queue"], about["messages"]
        self.timeline.log("batch", seconds=5, service="batch", pods=[], queue=queue, messages=n)

        def send() -> None:
            with suppress(OSError):
                self._send(queue, [os.urandom(QUEUES[queue][1]) for _ in range(n)])

        threading.Thread(target=send, daemon=True).start()

    def _send(self, queue: str, bodies: list[bytes]) -> None:
        connection = Stomp(self.port["stomp"], PASSWORD, timeout=30.0)
        for body in bodies:
            connection.send("SEND", body, destination=f"/queue/{queue}", receipt="r")
            connection.receive()
        connection.close()

    # ------------------------------------------------------------------ faults

    def _consumers(self) -> list[str]:
        return [one.name for service in CONSUMERS for one in self.members.of(service)]

    def begin(self, about: dict[str, Any]) -> Stop:
        """Begin a fault; if it affects all consumers, add their names to ``about``."""
        if about["kind"] in ("disk_full", "password_wrong", "network_slow"):
            about["pods"] = self._consumers()
        return super().begin(about)

    def begin_disk_full(self, about: dict[str, Any]) -> Stop:
        """Fill the file system."""
        path = self.out / "filler"
        with path.open("wb") as file, suppress(OSError):
            while True:
                file.write(bytes(1 << 20))
                file.flush()
        return path.unlink

    def begin_lock_held(self, about: dict[str, Any]) -> Stop:
        """Hold the lock of the consumers of a queue."""
        file = (self.out / f"{about['service']}.lock").open("ab")
        fcntl.flock(file, fcntl.LOCK_EX)
        return file.close

    def begin_retry_storm(self, about: dict[str, Any]) -> Stop:
        """Send messages that cannot be processed until the fault ends."""
        until = time.time() + about["seconds"]
        self._send(about["service"], [POISON + str(until).encode()] * POISONED)
        return lambda: None

    def begin_traffic_burst(self, about: dict[str, Any]) -> Stop:
        """Make the producers send more messages."""
        return self.controlled(self.members.of("producer"), "burst", about["burst"], 1)

    def begin_password_wrong(self, about: dict[str, Any]) -> Stop:
        """Change the password of the workers."""
        self._manage("users/worker", {"password": "another", "tags": ""})
        return lambda: self._manage("users/worker", {"password": PASSWORD, "tags": ""})

    def begin_connection_flood(self, about: dict[str, Any]) -> Stop:
        """Open idle connections to the broker."""
        held = [Stomp(self.port["stomp"], PASSWORD) for _ in range(FLOOD_CONNECTIONS)]

        def stop() -> None:
            for one in held:
                one.close()

        return stop

    def begin_exporter_silent(self, about: dict[str, Any]) -> Stop:
        """Suspend an exporter of the machine."""
        return self.stopped(self.monitoring.processes[about["service"]])
