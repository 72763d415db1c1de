"""Synthetic telemetry of a small fleet, with routine churn and 4 incidents.

In: a seed. Out: a :class:`Fleet`: 2 days of reference, 1 live day that follows them, and the
incidents planted in that day, with which a detector's alerts can be compared.
:func:`replay_fleet` returns a fleet from a recording of a real system that comes with the project.
:func:`write_fleet` writes either to files.
"""

from smkc.fleet.files import write_fleet
from smkc.fleet.replay import replay_fleet
from smkc.fleet.telemetry import make_fleet
from smkc.fleet.truth import Change, Finding, Fleet, Incident, hold_against

__all__ = [
    "Change",
    "Finding",
    "Fleet",
    "Incident",
    "hold_against",
    "make_fleet",
    "replay_fleet",
    "write_fleet",
]
