"""Faults that are common to all systems: their kinds, beginning and end.

In: the schedule's entry of a fault. Out: the fault, and a function that ends it.
"""

import signal
import subprocess
import sys
from typing import Any

from tools.recorder.kinds import MACHINE, Cause, Kind
from tools.recorder.members import Member
from tools.recorder.system import Stop, System
from tools.stack.processes import end, start, words_of

__all__ = [
    "CPU_NEIGHBOUR",
    "DISK_SYNC",
    "LATENCY",
    "CommonFaults",
    "bad_rollout",
    "crash_loop",
    "exporter_silent",
    "memory_leak",
    "network_slow",
    "replica_slow",
]

MEGABYTE = 1024 * 1024

# Seconds that a crashing replica is up and down.
CRASH_UP_SECONDS, CRASH_DOWN_SECONDS = 5.0, 3.0

POD = {"pod": "{pod}"}
PODS = {"pod": "{pods}"}
GROUP = {"group": "{service}"}

# Metrics that a slow worker affects.
LATENCY = r"(http_request|task|call)_seconds|in_flight|queue_.*|http_error_rate|timeout_rate"

CPU_NEIGHBOUR = Kind(
    name="cpu_neighbour",
    services=(MACHINE,),
    what="stress-ng computes on 2 processors beside the system",
    causes=(
        Cause("node_load1|node_processes_running|node_pressure_cpu"),
        Cause("node_cpu", {"mode": "user"}),
        Cause("node_cpu", {"mode": "idle"}),
        Cause("group_cpu|group_processes|group_memory_bytes|group_threads", {"group": "stress"}),
    ),
    draw=lambda rng: {"processes": 2},
)

DISK_SYNC = Kind(
    name="disk_sync",
    services=(MACHINE,),
    what="a process writes and syncs 6 to 12 MB/s to the disk of the system",
    causes=(
        Cause(
            r"node_disk_(written_bytes|writes|io_time|write_time)|node_pressure_io(_stalled)?"
            r"|node_processes_blocked"
        ),
        Cause("node_cpu", {"mode": "iowait"}),
        Cause("group_written_bytes|group_processes", {"group": "writer"}),
    ),
    draw=lambda rng: {"megabytes": rng.choice((6, 9, 12))},
)


def memory_leak(*services: str) -> Kind:
    """Return the kind in which a replica leaks memory."""
    return Kind(
        name="memory_leak",
        services=services,
        of_pod=True,
        what="a replica holds on to 2 to 5 MB/s and lets go at the end",
        causes=(Cause("memory_bytes", POD), Cause("group_memory_bytes", GROUP)),
        draw=lambda rng: {"leak_a_second": round(rng.uniform(2, 5) * MEGABYTE)},
    )


def replica_slow(*services: str) -> Kind:
    """Return the kind in which a replica is slow."""
    return Kind(
        name="replica_slow",
        services=services,
        of_pod=True,
        what="a replica takes 0.1 to 0.3 s longer over everything",
        causes=(Cause(LATENCY, POD),),
        draw=lambda rng: {"added_seconds": round(rng.uniform(0.1, 0.3), 2)},
    )


def crash_loop(*services: str) -> Kind:
    """Return the kind in which a replica crashes repeatedly."""
    return Kind(
        name="crash_loop",
        services=services,
        of_pod=True,
        what="a replica is killed every few seconds and starts again under its name",
        causes=(Cause(".*", POD), Cause("group_processes", GROUP)),
    )


def exporter_silent(*services: str) -> Kind:
    """Return the kind in which an exporter does not answer, although its service works."""
    return Kind(
        name="exporter_silent",
        services=services,
        what="an exporter is stopped, though what it reports on works",
        causes=(Cause(".*", {"service": "{service}"}),),
    )


def bad_rollout(*services: str) -> Kind:
    """Return the kind in which a new version is 2.5 times as slow."""
    return Kind(
        name="bad_rollout",
        services=services,
        what="a new version, 2.5 times as slow, is rolled out, and rolled back at the end",
        causes=(Cause(LATENCY, PODS),),
        draw=lambda rng: {"slow_factor": 2.5},
    )


