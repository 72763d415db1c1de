"""Records of the store: events, messages, and alerts with acknowledgements and feedback.

In: values from lanes and users. Out: plain records.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from smkc.serve.rows import AlertRecord


@dataclass(frozen=True, kw_only=True)
class Event:
    """A change of how a lane judges its rows: a new model, or rows accepted as normal.

    It comes before row ``at_row``; the kind is ``fit`` or ``accept``, and the content is
    JSON-serializable. The store sets ``number``, its index among the lane's events.
    """

    at_row: int
    kind: str
    content: Mapping[str, Any] = field(default_factory=dict)
    number: int = -1


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message to send.

    The kind is ``alertmanager`` or ``webhook``, ``to`` names the receiver, and the content is
    JSON-serializable. A second message with the same key is ignored. Messages to one receiver about
    the same subject are sent in order: the next one only after the previous one was sent or given
    up; ``about`` is empty for no order. The store sets ``id`` and ``created``, the time in
    milliseconds of the row that it was written with.
    """

    kind: str
    to: str
    key: str
    content: Any
    about: str = ""
    id: int = -1
    created: int = 0


@dataclass(frozen=True, kw_only=True)
class StoredAlert:
    """An alert with the acknowledgement and feedback of users; their fields are None without."""

    record: AlertRecord
    acknowledged_by: str | None = None
    acknowledged_at: int | None = None
    note: str | None = None
    feedback: str | None = None
