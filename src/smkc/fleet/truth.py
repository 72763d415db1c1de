"""The truth about a made-up fleet, and how well alerts agree with it.

In: incidents, routine changes, alerts. Out: which incidents were found, which alerts were false.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from smkc.decide import Alert

__all__ = ["Change", "Finding", "Incident", "hold_against"]


@dataclass(frozen=True, kw_only=True)
class Change:
    """Something that happens in any fleet and deserves no alert; both times inclusive."""

    start: Any
    end: Any
    kind: str
    story: str


@dataclass(frozen=True, kw_only=True)
class Incident(Change):
    """Trouble that an operator would want to hear of, and the variables that show it."""

    variables: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What became of the planted incidents: the alerts that met each, and those that met none."""

    by_incident: tuple[tuple[Incident, tuple[Alert, ...]], ...]
    false_alarms: tuple[Alert, ...]

    @property
    def n_found(self) -> int:
        """How many incidents at least one alert met."""
        return sum(bool(alerts) for _, alerts in self.by_incident)


def hold_against(alerts: Sequence[Alert], incidents: Sequence[Incident]) -> Finding:
    """Hold alerts against incidents: they belong together where their spans overlap."""

    def meets(alert: Alert, incident: Incident) -> bool:
        return bool(alert.start <= incident.end and incident.start <= alert.end)

    return Finding(
        by_incident=tuple((one, tuple(a for a in alerts if meets(a, one))) for one in incidents),
        false_alarms=tuple(a for a in alerts if not any(meets(a, one) for one in incidents)),
    )
