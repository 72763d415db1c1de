"""Story: what moved first in an incident, where it spread, and who is likely to blame.

In: the alerts of an incident, in the order of their start, and the dependencies. Out: a timeline
and the alert to blame, with the reason in words. Times in sentences are relative, so that they are
right in every time zone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from smkc.serve.config.durations import show_duration
from smkc.serve.incidents.names import Dependencies, aliases, names_of, place_of, shown
from smkc.serve.rows import AlertRecord

# A dependency is blamed if it alerted within this many milliseconds of the first alert. Those who
# depend on it may be noticed before it: a slow database shows in the latency of its clients.
EARLY_MILLISECONDS = 300_000

# Maximum number of names in a sentence, and of common names per step of a timeline.
MAX_NAMED = 3


@dataclass(frozen=True, kw_only=True)
class Step:
    """One alert in the timeline of an incident.

    ``after`` are milliseconds since the first alert began, ``place`` is that of the first cause,
    and ``shared`` are names that it has in common with alerts before it.
    """

    alert: AlertRecord
    after: int
    place: str
    shared: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Story:
    """Timeline of an incident, the alert that is likely to blame, and the reason in words."""

    timeline: tuple[Step, ...]
    blamed: AlertRecord
    reason: str


def story_of(alerts: Sequence[AlertRecord], dependencies: Dependencies) -> Story:
    """Return the story of an incident with at least one alert, in the order of their start."""
    blamed, reason = _blame(alerts, dependencies)
    return Story(timeline=_timeline(alerts, dependencies), blamed=blamed, reason=reason)


def lane_name(alert: AlertRecord) -> str:
    """Return the name of an alert's lane: its watch and, if that is split, its entity."""
    return f"{alert.watch} / {alert.entity}" if alert.entity else alert.watch


def lead_of(alert: AlertRecord) -> dict[str, str]:
    """Return the id and the lane of an alert, and what its first cause did, for JSON."""
    lead = {"alert": alert.id, "watch": alert.watch, "entity": alert.entity}
    first = alert.causes[0] if alert.causes else None
    return lead | {
        "variable": "" if first is None else first.variable,
        "detail": "" if first is None else first.detail,
    }


def _timeline(alerts: Sequence[AlertRecord], dependencies: Dependencies) -> tuple[Step, ...]:
    steps = []
    before: frozenset[str] = frozenset()
    for alert in alerts:
        names = names_of(alert, dependencies)
        after, shared = alert.start - alerts[0].start, tuple(shown(names & before)[:MAX_NAMED])
        steps.append(Step(alert=alert, after=after, place=place_of(alert), shared=shared))
        before |= names
    return tuple(steps)


def _blame(alerts: Sequence[AlertRecord], dependencies: Dependencies) -> tuple[AlertRecord, str]:
    """Return the alert to blame and why: the deepest early dependency, else the first to move."""
    called = {one.id: aliases(one) for one in alerts}
    needs = {one.id: dependencies.of(called[one.id]) for one in alerts}

    def depends(one: AlertRecord, other: AlertRecord) -> bool:
        is_lane = (one.watch, one.entity) == (other.watch, other.entity)
        return not is_lane and not needs[one.id].isdisjoint(called[other.id])

    early = [one for one in alerts if one.start - alerts[0].start <= EARLY_MILLISECONDS]
    dependents = {one.id: [other for other in alerts if depends(other, one)] for one in early}
    needed = [one for one in early if dependents[one.id]]
    deepest = [one for one in needed if not any(depends(one, other) for other in needed)]
    if needed:  # in a circle of dependencies none is the deepest
        blamed = min(deepest or needed, key=_rank)
        whom = _listed([lane_name(one) for one in dependents[blamed.id]])
        return blamed, f"{whom} on it, and it {_when(blamed, alerts)}"
    blamed = min(alerts, key=_rank)
    if len(alerts) == 1:
        return blamed, "it is the only one that alerted"
    within = show_duration(EARLY_MILLISECONDS)
    return blamed, f"it {_when(blamed, alerts)}, and no known dependency alerted within {within}"


def _rank(alert: AlertRecord) -> tuple[int, float, str]:
    """Return a key that sorts by start, then by the share of the first cause, largest first."""
    return alert.start, -(alert.causes[0].share if alert.causes else 0.0), alert.id


def _when(alert: AlertRecord, alerts: Sequence[AlertRecord]) -> str:
    after = alert.start - alerts[0].start
    if after:
        return f"alerted {show_duration(after)} after the first"
    later = [one.start - alert.start for one in alerts if one.start > alert.start]
    if len(later) < len(alerts) - 1:
        others = len(alerts) - 1 - len(later)
        return f"alerted first, together with {others} other{'s' if others > 1 else ''}"
    return f"alerted first, {show_duration(min(later))} before the next"


def _listed(names: Sequence[str]) -> str:
    """Return names as the subject of "depend on it"."""
    distinct = list(dict.fromkeys(names))
    shown, left = distinct[:MAX_NAMED], len(distinct) - MAX_NAMED
    if left > 0:
        return f"{', '.join(shown)} and {left} more depend"
    return f"{' and '.join(shown)} {'depends' if len(shown) == 1 else 'depend'}"
