"""Records of the store: events, messages, alerts with what people said of them.

In: what the lanes decide. Out: plain records, and their alerts as JSON text and back.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from smkc.decide import Cause
from smkc.serve.rows import AlertRecord

__all__ = ["Event", "Message", "Removed", "StoredAlert", "alert_from_text", "alert_to_text"]


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that changed how a lane judges, apart from its rows.

    Parameters
    ----------
    at_row
        number of the row that it comes before: row ``at_row - 1`` is judged without it.
    kind
        ``fit`` or ``accept``.
    content
        what JSON can hold.
    number
        place among the lane's events, from 0; given by the store.
    """

    at_row: int
    kind: str
    content: Mapping[str, Any] = field(default_factory=dict)
    number: int = -1


@dataclass(frozen=True, kw_only=True)
class Message:
    """Something that must be sent.

    Parameters
    ----------
    kind
        ``alertmanager``, ``webhook`` or ``remote_write``.
    to
        the receiver.
    key
        unlike that of any other message; a second one with the same key is not taken.
    content
        what JSON can hold.
    about
        messages to one receiver about the same are handed out in the order they were written: the
        next only once the one before is sent or given up. Empty: in no order.
    id, created, attempts, error
        given by the store: its number, the time in milliseconds of the row that it was written
        with, how often sending it failed, and how the last time.
    """

    kind: str
    to: str
    key: str
    content: Any
    about: str = ""
    id: int = -1
    created: int = 0
    attempts: int = 0
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class StoredAlert:
    """An alert, and what people said of it.

    Parameters
    ----------
    record
        the alert as it stands.
    acknowledged_by, acknowledged_at, note
        who took it on, when in milliseconds, and with what words; None while nobody did.
    feedback, feedback_at
        who said that this was normal, and when; None while nobody did.
    """

    record: AlertRecord
    acknowledged_by: str | None = None
    acknowledged_at: int | None = None
    note: str | None = None
    feedback: str | None = None
    feedback_at: int | None = None


@dataclass(frozen=True, kw_only=True)
class Removed:
    """How much a round of retention removed.

    Parameters
    ----------
    rows, names, scores, alerts, events, messages
        how many of each.
    unsent
        how many of the messages had never been sent.
    """

    rows: int = 0
    names: int = 0
    scores: int = 0
    alerts: int = 0
    events: int = 0
    messages: int = 0
    unsent: int = 0


def alert_to_text(alert: AlertRecord) -> str:
    """Write an alert as JSON."""
    maps = {"evidences": dict(alert.evidences), "labels": dict(alert.labels)}
    return json.dumps(asdict(alert) | maps)


def alert_from_text(text: str) -> AlertRecord:
    """Read what :func:`alert_to_text` wrote."""
    content = json.loads(text)
    causes = tuple(
        Cause(**(cause | {"joint_with": tuple(cause["joint_with"])})) for cause in content["causes"]
    )
    return AlertRecord(**(content | {"causes": causes}))
