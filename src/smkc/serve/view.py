"""View: records of the state of a running service, for metrics, the API and the dashboard.

In: nothing. Out: plain dataclasses, and the exceptions that the API turns into responses.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from smkc.decide import NewNormal
from smkc.errors import InputError, SmkcError
from smkc.evidence.now import LoudVariable
from smkc.serve.rows import AlertRecord, Verdict

# What a watch or a lane is doing: fetching its history, collecting rows for the first fit, fitting
# a model, judging new rows, or waiting to retry after a failure.
PHASES = ("backfilling", "collecting", "fitting", "following", "waiting")

# Passed as ``extra`` to log records whose message is also reported as a problem of the health.
IN_HEALTH: Mapping[str, object] = {"is_in_health": True}


class UnknownError(InputError):
    """Raised for an unknown watch, lane, alert or row; the API answers 404."""


class BusyError(SmkcError):
    """Raised if a request cannot be served now but may be retried; the API answers 503."""


@dataclass(frozen=True, kw_only=True)
class SelfTest:
    """Result of testing a model with anomalies planted in the rows that it was fitted to.

    The verdict is that of :class:`smkc.doctor.Diagnosis`, or "unknown" if the test failed; then
    ``reason`` says why. ``kinds`` has the numbers ``planted`` and ``caught`` of each kind of
    anomaly. The API's ``SelfTestAnswer`` describes all fields.
    """

    verdict: str
    planted: int = 0
    caught: int = 0
    kinds: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    rows: int = 0
    reason: str = ""
    remedy: str = ""


@dataclass(frozen=True, kw_only=True)
class LaneStatus:
    """Status of one lane; the API's ``LaneAnswer`` describes the fields.

    ``loudest`` are the variables of the latest row that are most unusual by themselves,
    ``new_normals`` the variables whose new normal nobody has confirmed; their times are in
    milliseconds.
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
    new_normals: tuple[NewNormal, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class WatchStatus:
    """Status of one watch; the API's ``WatchAnswer`` describes the fields.

    The phase is "waiting" after a failure and "backfilling" until the history has been fetched;
    else "fitting" if any lane is fitting, "collecting" if any is collecting, or "following". The
    lag is the smallest of the lanes, so that vanished entities do not count.
    """

    name: str
    source: str
    phase: str
    step: int = 0
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
    """Health of the service: sentences that describe its problems, and whether there are none."""

    ok: bool
    problems: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Received:
    """Result of receiving pushed samples.

    ``samples`` is the number that was accepted, the largest if several watches accept some. The
    number of samples at impossible times is ``refused``; ``refusal`` describes the first of them.
    """

    samples: int
    watches: tuple[str, ...]
    refused: int = 0
    refusal: str = ""
