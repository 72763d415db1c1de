"""The made-up fleet: two days to learn from, one to watch, and the truth about that one.

In: a seed. Out: a :class:`Fleet`.
"""

from dataclasses import dataclass

import numpy as np

from smkc.fleet.plan import Plan
from smkc.fleet.pods import FIRST_TIME, REFERENCE_ROWS, STEP_SECONDS, TOTAL_ROWS
from smkc.fleet.telemetry import observe, simulate
from smkc.fleet.truth import Change, Incident
from smkc.recording import Recording

__all__ = ["Fleet", "make_fleet"]


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """Telemetry to learn from, telemetry to watch, and the truth about the latter."""

    reference: Recording
    live: Recording
    incidents: tuple[Incident, ...]
    routine: tuple[Change, ...]


def make_fleet(seed: int = 0, *, with_incidents: bool = True) -> Fleet:
    """Make three days of a small shop's telemetry: two of reference and a live one.

    Parameters
    ----------
    seed
        the same seed gives the same fleet.
    with_incidents
        False leaves the trouble out: whatever is alerted then is a false alarm.

    Examples
    --------
    >>> fleet = make_fleet(seed=0)
    >>> len(fleet.reference), len(fleet.live), len(fleet.incidents)
    (5760, 2880, 4)
    >>> fleet.live.names[-1]
    'request_rate{namespace="shop",pod="checkout-66b2-vm",service="checkout"}'
    """
    rngs = np.random.default_rng(seed).spawn(4)
    plan = Plan(rngs[0], with_incidents)
    metrics = simulate(plan, rngs[1])
    times = FIRST_TIME + np.arange(TOTAL_ROWS) * np.timedelta64(STEP_SECONDS, "s")
    incidents = (
        tuple(trouble.tell(times, metrics, rngs[2]) for trouble in plan.troubles)
        if with_incidents
        else ()
    )
    whole = observe(plan, metrics, times, rngs[3])
    routine = tuple(
        Change(start=times[first], end=times[last - 1], kind=kind, story=story)
        for first, last, kind, story in sorted(plan.routine)
        if first >= REFERENCE_ROWS
    )
    return Fleet(
        reference=whole.rows(0, REFERENCE_ROWS).canonical(),
        live=whole.rows(REFERENCE_ROWS).canonical(),
        incidents=tuple(sorted(incidents, key=lambda incident: incident.start)),
        routine=routine,
    )