def network_slow(causes: tuple[Cause, ...], symptoms: tuple[Cause, ...], *services: str) -> Kind:
    """Return the kind in which responses of a service pass a slow, short queue that drops some."""
    return Kind(
        name="network_slow",
        services=services,
        what="answers of a service pass a queue of 300 to 800 kbit/s and 12 packets (tc)",
        causes=causes,
        symptoms=symptoms,
        draw=lambda rng: {"kilobits": rng.choice((300, 500, 800))},
        needs="tc",
    )


class CommonFaults(System):
    """A system with the faults that are common to all systems."""

    def ports(self, service: str) -> list[int]:
        """Return the ports that a service answers on."""
        raise NotImplementedError

    def load(self, *command: str) -> Stop:
        """Run a process that loads the machine until the fault ends."""
        process = start(command, self.folder / "load.log")
        return lambda: end(process)

    def begin_cpu_neighbour(self, about: dict[str, Any]) -> Stop:
        """Run stress-ng on some processors."""
        return self.load("stress-ng", "--cpu", str(about["processes"]), "--quiet")

    def begin_disk_sync(self, about: dict[str, Any]) -> Stop:
        """Write and sync to the disk that the system uses."""
        path = self.folder / "written"
        words = words_of({"group": "writer", "path": path, "megabytes": about["megabytes"]})
        stop = self.load(sys.executable, "-m", "tools.recorder", "writer", *words)

        def remove() -> None:
            stop()
            path.unlink(missing_ok=True)

        return remove

    def begin_memory_leak(self, about: dict[str, Any]) -> Stop:
        """Make a replica leak memory."""
        return self.controlled([self.pod(about)], "leak_a_second", about["leak_a_second"], 0)

    def begin_replica_slow(self, about: dict[str, Any]) -> Stop:
        """Make a replica slow."""
        return self.controlled([self.pod(about)], "added_seconds", about["added_seconds"], 0)

    def controlled(self, ones: list[Member], word: str, value: float, usual: float) -> Stop:
        """Set a control value of members; at the end set it back to ``usual``."""
        for one in ones:
            self.members.control(one, **{word: value})

        def stop() -> None:
            for one in ones:
                if one.is_running:
                    self.members.control(one, **{word: usual})

        return stop

    def begin_crash_loop(self, about: dict[str, Any]) -> Stop:
        """Kill a replica and start it again, repeatedly."""
        one = self.pod(about)
        one.is_crashing = True

        def crash() -> None:
            if one.is_crashing:
                one.process.kill()
                one.process.wait()
                self.timeline.soon(CRASH_DOWN_SECONDS, again)

        def again() -> None:
            if one.is_crashing:
                self.members.start_again(one)
                self.timeline.soon(CRASH_UP_SECONDS, crash)

        def stop() -> None:
            one.is_crashing = False

        crash()
        return stop

    def begin_exporter_silent(self, about: dict[str, Any]) -> Stop:
        """Suspend the process of an exporter."""
        return self.stopped(self.members.find(about["service"], "exporter").process)

    def stopped(self, process: subprocess.Popen[bytes]) -> Stop:
        """Suspend a process with SIGSTOP; the end resumes it."""
        process.send_signal(signal.SIGSTOP)
        return lambda: process.send_signal(signal.SIGCONT)

    def begin_bad_rollout(self, about: dict[str, Any]) -> Stop:
        """Roll out a slow version; the end rolls it back."""
        service = about["service"]
        self.slow_factor[service] = about["slow_factor"]
        about["pods"] = self.roll_out(service)

        def stop() -> None:
            del self.slow_factor[service]
            self.roll_out(service)

        return stop

    def begin_network_slow(self, about: dict[str, Any]) -> Stop:
        """Send responses of a service through a slow, short queue that drops what does not fit."""
        rate = f"{about['kilobits']}kbit"
        queue = "root handle 1: htb default 10"
        steps = [
            f"qdisc add dev lo {queue}",
            "class add dev lo parent 1: classid 1:10 htb rate 10gbit quantum 60000",
            f"class add dev lo parent 1: classid 1:20 htb rate {rate} ceil {rate} burst 2k",
            "qdisc add dev lo parent 1:20 pfifo limit 12",
            *(
                f"filter add dev lo parent 1: prio 1 protocol ip u32 match ip sport {port} 0xffff "
                "flowid 1:20"
                for port in self.ports(about["service"])
            ),
        ]
        for step in steps:
            self.run("tc", *step.split())

        def stop() -> None:
            self.run("tc", "qdisc", "del", "dev", "lo", "root")

        return stop
