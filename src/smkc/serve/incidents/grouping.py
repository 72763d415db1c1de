"""Grouping: which alerts are one incident.

In: an incident, perhaps of a single alert, and those near it in time. Out: the incidents that are
one with it. No clock is read, and the order in which alerts come does not change which of them are
together: incidents only ever grow, so two that are one stay one.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

# An alert that begins at most this many milliseconds after an incident was over may still join it.
# It is the time after which Alertmanager usually tells what changed (group_interval).
REJOIN_MILLISECONDS = 300_000

CRITICAL = "critical"


@dataclass(frozen=True, kw_only=True)
class Incident:
    """Alerts that overlap or nearly do, and that have names in common.

    The id is that of the alert that began it. ``start`` and ``end``, in milliseconds, are those of
    its first and its last alert; it is open while one of its alerts is. ``names`` are those of all
    its alerts, and ``severity`` is the worst of theirs. If it turned out to be one with another
    incident, ``merged_into`` is the id of that one, and it has no alerts any more.
    """

    id: str
    start: int
    end: int
    names: frozenset[str]
    severity: str = ""
    is_open: bool = True
    merged_into: str = ""

    def is_one_with(self, other: "Incident") -> bool:
        """Return whether another incident is the same one: near in time, with a common name."""
        pause = max(self.start, other.start) - min(self.end, other.end)
        return pause <= REJOIN_MILLISECONDS and not self.names.isdisjoint(other.names)

    def joined(self, other: "Incident") -> "Incident":
        """Return this incident with the time, the names and the severity of another one added."""
        severities = (self.severity, other.severity)
        return replace(
            self,
            start=min(self.start, other.start),
            end=max(self.end, other.end),
            names=self.names | other.names,
            severity=CRITICAL if CRITICAL in severities else max(severities),
            is_open=self.is_open or other.is_open,
        )


Find = Callable[[int, int], Iterable[Incident]]


def united(incident: Incident, find: Find) -> tuple[Incident, list[Incident]]:
    """Unite an incident with all that are one with it, directly or through each other.

    ``find(since, until)`` returns the incidents that overlap a span of time. Return the union,
    which has the id of ``incident``, and the other incidents in it.
    """
    others: dict[str, Incident] = {}
    while True:
        near = find(incident.start - REJOIN_MILLISECONDS, incident.end + REJOIN_MILLISECONDS)
        new = {
            one.id: one
            for one in near
            if one.id != incident.id and one.id not in others and incident.is_one_with(one)
        }
        if not new:
            return incident, list(others.values())
        others |= new
        for one in new.values():
            incident = incident.joined(one)
