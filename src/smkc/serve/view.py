"""View: what others may ask of a running service, and the records it answers with.

In: nothing. Out: a protocol and plain dataclasses, so that delivery, metrics, the API and the
dashboard need not know how watches are run.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from smkc.decide import Cause
from smkc.errors import InputError, SmkcError
from smkc.evidence.now import LoudVariable
from smkc.serve.intake.samples import Samples
from smkc.serve.rows import AlertRecord, Verdict

if TYPE_CHECKING:
    from smkc.serve.config import Config
    from smkc.serve.delivery import ReceiverStatus
    from smkc.serve.store import Store

__all__ = [
    "IN_HEALTH",
    "PHASES",
    "BusyError",
    "Explained",
    "Health",
    "LaneStatus",
    "Live",
    "Received",
    "SelfTest",
    "ServiceView",
    "UnknownError",
    "Update",
    "WatchStatus",
    "is_in_health",
]

# What a watch or a lane is doing: fetching its history, gathering rows for the first fit, fitting,
# judging rows as they come, or waiting for something outside that does not answer.
PHASES = ("backfilling", "collecting", "fitting", "following", "waiting")


# Given as ``extra`` to a log record which says what a problem of the health says too.
IN_HEALTH: Mapping[str, object] = {"is_in_health": True}


def is_in_health(record: logging.LogRecord) -> bool:
    """Tell whether a problem of the health says what a log record says."""
    return bool(getattr(record, "is_in_health", False))


class UnknownError(InputError):
    """No such watch, lane, alert or row; an API answers 404."""


class BusyError(SmkcError):
    """It cannot be done now and may be tried again; an API answers 503."""


@dataclass(frozen=True, kw_only=True)
class SelfTest:
    """What a model would catch, as far as anomalies planted in the rows it learned from can tell.

    Parameters
    ----------
    verdict
        "yes", "partly" or "no", as :class:`smkc.doctor.Diagnosis` has it; "unknown" if it could
        not be found out.
    planted, caught
        how many large anomalies were planted, and how many of them would raise an alert.
    rows
        how many were learned from and judged for it.
    reason
        why it is not more, or why nothing is known; empty if nothing stands in the way.
    remedy
        a setting that would catch more; empty if none was found.
    """

    verdict: str
    planted: int = 0
    caught: int = 0
    rows: int = 0
    reason: str = ""
    remedy: str = ""


@dataclass(frozen=True, kw_only=True)
class LaneStatus:
    """One recording that is followed, as it stands.

    Parameters
    ----------
    watch, entity
        whose it is; the entity is empty where a watch is not split.
    phase
        one of PHASES.
    rows
        rows ever taken.
    rows_needed
        rows at which the first model is fitted; 0 once there is one.
    time_left
        a sentence on how long that takes and what would shorten it; empty if it takes no longer.
    series
        variables in the latest row.
    last_time
        of the latest row, in milliseconds; None before the first.
    lag
        milliseconds from the end of the latest row to now; 0 before the first.
    appeared, vanished
        counts over all rows since the service started.
    refused
        variables beyond ``max_series`` that rows were offered, counted since the service started.
    set_aside
        rows that could not be kept or judged, counted since the service started.
    window
        rows per window of the model; 0 before the first fit.
    fitted_at
        number of the row before which the model took over; None before the first fit.
    is_refitting
        whether a new model is being fitted beside.
    latest
        what was said of the latest row; None before the first that was judged.
    alert
        the alert that is open; None if none is.
    self_test
        what the model would catch; None until that is known.
    loudest
        variables of the latest row that are most unusual by themselves, the loudest first.
    problems
        sentences on what is not as it should be.
    """

    watch: str
    entity: str
    phase: str
    rows: int = 0
    rows_needed: int = 0
    time_left: str = ""
    series: int = 0
    last_time: int | None = None
    lag: int = 0
    appeared: int = 0
    vanished: int = 0
    refused: int = 0
    set_aside: int = 0
    window: int = 0
    fitted_at: int | None = None
    is_refitting: bool = False
    latest: Verdict | None = None
    alert: AlertRecord | None = None
    self_test: SelfTest | None = None
    loudest: tuple[LoudVariable, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class WatchStatus:
    """One entry of the configuration, as it stands.

    Parameters
    ----------
    name, source
        of the configuration.
    phase
        one of PHASES: that of its least advanced lane, or "waiting" while its source fails.
    progress
        share of the history that was fetched, 0 to 1.
    lag
        milliseconds, that of its latest lane: an entity that is gone does not hold up the others.
    rows, series
        sums over its lanes.
    last_error
        what failed last, in words; empty once it works again.
    errors
        failures since the service started, by kind: "source", "store", "model", "decode".
    late, duplicates, refused
        pushed samples that came too late, twice, or beyond the limits; since the service started.
    infinite
        infinite values, which count as not observed; since the service started.
    inbox
        pushed bodies that still wait for their rows to close.
    lanes
        its recordings, by entity.
    problems
        sentences on what is not as it should be, those of the lanes included.
    """

    name: str
    source: str
    phase: str
    progress: float = 0.0
    lag: int = 0
    rows: int = 0
    series: int = 0
    last_error: str = ""
    errors: Mapping[str, int] = field(default_factory=dict)
    late: int = 0
    duplicates: int = 0
    refused: int = 0
    infinite: int = 0
    inbox: int = 0
    lanes: tuple[LaneStatus, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Health:
    """How the service is.

    Parameters
    ----------
    ok
        whether there is no problem.
    problems
        sentences, each with its watch.
    watches
        by name.
    """

    ok: bool
    problems: tuple[str, ...]
    watches: Mapping[str, WatchStatus]


@dataclass(frozen=True, kw_only=True)
class Explained:
    """Who is to blame: the time of the row that was explained, and its causes."""

    time: int
    causes: tuple[Cause, ...]


@dataclass(frozen=True, kw_only=True)
class Received:
    """What became of pushed samples.

    Parameters
    ----------
    samples
        how many were taken.
    watches
        which took some.
    refused
        how many have a time at which no row can be.
    refusal
        a sentence on the first of them; empty if there is none.
    """

    samples: int
    watches: tuple[str, ...]
    refused: int = 0
    refusal: str = ""


@dataclass(frozen=True, kw_only=True)
class Update:
    """Something new: a row that was judged, or an alert that opened, changed or closed.

    Parameters
    ----------
    number
        counts all updates of this run of the service, from 1.
    kind
        "row" with a verdict, "alert" with an alert, or "status" with neither: look again.
    """

    number: int
    kind: str
    watch: str
    entity: str
    verdict: Verdict | None = None
    alert: AlertRecord | None = None


class Live(Protocol):
    """Updates as they come; any number of threads may wait."""

    @property
    def number(self) -> int:
        """Number of the latest update; 0 before the first."""
        ...

    def wait(self, after: int, seconds: float) -> Sequence[Update]:
        """Return updates with a number above ``after``, waiting so long for the first.

        Only the latest updates are kept: who falls behind gets those.
        """
        ...


class ServiceView(Protocol):
    """What delivery, metrics, the API and the dashboard may ask of the service.

    History is read from ``store``: scores, alerts, presence, traces, and acknowledging. Times are
    milliseconds since 1970, UTC. UnknownError says that a watch, lane, alert or row is not there,
    BusyError that it must be tried again later.
    """

    @property
    def config(self) -> "Config":
        """The configuration."""
        ...

    @property
    def store(self) -> "Store":
        """The history."""
        ...

    @property
    def is_ready(self) -> bool:
        """Whether every watch has begun to take rows: backfilled, or pushed and waiting."""
        ...

    def now(self) -> int:
        """Return the service's time."""
        ...

    def watches(self) -> list[WatchStatus]:
        """Return every watch as it stands, in the order of the configuration."""
        ...

    def health(self) -> Health:
        """Say how the service is."""
        ...

    def receivers(self) -> Sequence["ReceiverStatus"]:
        """Say how it goes with everybody who is told: Alertmanagers, webhooks, remote write."""
        ...

    def refit(self, watch: str, entity: str = "", *, reason: str = "") -> None:
        """Fit a new model of a lane beside, and swap it in; return at once."""
        ...

    def feedback(self, alert_id: str, who: str) -> AlertRecord:
        """Say that an alert was normal; its rows join the reference. Return the alert."""
        ...

    def explain(self, watch: str, entity: str, time: int) -> Explained:
        """Return the causes at a time, most guilty first; of its alert if it is long ago."""
        ...

    def receive(self, watch: str | None, samples: Samples) -> Received:
        """Take pushed samples for one watch, or for all that match; durable once it returns.

        Samples at impossible times are left out, and the answer says so.
        """
        ...

    def subscribe(self) -> Live:
        """Return the live updates."""
        ...
