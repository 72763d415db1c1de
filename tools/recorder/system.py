"""Base class of the systems *shop*, *cache* and *pipeline*.

In: a folder, a seed and a timeline; then actions. Out: members that are started, rolled out, scaled
and disturbed. Faults that are common to all systems are in ``faults``.
"""

import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from tools.recorder.kinds import Kind
from tools.recorder.members import Member, Members
from tools.recorder.monitoring import MACHINE_QUERIES, MONITORING_PROGRAMS, Monitoring
from tools.recorder.schedule import Routine
from tools.stack.queries import Query
from tools.stack.timeline import Timeline

__all__ = ["JOB", "ROLLOUT_SECONDS", "Stop", "System", "job_draw", "scale_draw"]

Stop = Callable[[], None]

# Seconds between the replicas of a rollout, and from the removal of a target to the end of its
# process.
ROLLOUT_SECONDS = 5.0
DRAIN_SECONDS = 3.0

JOB = "job"


class System:
    """Real software on loopback, defined by subclasses.

    Parameters
    ----------
    folder
        folder for all files of the system.
    seed
        seed of names and load.
    timeline
        timeline for later steps and for the log.
    """

    name: ClassVar[str]
    what: ClassVar[str]
    kinds: ClassVar[tuple[Kind, ...]]
    routines: ClassVar[tuple[Routine, ...]]
    own_queries: ClassVar[tuple[Query, ...]]
    own_programs: ClassVar[dict[str, str]]  # program -> Debian package

    def __init__(self, folder: Path, seed: int, timeline: Timeline) -> None:
        self.folder, self.seed, self.timeline = folder, seed, timeline
        self.rng = random.Random(seed + 2)
        self.members = Members(folder, seed)
        self.monitoring = Monitoring(folder, self.members.targets)
        self.slow_factor: dict[str, float] = {}  # service -> slowness of replicas started from now

    @classmethod
    def queries(cls) -> tuple[Query, ...]:
        """Return all queries of the dataset."""
        return (*MACHINE_QUERIES, *cls.own_queries)

    @classmethod
    def programs(cls) -> dict[str, str]:
        """Return all programs that are needed, with their Debian packages."""
        return {**MONITORING_PROGRAMS, "stress-ng": "stress-ng", **cls.own_programs}

    @classmethod
    def kind(cls, name: str) -> Kind:
        """Return a kind of fault by its name."""
        return next(kind for kind in cls.kinds if kind.name == name)

    # ------------------------------------------------------------------ processes

    def start(self) -> None:
        """Start the software and the monitoring; return when they work."""
        self.start_services()
        self.monitoring.start()

    def start_services(self) -> None:
        """Start the software of the system; return when it works."""
        raise NotImplementedError

    def start_replica(self, service: str) -> Member:
        """Start a further replica of a service under a new name."""
        raise NotImplementedError

    def close(self) -> None:
        """End the software and the monitoring."""
        self.members.end_all()
        self.monitoring.close()

    def look_after(self) -> None:
        """Remove jobs that are done; restart other processes that ended by themselves."""
        for one in [one for one in self.members.present if not one.is_running]:
            if one.service == JOB:
                self.members.leave(one)
                self.members.finish(one)
            elif not one.is_crashing:
                self.timeline.log("died", service=one.service, pod=one.name, role=one.role)
                self.members.start_again(one)

    def run(self, *command: str) -> str:
        """Run a command to its end and return its output; raise OSError if it fails."""
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise OSError(f"{' '.join(command[:3])}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def retried(self, step: Callable[[], object], seconds: float = 60.0) -> None:
        """Retry a step until it succeeds, because a server may still be starting."""
        until = time.monotonic() + seconds
        while True:
            try:
                step()
                return
            except OSError as error:
                if time.monotonic() > until:
                    raise SystemExit(f"{self.name} did not start: {error}") from None
                time.sleep(0.2)

    def as_user(self, user: str, *command: str) -> list[str]:
        """Return a command that runs as an unprivileged user."""
        return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *command]

    # ------------------------------------------------------------------ routine

    def do_rollout(self, about: dict[str, Any]) -> None:
        """Replace every replica of a service, one by one."""
        old = self.members.of(about["service"])
        pods = [one.name for one in old]
        seconds = ROLLOUT_SECONDS * len(old)
        self.timeline.log("rollout", seconds=seconds, service=about["service"], pods=pods)
        self.roll_out(about["service"])

    def roll_out(self, service: str) -> list[str]:
        """Schedule the replacement of every replica of a service.

        Return a list to which the names of the new replicas are appended as they start.
        """
        self.members.new_revision(service)
        names: list[str] = []

        def come() -> None:
            names.append(self.start_replica(service).name)

        for place, one in enumerate(self.members.of(service)):
            self.timeline.soon(place * ROLLOUT_SECONDS, come)
            self.timeline.soon((place + 0.5) * ROLLOUT_SECONDS, self.retire, one)
        return names

    def retire(self, one: Member) -> None:
        """Remove a member from the targets and end it later, unless it has left already."""
        if one in self.members.present:
            self.members.leave(one)
            self.timeline.soon(DRAIN_SECONDS, self.members.finish, one)

    def do_scale(self, about: dict[str, Any]) -> None:
        """Change the number of replicas of a service."""
        service, wanted = about["service"], about["replicas"]
        ones = self.members.of(service)
        pods = [one.name for one in ones[wanted:]]
        self.timeline.log(
            "scale", seconds=3, service=service, before=len(ones), after=wanted, pods=pods
        )
        for _ in range(wanted - len(ones)):
            self.start_replica(service)
        for one in ones[wanted:]:
            self.retire(one)

    def do_job(self, about: dict[str, Any]) -> None:
        """Start a short job: a process that uses a share of a processor and then ends."""
        words = {key: about[key] for key in ("seconds", "share", "megabytes")}
        one = self.members.start_own("job", JOB, **words)
        self.timeline.log("job", pods=[one.name], service=JOB, **words)

    # ------------------------------------------------------------------ faults

    def begin(self, about: dict[str, Any]) -> Stop:
        """Begin a fault; return the function that ends it.

        If the fault affects one pod, the name of the pod is added to ``about``.
        """
        if self.kind(about["kind"]).of_pod:
            ones = self.members.of(about["service"])
            about["pod"] = ones[about["index"] % len(ones)].name
        stop: Stop = getattr(self, f"begin_{about['kind']}")(about)
        return stop

    def pod(self, about: dict[str, Any]) -> Member:
        """Return the member that a fault affects."""
        return next(one for one in self.members.present if one.name == about["pod"])


def job_draw(rng: random.Random) -> dict[str, Any]:
    """Draw the duration, processor share and memory of a short job."""
    return {
        "seconds": round(rng.uniform(15, 45), 1),
        "share": round(rng.uniform(0.1, 0.3), 2),
        "megabytes": rng.randint(5, 30),
    }


def scale_draw(fewest: int, most: int) -> Callable[[random.Random], dict[str, Any]]:
    """Return a function that draws a number of replicas."""
    return lambda rng: {"replicas": rng.randint(fewest, most)}
