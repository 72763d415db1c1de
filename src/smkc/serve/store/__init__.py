"""Store: the history of all lanes, in one SQLite file that a crash leaves whole.

In: rows, verdicts, alerts, messages and events, written in one transaction; what was pushed. Out:
rows for a replay or a fit, scores and alerts for people, messages to be sent.
"""

from smkc.serve.store.errors import StoreError
from smkc.serve.store.history import Presence
from smkc.serve.store.lane import LaneStore
from smkc.serve.store.records import Event, Message, Removed, StoredAlert
from smkc.serve.store.store import Store

__all__ = [
    "Event",
    "LaneStore",
    "Message",
    "Presence",
    "Removed",
    "Store",
    "StoreError",
    "StoredAlert",
]
