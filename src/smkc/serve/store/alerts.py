"""Alerts table: alerts with the acknowledgements and feedback that users gave.

In: alerts from lanes, acknowledgements and feedback from users. Out: stored alerts, newest first.
"""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from smkc.decide import Cause
from smkc.serve.rows import AlertRecord
from smkc.serve.store.errors import decoding
from smkc.serve.store.packing import from_bytes
from smkc.serve.store.records import StoredAlert


def put(connection: sqlite3.Connection, lane: int, alerts: Sequence[AlertRecord]) -> None:
    """Insert or update alerts; acknowledgements and feedback are kept."""
    connection.executemany(
        'INSERT INTO alerts (id, lane, start, "end", is_open, content) VALUES (?, ?, ?, ?, ?, ?) '
        'ON CONFLICT (id) DO UPDATE SET start = excluded.start, "end" = excluded."end", '
        "is_open = excluded.is_open, content = excluded.content",
        [
            (alert.id, lane, alert.start, alert.end, int(alert.is_open), _to_text(alert))
            for alert in alerts
        ],
    )


def find(
    connection: sqlite3.Connection, where: str, values: Sequence[Any], limit: int
) -> list[StoredAlert]:
    """Return the alerts (``a`` in SQL, with their lanes ``l``) for a condition, newest first."""
    found = connection.execute(
        "SELECT a.content, a.acknowledged_by, a.acknowledged_at, a.note, a.feedback FROM alerts a "
        f"JOIN lanes l ON l.id = a.lane WHERE {where} ORDER BY a.start DESC, a.id DESC LIMIT ?",
        (*values, limit),
    )
    with decoding("an alert"):
        return [
            StoredAlert(
                record=_from_text(content),
                acknowledged_by=_text(by),
                acknowledged_at=at,
                note=_text(note),
                feedback=_text(feedback),
            )
            for content, by, at, note, feedback in found
        ]


def _text(content: bytes | None) -> str | None:
    return None if content is None else from_bytes(content)


def _to_text(alert: AlertRecord) -> str:
    maps = {"evidences": dict(alert.evidences), "labels": dict(alert.labels)}
    return json.dumps(asdict(alert) | maps)


def _from_text(text: str) -> AlertRecord:
    content = json.loads(text)
    causes = tuple(
        Cause(**(cause | {"joint_with": tuple(cause["joint_with"])})) for cause in content["causes"]
    )
    return AlertRecord(**(content | {"causes": causes}))
