"""Outbox: messages that must be sent, each once, however often the service stops.

In: messages, written together with the rows that they are about. Out: those whose time has come.

A message that was sent or given up stays without its content, so that its key is not taken again,
until retention removes it.
"""

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from smkc.serve.store.errors import decoding
from smkc.serve.store.packing import from_bytes, to_bytes
from smkc.serve.store.records import Message

__all__ = ["add", "due", "n_waiting", "put_off", "settle"]

_DUE = """
SELECT id, kind, receiver, about, key, content, created, attempts, error FROM outbox AS m
WHERE state = 'waiting' AND due <= ? AND (about = x'' OR NOT EXISTS (
    SELECT 1 FROM outbox AS e WHERE e.about = m.about AND e.receiver = m.receiver
    AND e.state = 'waiting' AND e.id < m.id))
ORDER BY id LIMIT ?
"""


def add(connection: sqlite3.Connection, messages: Sequence[Message], created: int) -> None:
    """Take messages; one whose key was there before is left out."""
    connection.executemany(
        "INSERT INTO outbox (kind, receiver, about, key, content, created, due, attempts, state) "
        "VALUES (?, ?, ?, ?, ?, ?, 0, 0, 'waiting') ON CONFLICT (key) DO NOTHING",
        [
            (
                message.kind,
                to_bytes(message.to),
                to_bytes(message.about),
                to_bytes(message.key),
                json.dumps(message.content),
                created,
            )
            for message in messages
        ],
    )


def due(connection: sqlite3.Connection, now: int, limit: int) -> list[Message]:
    """Return messages that may be sent now, oldest first."""
    return [_message(found) for found in connection.execute(_DUE, (now, limit))]


def n_waiting(connection: sqlite3.Connection, receiver: tuple[str, str] | None) -> int:
    """Return how many messages have yet to be sent, to a kind and name of receiver or to all."""
    count = "SELECT count(*) FROM outbox WHERE state = 'waiting'"
    values: tuple[str | bytes, ...] = ()
    if receiver is not None:
        kind, name = receiver
        count, values = f"{count} AND kind = ? AND receiver = ?", (kind, to_bytes(name))
    return int(connection.execute(count, values).fetchone()[0])


def settle(connection: sqlite3.Connection, number: int, state: str) -> None:
    """Note that a message was ``sent`` or is ``given up``."""
    connection.execute(
        "UPDATE outbox SET state = ?, content = NULL WHERE id = ? AND state = 'waiting'",
        (state, number),
    )


def put_off(connection: sqlite3.Connection, number: int, error: str, retry_at: int) -> None:
    """Note that sending failed, and when to try again."""
    connection.execute(
        "UPDATE outbox SET attempts = attempts + 1, error = ?, due = ? "
        "WHERE id = ? AND state = 'waiting'",
        (to_bytes(error), retry_at, number),
    )


def _message(found: tuple[Any, ...]) -> Message:
    number, kind, receiver, about, key, content, created, attempts, error = found
    with decoding("a message"):
        return Message(
            kind=kind,
            to=from_bytes(receiver),
            key=from_bytes(key),
            content=json.loads(content),
            about=from_bytes(about),
            id=number,
            created=created,
            attempts=attempts,
            error=from_bytes(error or b""),
        )
