"""Alerts: what was found, newest first, with what people said of it.

In: alerts as lanes write them, words of people. Out: stored alerts, by id or by time.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any

from smkc.serve.rows import AlertRecord
from smkc.serve.store.errors import decoding
from smkc.serve.store.packing import from_bytes, to_bytes
from smkc.serve.store.records import StoredAlert, alert_from_text, alert_to_text

__all__ = ["acknowledge", "find", "find_many", "give_feedback", "open_of", "put"]

_COLUMNS = "a.content, a.acknowledged_by, a.acknowledged_at, a.note, a.feedback, a.feedback_at"


def put(connection: sqlite3.Connection, lane: int, alerts: Sequence[AlertRecord]) -> None:
    """Write alerts as they stand now; what people said of them stays."""
    connection.executemany(
        'INSERT INTO alerts (id, lane, start, "end", is_open, content) VALUES (?, ?, ?, ?, ?, ?) '
        'ON CONFLICT (id) DO UPDATE SET start = excluded.start, "end" = excluded."end", '
        "is_open = excluded.is_open, content = excluded.content",
        [
            (alert.id, lane, alert.start, alert.end, int(alert.is_open), alert_to_text(alert))
            for alert in alerts
        ],
    )


def find(connection: sqlite3.Connection, alert_id: str) -> StoredAlert | None:
    """Return one alert by its id."""
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM alerts a WHERE a.id = ?", (alert_id,)
    ).fetchone()
    return None if found is None else _stored(found)


def open_of(connection: sqlite3.Connection, lane: int) -> AlertRecord | None:
    """Return the alert of a lane that goes on."""
    found = connection.execute(
        "SELECT content FROM alerts WHERE lane = ? AND is_open ORDER BY start DESC LIMIT 1", (lane,)
    ).fetchone()
    if found is None:
        return None
    with decoding("an alert"):
        return alert_from_text(found[0])


def find_many(
    connection: sqlite3.Connection,
    *,
    watch: str | None,
    entity: str | None,
    open_only: bool,
    since: int | None,
    until: int | None,
    limit: int,
    before_id: str | None,
) -> list[StoredAlert]:
    """Return alerts that fit what is asked, newest first."""
    parts: list[tuple[str, tuple[Any, ...]]] = []
    if watch is not None:
        parts.append(("l.watch = ?", (watch,)))
    if entity is not None:
        parts.append(("l.entity = ?", (to_bytes(entity),)))
    if open_only:
        parts.append(("a.is_open", ()))
    if since is not None:
        parts.append(('a."end" >= ?', (since,)))
    if until is not None:
        parts.append(("a.start <= ?", (until,)))
    if before_id is not None:
        parts.append(
            ("(a.start, a.id) < (SELECT b.start, b.id FROM alerts b WHERE b.id = ?)", (before_id,))
        )
    where = " AND ".join(part for part, _ in parts) or "1"
    values = [value for _, given in parts for value in given]
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM alerts a JOIN lanes l ON l.id = a.lane WHERE {where} "
        "ORDER BY a.start DESC, a.id DESC LIMIT ?",
        (*values, limit),
    )
    return [_stored(row) for row in found]


def acknowledge(
    connection: sqlite3.Connection, alert_id: str, who: str, note: str, at: int
) -> None:
    """Write down who took an alert on; the latest counts."""
    connection.execute(
        "UPDATE alerts SET acknowledged_by = ?, acknowledged_at = ?, note = ? WHERE id = ?",
        (to_bytes(who), at, to_bytes(note), alert_id),
    )


def give_feedback(connection: sqlite3.Connection, alert_id: str, who: str, at: int) -> None:
    """Write down who said that what the alert shows was normal."""
    connection.execute(
        "UPDATE alerts SET feedback = ?, feedback_at = ? WHERE id = ?",
        (to_bytes(who), at, alert_id),
    )


def _stored(found: tuple[Any, ...]) -> StoredAlert:
    content, by, at, note, feedback, feedback_at = found
    with decoding("an alert"):
        return StoredAlert(
            record=alert_from_text(content),
            acknowledged_by=_text(by),
            acknowledged_at=at,
            note=_text(note),
            feedback=_text(feedback),
            feedback_at=feedback_at,
        )


def _text(content: bytes | None) -> str | None:
    return None if content is None else from_bytes(content)
