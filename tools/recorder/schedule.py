"""The schedule of a recording, made from a seed before the start.

In: kinds of faults and of routine changes, a seed, and the lengths of the phases in seconds. Out:
actions in order of time: routine changes throughout, faults only after the reference.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tools.recorder.kinds import Kind
from tools.stack.timeline import Action

__all__ = ["Action", "Phases", "Routine", "Schedule", "make_schedule"]

# A service has no routine change from this long before a fault in it until this long after: a
# rollout takes about 30 s, and aftereffects of a fault must not be mistaken for a routine change.
BEFORE_SECONDS, AFTER_SECONDS = 30.0, 6.0

# Shortest time from one routine change of a service to the next.
SETTLE_SECONDS = 30.0

# Shortest time between two faults, unless a quarter of ``fault_every`` is shorter.
MIN_REST_SECONDS = 40.0


@dataclass(frozen=True, kw_only=True)
class Phases:
    """Lengths in seconds.

    Parameters
    ----------
    rest
        before the start, while nothing of the system runs and the load by others is measured.
    warm
        after the start; not exported.
    reference
        normal operation to learn from.
    faults
        normal operation with faults.
    fault_every
        mean time from one fault to the next: 200 s is 18 faults per hour.
    shortest, longest
        shortest and longest fault.
    routine_every
        mean time from one routine change to the next.
    """

    rest: float = 30.0
    warm: float = 60.0
    reference: float = 1800.0
    faults: float = 3600.0
    fault_every: float = 200.0
    shortest: float = 20.0
    longest: float = 180.0
    routine_every: float = 60.0

    @property
    def faults_from(self) -> float:
        """Seconds from the start to the end of the reference."""
        return self.warm + self.reference

    @property
    def total(self) -> float:
        """Seconds from the start to the end."""
        return self.faults_from + self.faults

    @property
    def n_faults(self) -> int:
        """Number of faults."""
        return round(self.faults / self.fault_every)


@dataclass(frozen=True, kw_only=True)
class Routine:
    """A kind of routine change, of a randomly drawn service; ``draw`` draws its parameters."""

    name: str
    services: tuple[str, ...]
    draw: Callable[[random.Random], dict[str, Any]]
    weight: int = 1


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """All actions of a recording, in order of time."""

    system: str
    seed: int
    phases: Phases
    actions: tuple[Action, ...]

    @property
    def faults(self) -> list[Action]:
        """The actions that are faults."""
        return [action for action in self.actions if action.do == "fault"]

    def record(self) -> dict[str, Any]:
        """Return the content of the schedule's file."""
        return {
            "system": self.system,
            "seed": self.seed,
            "phases": asdict(self.phases),
            "actions": [{"at": one.at, "do": one.do, **one.about} for one in self.actions],
        }


def make_schedule(
    system: str, kinds: Sequence[Kind], routines: Sequence[Routine], seed: int, phases: Phases
) -> Schedule:
    """Return the schedule of a seed; each kind of fault comes once before any comes twice."""
    rng = random.Random(f"{system} {seed}")
    faults = list(_faults(rng, kinds, phases))
    routine = [one for one in _routine(rng, routines, phases) if not _disturbs(one, faults)]
    actions = sorted([*faults, *routine], key=lambda action: action.at)
    return Schedule(system=system, seed=seed, phases=phases, actions=tuple(actions))


def _faults(rng: random.Random, kinds: Sequence[Kind], phases: Phases) -> Iterator[Action]:
    """Yield the faults in order of time, with pauses before, between and after them."""
    n = phases.n_faults
    drawn: list[Kind] = []
    while len(drawn) < n:
        drawn += rng.sample(kinds, len(kinds))
    ratio = phases.longest / phases.shortest
    # Lengths are uniform on a logarithmic scale.
    lengths = [round(phases.shortest * ratio ** rng.random(), 1) for _ in range(n)]
    min_rest = min(MIN_REST_SECONDS, phases.fault_every / 4)
    free = phases.faults - sum(lengths) - (n + 1) * min_rest
    if free < 0:
        raise SystemExit(
            f"{n} faults of {sum(lengths):.0f} s in all do not fit into {phases.faults:.0f} s; "
            "make --longest shorter or --fault-every longer"
        )
    shares = [rng.random() for _ in range(n + 1)]
    at = phases.faults_from
    for kind, seconds, share in zip(drawn, lengths, shares, strict=False):
        at += min_rest + free * share / sum(shares)
        about: dict[str, Any] = {
            "kind": kind.name,
            "seconds": seconds,
            "service": rng.choice(kind.services),
        }
        if kind.of_pod:
            about["index"] = rng.randrange(100)
        yield Action(at=round(at, 1), do="fault", about={**about, **kind.draw(rng)})
        at += seconds


def _routine(rng: random.Random, routines: Sequence[Routine], phases: Phases) -> Iterator[Action]:
    every = phases.routine_every
    at = rng.uniform(0.3, 1.0) * every
    weights = [one.weight for one in routines]
    settled: dict[str, float] = {}  # service -> when its last change is over
    while at < phases.total - 10:
        (one,) = rng.choices(routines, weights)
        about = {"service": rng.choice(one.services), **one.draw(rng)}
        if settled.get(about["service"], 0.0) <= at:
            yield Action(at=round(at, 1), do=one.name, about=about)
            settled[about["service"]] = at + SETTLE_SECONDS
        at += every * rng.uniform(0.6, 1.4)


def _disturbs(action: Action, faults: Sequence[Action]) -> bool:
    """Return whether a routine change affects a service close to or during a fault in it."""
    return any(
        fault.about["service"] == action.about["service"]
        and fault.at - BEFORE_SECONDS
        < action.at
        < fault.at + fault.about["seconds"] + AFTER_SECONDS
        for fault in faults
    )
