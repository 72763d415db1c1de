"""Inbox: what was pushed and acknowledged, until it has become rows.

In: bodies. Out: the same, in the order they came.
"""

import sqlite3
from collections.abc import Iterator

from smkc.serve.store.database import Database

__all__ = ["drop", "each", "n_waiting", "put"]


def put(connection: sqlite3.Connection, watch: str, body: bytes) -> int:
    """Take a body; return its number, higher than any before."""
    number = connection.execute(
        "INSERT INTO inbox (watch, body) VALUES (?, ?)", (watch, body)
    ).lastrowid
    return int(number or 0)


def each(database: Database, watch: str, after: int) -> Iterator[tuple[int, bytes]]:
    """Go through the bodies of a watch with a number above ``after``, one in memory at a time."""
    while True:
        with database.read("read the inbox") as connection:
            found = connection.execute(
                "SELECT id, body FROM inbox WHERE watch = ? AND id > ? ORDER BY id LIMIT 1",
                (watch, after),
            ).fetchone()
        if found is None:
            return
        after = int(found[0])
        yield after, bytes(found[1])


def drop(connection: sqlite3.Connection, watch: str, up_to: int) -> None:
    """Remove the bodies of a watch up to a number, that one included."""
    connection.execute("DELETE FROM inbox WHERE watch = ? AND id <= ?", (watch, up_to))


def n_waiting(connection: sqlite3.Connection, watch: str | None) -> int:
    """Return how many bodies a watch has, or all have."""
    found = connection.execute(
        "SELECT count(*) FROM inbox WHERE :watch IS NULL OR watch = :watch", {"watch": watch}
    ).fetchone()
    return int(found[0])
