"""A fleet with its known events, and their comparison with alerts.

In: incidents, routine changes, alerts. Out: which incidents were found, which alerts were false.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from smkc.decide import Alert
from smkc.recording import Recording


@dataclass(frozen=True, kw_only=True)
class Change:
    """A routine change that needs no alert; start and end are both inclusive."""

    start: Any
    end: Any
    kind: str
    story: str

    def meets(self, alert: Alert) -> bool:
        """Return whether an alert overlaps the change in time."""
        return bool(alert.start <= self.end and self.start <= alert.end)


@dataclass(frozen=True, kw_only=True)
class Incident(Change):
    """An incident that an operator would want to know about, and the variables that show it."""

    variables: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """Telemetry to learn from, telemetry to watch, and the known events in the latter."""

    reference: Recording
    live: Recording
    incidents: tuple[Incident, ...]
    routine: tuple[Change, ...]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The alerts that overlap each incident, and the alerts that overlap none."""

    by_incident: tuple[tuple[Incident, tuple[Alert, ...]], ...]
    false_alarms: tuple[Alert, ...]

    @property
    def n_found(self) -> int:
        """Number of incidents that at least one alert overlaps."""
        return sum(bool(alerts) for _, alerts in self.by_incident)


def hold_against(alerts: Sequence[Alert], incidents: Sequence[Incident]) -> Finding:
    """Match alerts with the incidents whose time spans they overlap."""
    return Finding(
        by_incident=tuple((one, tuple(filter(one.meets, alerts))) for one in incidents),
        false_alarms=tuple(a for a in alerts if not any(one.meets(a) for one in incidents)),
    )
