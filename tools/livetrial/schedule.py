"""The schedule of a trial, made from a seed before the start.

In: a seed and the length of each phase in seconds. Out: the first pods, and actions in order of
time: one pod is replaced about every minute, faults begin after the reference, and at the end every
part of the stack may be killed once.
"""

import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from tools.stack.timeline import Action

__all__ = ["KINDS", "PARTS", "SERVICES", "Action", "Phases", "Schedule", "make_schedule"]

KINDS = (
    "redis_dead",
    "disk_writes",
    "instance_slow",
    "service_slow",
    "instance_memory",
    "traffic_gone",
    "client_flood",
    "exporter_silent",
    "cpu_hog",
    "error_burst",
    "queue_grows",
    "redis_memory",
)

# Kinds that affect one pod, and kinds that affect all pods of a service.
OF_POD = ("instance_slow", "instance_memory")
OF_SERVICE = ("service_slow", "error_burst", "queue_grows")

# Parts that are killed with SIGKILL and started again; Redis is, by the fault redis_dead.
PARTS = ("watch", "prometheus", "node", "exporter", "fleet")

SERVICES = ("billing", "catalog", "orders", "web")
PODS_PER_SERVICE = 4

ROLLOUT_JITTER_SECONDS = 8.0

# A pod under a fault is not replaced from the start of the fault until this long after its end.
PROTECTED_SECONDS = 20.0

# Letters of the names that Kubernetes generates.
LETTERS = "bcdfghjklmnpqrstvwxz2456789"


@dataclass(frozen=True, kw_only=True)
class Phases:
    """Lengths in seconds of the phases.

    A warm-up (not exported) and the reference are followed by a pause, then ``n_faults`` faults,
    each with a rest after it of ``rest`` to one and a half times as many seconds, then ``quiet``
    seconds without fault. With ``kill_every`` above 0, the parts of the stack are then killed, one
    by one. One pod is replaced about every ``rollout_every`` seconds.
    """

    warm: float = 60.0
    reference: float = 1200.0
    pause: float = 90.0
    n_faults: int = len(KINDS)
    fault: float = 60.0
    rest: float = 60.0
    quiet: float = 0.0
    kill_every: float = 0.0
    rollout_every: float = 60.0

    @property
    def killing(self) -> float:
        """Seconds in which parts are killed."""
        return len(PARTS) * self.kill_every

    @property
    def live_from(self) -> float:
        """Seconds from the start to the end of the reference."""
        return self.warm + self.reference


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """The pods that run at the start as (service, name), all actions, and the total length."""

    seed: int
    phases: Phases
    pods: tuple[tuple[str, str], ...]
    actions: tuple[Action, ...]
    total: float

    def record(self) -> dict[str, Any]:
        """Return the content of the schedule's file."""
        return {
            "seed": self.seed,
            "phases": asdict(self.phases),
            "total": self.total,
            "pods": [{"service": service, "pod": pod} for service, pod in self.pods],
            "actions": [{"at": one.at, "do": one.do, **one.about} for one in self.actions],
        }


def make_schedule(seed: int, phases: Phases) -> Schedule:
    """Return the schedule of a seed.

    The kinds come in a shuffled order, each once before any comes twice.
    """
    rng = random.Random(seed)
    names = _names(rng)
    faults, total = _fault_times(rng, phases)
    rollouts = [("rollout", at) for at in _rollout_times(rng, phases.rollout_every, total)]
    pods = {service: [next(names[service]) for _ in range(PODS_PER_SERVICE)] for service in names}
    first = tuple((service, pod) for service in SERVICES for pod in pods[service])
    protected: dict[str, float] = {}  # pod -> until when it must not be replaced
    actions = []
    for kind, at in sorted([*faults, *rollouts], key=lambda one: one[1]):
        service = rng.choice(SERVICES)
        if kind == "rollout":
            old = next(pod for pod in pods[service] if protected.get(pod, 0.0) < at)  # the oldest
            new = next(names[service])
            pods[service].remove(old)
            pods[service].append(new)
            about: dict[str, Any] = {"service": service, "old": old, "new": new}
            actions.append(Action(at=at, do="rollout", about=about))
            continue
        about = {"kind": kind, "seconds": phases.fault}
        if kind in OF_POD:
            pod = pods[service][rng.randrange(PODS_PER_SERVICE - 1)]  # not the newest: it is cold
            protected[pod] = at + phases.fault + PROTECTED_SECONDS
            about |= {"service": service, "pod": pod}
        elif kind in OF_SERVICE:
            about |= {"service": service}
        actions.append(Action(at=at, do="fault", about=about))
    if phases.killing:
        killing_from = total - phases.killing
        for number, part in enumerate(PARTS):
            at = round(killing_from + (number + 0.5) * phases.kill_every, 1)
            actions.append(Action(at=at, do="kill", about={"part": part}))
        actions.sort(key=lambda action: action.at)
    return Schedule(seed=seed, phases=phases, pods=first, actions=tuple(actions), total=total)


def _names(rng: random.Random) -> dict[str, Iterator[str]]:
    """Return an endless supply of pod names for each service."""

    def generate(service: str, own: random.Random) -> Iterator[str]:
        while True:
            words = ("".join(own.choice(LETTERS) for _ in range(n)) for n in (8, 5))
            yield f"{service}-{'-'.join(words)}"

    return {service: generate(service, random.Random(rng.random())) for service in SERVICES}


def _fault_times(rng: random.Random, phases: Phases) -> tuple[list[tuple[str, float]], float]:
    """Return the kind and time of each fault, and the total length, in seconds."""
    kinds: list[str] = []
    while len(kinds) < phases.n_faults:
        kinds += rng.sample(KINDS, len(KINDS))
    at = phases.live_from + phases.pause
    faults = []
    for kind in kinds[: phases.n_faults]:
        faults.append((kind, round(at, 1)))
        at += phases.fault + rng.uniform(phases.rest, 1.5 * phases.rest)
    return faults, round(at + phases.quiet + phases.killing, 1)


def _rollout_times(rng: random.Random, every: float, total: float) -> Iterator[float]:
    """Yield the times of rollouts, about one in ``every`` seconds."""
    for number in range(1, int(total / every) + 1):
        jitter = rng.uniform(-ROLLOUT_JITTER_SECONDS, ROLLOUT_JITTER_SECONDS)
        at = number * every + jitter
        if at < total - ROLLOUT_JITTER_SECONDS:
            yield round(at, 1)
