"""A small fleet's telemetry, made up: routine churn everywhere, trouble in four places.

In: a seed. Out: a :class:`Fleet`, that is two days of reference, one live day that follows it,
and what was planted in that day, so that what a detector finds can be held against it.
:func:`replay_fleet` gives the same of a real machine: the project's own recording.
:func:`write_fleet` puts either into files.
"""

from smkc.fleet.files import write_fleet
from smkc.fleet.make import Fleet, make_fleet
from smkc.fleet.replay import replay_fleet
from smkc.fleet.truth import Change, Finding, Incident, hold_against

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
