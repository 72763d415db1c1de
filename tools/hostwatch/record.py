"""The recorder, which carries out the schedule while Prometheus records, and logs what happened.

In: a folder, a seed and the length of each phase. Out: in that folder, schedule.json before the
start, log.jsonl line by line, the storage of Prometheus, and done.json at the end.
"""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

from tools.hostwatch.faults import Faults
from tools.hostwatch.fleet import Fleet, Pod
from tools.hostwatch.processes import start_stack
from tools.hostwatch.schedule import SERVICES, Action, Phases, made_schedule, schedule_record
from tools.stack.processes import end
from tools.stack.timeline import Timeline

__all__ = ["record"]

TICK_SECONDS = 0.1

# Seconds between the replicas of a rollout, and from the removal of a target to the end of its
# process.
ROLLOUT_PAUSE = 6.0
DRAIN_SECONDS = 3.0


def record(folder: Path, seed: int, phases: Phases) -> None:
    """Record until the schedule is done."""
    folder.mkdir(parents=True, exist_ok=True)
    actions = made_schedule(seed, phases)
    plan = schedule_record(seed, phases, actions)
    (folder / "schedule.json").write_text(json.dumps(plan, indent=1), encoding="utf-8")
    before = signal.signal(signal.SIGTERM, _stop)
    fleet = Fleet(folder, seed)
    port, stack = start_stack(folder, fleet.targets)
    sys.stdout.write(f"Prometheus answers at http://127.0.0.1:{port} while this goes on\n")
    sys.stdout.flush()
    try:
        fleet.start_all()
        Recorder(folder, fleet, stack, phases).follow(actions)
    finally:
        fleet.end_all()
        for process in stack.values():
            process.send_signal(signal.SIGCONT)
            end(process, patience=30.0)
        signal.signal(signal.SIGTERM, before)


def _stop(number: int, frame: FrameType | None) -> None:
    raise SystemExit(f"stopped by signal {number}")


class Recorder(Timeline):
    """A timeline that carries out the actions of a schedule."""

    def __init__(
        self,
        folder: Path,
        fleet: Fleet,
        stack: dict[str, subprocess.Popen[bytes]],
        phases: Phases,
    ) -> None:
        super().__init__(folder)
        self.fleet = fleet
        self.phases = phases
        self.faults = Faults(folder, fleet, stack, self.soon)
        self.services = {service.name: service for service in SERVICES}

    def follow(self, actions: list[Action]) -> None:
        """Carry out a schedule that starts now, until its end."""
        begun = time.time()
        self.log("start", warm=self.phases.warm, normal=self.phases.normal)
        for action in actions:
            self.later(begun + action.at, getattr(self, f"do_{action.do}"), action.about)
        while time.time() < begun + self.phases.total:
            self.do_due()
            self.look_after()
            time.sleep(TICK_SECONDS)
        done = {"start": begun, "end": time.time(), "phases": vars(self.phases)}
        (self.folder / "done.json").write_text(json.dumps(done), encoding="utf-8")

    def look_after(self) -> None:
        """Remove jobs that are done; restart other processes that ended by themselves."""
        for pod in [pod for pod in self.fleet.pods.values() if not pod.is_running]:
            if pod.service == "job":
                self.fleet.leave(pod)
                self.fleet.finish(pod)
            elif not pod.is_crashing:
                self.log("died", pod=pod.name)
                self.fleet.start_again(pod)

    def do_job(self, about: dict[str, Any]) -> None:
        """Start a short job."""
        pod = self.fleet.start_job(**about)
        self.log("job", pod=pod.name, **about)

    def do_rollout(self, about: dict[str, Any]) -> None:
        """Replace every replica of a service, one by one."""
        name = about["service"]
        self.fleet.new_revision(name)
        old = self.fleet.replicas(name)
        self.log("rollout", service=name, pods=[pod.name for pod in old])
        for place, pod in enumerate(old):
            self.soon(place * ROLLOUT_PAUSE, self.fleet.start_replica, self.services[name])
            self.soon((place + 0.5) * ROLLOUT_PAUSE, self.retire, pod)

    def do_scale(self, about: dict[str, Any]) -> None:
        """Change the number of replicas of a service."""
        name, wanted = about["service"], about["replicas"]
        pods = self.fleet.replicas(name)
        self.log("scale", service=name, before=len(pods), after=wanted)
        for _ in range(wanted - len(pods)):
            self.fleet.start_replica(self.services[name])
        for pod in pods[wanted:]:
            self.retire(pod)

    def retire(self, pod: Pod) -> None:
        """Remove a pod from the targets and end it later, unless it has left already."""
        if pod.name in self.fleet.pods:
            self.fleet.leave(pod)
            self.soon(DRAIN_SECONDS, self.fleet.finish, pod)

    def do_fault(self, about: dict[str, Any]) -> None:
        """Begin a fault and schedule its end."""
        pod = None
        if "service" in about:
            pods = self.fleet.replicas(about["service"])
            pod = pods[about["index"] % len(pods)]
        stop = self.faults.begin(about, pod)
        begun = time.time()
        self.log("begin", pod=pod.name if pod else None, **about)

        def finish() -> None:
            self.carry_out(stop)
            self.log("fault", begun=begun, pod=pod.name if pod else None, **about)

        self.later(begun + about["seconds"], finish)
