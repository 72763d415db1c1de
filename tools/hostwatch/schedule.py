"""The schedule of a recording, made from a seed before anything starts.

In: a seed and the length of each phase in seconds. Out: actions in order of time: rollouts,
changes of scale and short jobs throughout, labelled faults only in the last phase.
"""

import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from tools.stack.timeline import Action

__all__ = [
    "KINDS",
    "SERVICES",
    "Action",
    "Phases",
    "Service",
    "made_schedule",
    "schedule_record",
]

KINDS = ("cpu_hog", "disk_load", "memory_leak", "slow_service", "crash_loop", "silent")


@dataclass(frozen=True, kw_only=True)
class Service:
    """A service of the fleet: the services it calls, its work time, and its usual replicas."""

    name: str
    calls: tuple[str, ...]
    work_seconds: float
    replicas: int


SERVICES = (
    Service(name="web", calls=("catalog", "orders"), work_seconds=0.008, replicas=3),
    Service(name="catalog", calls=(), work_seconds=0.012, replicas=3),
    Service(name="orders", calls=("billing",), work_seconds=0.015, replicas=2),
    Service(name="billing", calls=(), work_seconds=0.025, replicas=2),
)

MOST_REPLICAS = 4


@dataclass(frozen=True, kw_only=True)
class Phases:
    """Lengths in seconds of the warm-up, the normal phase, and the phase with faults."""

    warm: int = 90
    normal: int = 1800
    faults: int = 3300

    @property
    def total(self) -> int:
        """Length of all phases together, in seconds."""
        return self.warm + self.normal + self.faults


def made_schedule(seed: int, phases: Phases) -> list[Action]:
    """Return all actions in order of time."""
    rng = random.Random(seed)
    faults = list(_faults(rng, phases))
    routine = [*_jobs(rng, phases), *_rollouts(rng, phases), *_scalings(rng, phases)]
    calm = [action for action in routine if not _disturbs(action, faults)]
    return sorted([*calm, *faults], key=lambda action: action.at)


def schedule_record(seed: int, phases: Phases, actions: list[Action]) -> dict[str, Any]:
    """Return the content of the schedule's file."""
    return {
        "seed": seed,
        "phases": asdict(phases),
        "services": [asdict(service) for service in SERVICES],
        "actions": [
            {"at": round(action.at, 1), "do": action.do, **action.about} for action in actions
        ],
    }


def _jobs(rng: random.Random, phases: Phases) -> Iterator[Action]:
    """Yield short jobs: processes that use a share of a core and then end."""
    at = rng.uniform(10, 30)
    while at < phases.total - 30:
        seconds = round(rng.uniform(20, 60), 1)
        yield Action(
            at=at,
            do="job",
            about={
                "seconds": seconds,
                "share": round(rng.uniform(0.1, 0.35), 2),
                "megabytes": rng.randint(5, 30),
            },
        )
        at += rng.uniform(35, 80)


def _rollouts(rng: random.Random, phases: Phases) -> Iterator[Action]:
    """Yield rollouts: the replicas of a service are replaced one by one, under new names."""
    at = rng.uniform(60, 90)
    while at < phases.total - 60:
        yield Action(at=at, do="rollout", about={"service": rng.choice(SERVICES).name})
        at += rng.uniform(90, 170)


def _scalings(rng: random.Random, phases: Phases) -> Iterator[Action]:
    """Yield changes of the number of replicas of a service."""
    at = rng.uniform(80, 140)
    while at < phases.total - 40:
        service = rng.choice(SERVICES)
        yield Action(
            at=at,
            do="scale",
            about={"service": service.name, "replicas": rng.randint(2, MOST_REPLICAS)},
        )
        at += rng.uniform(90, 160)


def _faults(rng: random.Random, phases: Phases) -> Iterator[Action]:
    """Yield faults one after another, each kind once per round, 40 to 100 s long, with pauses."""
    start = phases.warm + phases.normal
    at = start + rng.uniform(50, 80)
    while True:
        kinds = list(KINDS)
        rng.shuffle(kinds)
        for kind in kinds:
            seconds = round(rng.uniform(40, 100), 1)
            about = {"kind": kind, "seconds": seconds, **_details(rng, kind)}
            if at + seconds > phases.total - 30:
                return
            yield Action(at=at, do="fault", about=about)
            at += seconds + rng.uniform(80, 140)


def _details(rng: random.Random, kind: str) -> dict[str, Any]:
    """Return the place and the intensity of a fault."""
    where = {"service": rng.choice(SERVICES).name, "index": rng.randint(0, MOST_REPLICAS - 1)}
    if kind == "cpu_hog":
        return {"processes": rng.choice((1, 2))}
    if kind == "disk_load":
        return {"megabytes_a_second": rng.choice((2, 3, 4))}
    if kind == "memory_leak":
        return {**where, "megabytes_a_second": round(rng.uniform(1.5, 3.0), 1)}
    if kind == "slow_service":
        return {**where, "added_seconds": round(rng.uniform(0.1, 0.35), 2)}
    if kind == "silent" and rng.random() < 1 / 3:
        return {"exporter": "process"}
    return where


def _disturbs(action: Action, faults: list[Action]) -> bool:
    """Return whether a routine action might replace the replica that a fault affects."""
    if "service" not in action.about:
        return False
    # A rollout takes about half a minute and must be over when the fault begins.
    return any(
        fault.about.get("service") == action.about["service"]
        and fault.at - 40 < action.at < fault.at + fault.about["seconds"] + 5
        for fault in faults
    )
