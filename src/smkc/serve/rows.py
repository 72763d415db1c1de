"""Rows: records of one time step of a lane, the verdict on it, alerts, events and messages.

In: observations, and values from users. Out: dataclasses that the store keeps and other modules
read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.decide import Cause

LATEST_TIME = 2**63 // 1_000_000 - 1
"""Latest time of a row and of a sample, in milliseconds (the year 2262); the earliest is 0.

Times are kept as nanoseconds in 64 bits.
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class Row:
    """Observations of a lane at one step of its grid.

    ``time`` is the end of the step in milliseconds since 1970, ``names`` are (n,) distinct
    variables and ``values`` their (n,) finite float32 values.
    """

    time: int
    names: tuple[str, ...]
    values: NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Result of judging a row; the API's ``VerdictAnswer`` describes the fields.

    ``anomaly`` is log(p_value) / log(rate), where the rate is the p-value below which a row raises
    an alert. Evidences without a contribution are omitted.
    """

    number: int
    time: int
    score: float
    p_value: float
    cardinality: int
    evidences: Mapping[str, float]
    anomaly: float = 0.0
    appeared: int = 0
    vanished: int = 0


@dataclass(frozen=True, kw_only=True)
class AlertRecord:
    """Current state of an alert of a lane; times are milliseconds.

    The API's ``AlertAnswer`` describes most fields. The id is derived from lane and start, so that
    a replay gives the same id. ``end`` is earlier than ``last_row`` if that row is an echo, in
    which only averages over earlier rows are unusual.

    ``causes`` are those of the row ``causes_row``, largest share first: at first the row at the
    start; then each far worse row at once, and any other peak after a few rows or when the alert
    closes. ``told_anomaly`` is the anomaly in the last message on opening or getting far worse.
    ``labels`` (of the first cause) and ``severity`` do not change after the opening, since
    receivers identify alerts by them. ``is_muted`` says that no receiver was notified, because the
    alert began during maintenance; it ends with the first visible row after the maintenance.
    ``news_row`` is the latest row in which another problem began; -1 if none did.
    """

    id: str
    watch: str
    entity: str
    start: int
    end: int
    peak: int
    first_row: int
    last_row: int
    peak_row: int
    anomaly: float
    p_value: float
    is_open: bool
    evidences: Mapping[str, float]
    causes_at: int
    causes_row: int
    causes_anomaly: float
    told_anomaly: float
    causes: tuple[Cause, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    severity: str = ""
    is_muted: bool = False
    news_row: int = -1


@dataclass(frozen=True, kw_only=True)
class Event:
    """A change of how a lane judges its rows: a new model, or what a user said about them.

    It comes before row ``at_row``. The kind is ``fit``, ``accept`` or ``settle`` (rows are normal,
    those of an alert or the first ones), ``confirm`` or ``refuse`` (a variable's new normal is one,
    or is none). The content is JSON-serializable. The store sets ``number``, its index among the
    lane's events.
    """

    at_row: int
    kind: str
    content: Mapping[str, Any] = field(default_factory=dict)
    number: int = -1


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message to send.

    The kind is ``alertmanager``, ``webhook`` or ``grafana``, ``to`` names the receiver, and the
    content is JSON-serializable. A second message with the same key is ignored. Messages to one
    receiver about the same subject are sent in order: the next one only after the previous one was
    sent or given up; ``about`` is empty for no order. The store sets ``id`` and ``created``, the
    time in milliseconds of the row that it was written with.
    """

    kind: str
    to: str
    key: str
    content: Any
    about: str = ""
    id: int = -1
    created: int = 0


@dataclass(frozen=True, kw_only=True)
class Acknowledgement:
    """Who acknowledged an alert, when (milliseconds), and with which note."""

    by: str
    at: int
    note: str


@dataclass(frozen=True, kw_only=True)
class StoredAlert:
    """An alert with the latest acknowledgement and feedback of users; None without.

    ``incident`` is the id of its incident; None for muted alerts, and for alerts of versions before
    there were any.
    """

    record: AlertRecord
    acknowledged_by: str | None = None
    acknowledged_at: int | None = None
    note: str | None = None
    feedback: str | None = None
    incident: str | None = None


SPAN_KINDS = ("maintenance", "missed", "deploy")
"""Kinds of marked spans: work on the system, a fault that raised no alert, a new version."""

LEFT_OUT = ("maintenance", "missed")
"""Kinds of spans whose rows are left out of fits."""


@dataclass(frozen=True, kw_only=True)
class MarkedSpan:
    """A span of time of a watch that a user marked, or the configuration; in milliseconds.

    The kind is one of :data:`SPAN_KINDS`. Without an entity it concerns the whole watch; without an
    end it goes on. The store sets ``id``, from 1; the spans of the configuration have none, 0.
    """

    watch: str
    kind: str
    start: int
    end: int | None = None
    entity: str | None = None
    who: str = ""
    note: str = ""
    id: int = 0
