"""Store: the history of all lanes, in one SQLite file that survives a crash.

In: rows, verdicts, alerts, messages and events, written in one transaction; pushed request bodies.
Out: rows for a replay or a fit, scores and alerts for users, messages to send.
"""

from smkc.serve.rows import Acknowledgement, Event, MarkedSpan, Message, StoredAlert
from smkc.serve.store.database import StoreError
from smkc.serve.store.history import Presence
from smkc.serve.store.lane import LaneStore
from smkc.serve.store.store import Store

__all__ = [
    "Acknowledgement",
    "Event",
    "LaneStore",
    "MarkedSpan",
    "Message",
    "Presence",
    "Store",
    "StoreError",
    "StoredAlert",
]
