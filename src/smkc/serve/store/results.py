"""Results: the tables of verdicts and alerts, kept longer than the rows themselves.

In: verdicts and alerts from lanes, acknowledgements and feedback from users. Out: the latest
verdict, the names of evidences by code, and stored alerts, newest first.
"""

import json
import math
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from smkc.decide import Cause
from smkc.serve.rows import AlertRecord, StoredAlert, Verdict
from smkc.serve.store.database import decoding
from smkc.serve.store.packing import from_bytes, pack_evidences, to_bytes, unpack_evidences

FIELDS = ("number", "time", "score", "p_value", "anomaly", "cardinality", "appeared", "vanished")
COLUMNS = ", ".join([*FIELDS, "evidences"])


def add_verdicts(
    connection: sqlite3.Connection, lane: int, verdicts: Sequence[Verdict | None]
) -> None:
    """Write verdicts, skipping None."""
    code_of = {name: code for code, name in evidence_names(connection).items()}
    for name in {name: None for said in verdicts if said is not None for name in said.evidences}:
        if name not in code_of:
            added = connection.execute("INSERT INTO evidences (name) VALUES (?)", (to_bytes(name),))
            code_of[name] = int(added.lastrowid or 0)
    connection.executemany(
        f"INSERT INTO scores (lane, {COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                lane,
                *(getattr(verdict, name) for name in FIELDS),
                pack_evidences(
                    [code_of[name] for name in verdict.evidences],
                    list(verdict.evidences.values()),
                ),
            )
            for verdict in verdicts
            if verdict is not None
        ],
    )


def latest_verdicts(connection: sqlite3.Connection, lane: int, n: int) -> list[Verdict]:
    """Return the latest n verdicts of a lane, or fewer, in order of time."""
    found = connection.execute(
        f"SELECT {COLUMNS} FROM scores WHERE lane = ? ORDER BY time DESC LIMIT ?", (lane, n)
    ).fetchall()
    names = evidence_names(connection)
    return [_verdict(one, names) for one in reversed(found)]


def evidence_names(connection: sqlite3.Connection) -> dict[int, str]:
    """Return the name of each evidence by its code."""
    found = connection.execute("SELECT code, name FROM evidences")
    return {code: from_bytes(name) for code, name in found}


def _verdict(found: tuple[Any, ...], names: dict[int, str]) -> Verdict:
    """Return the verdict that was written; SQLite stores NaN as NULL."""
    with decoding("a verdict"):
        codes, nats = unpack_evidences(found[-1])
        numbers: list[Any] = [math.nan if value is None else value for value in found[:-1]]
        return Verdict(
            **dict(zip(FIELDS, numbers, strict=True)),
            evidences={names[code]: value for code, value in zip(codes, nats, strict=True)},
        )


def put_alerts(connection: sqlite3.Connection, lane: int, alerts: Sequence[AlertRecord]) -> None:
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


def find_alerts(
    connection: sqlite3.Connection, where: str, values: Sequence[Any], limit: int
) -> list[StoredAlert]:
    """Return the alerts (``a`` in SQL, with their lanes ``l``) for a condition, newest first."""
    found = connection.execute(
        "SELECT a.content, a.acknowledged_by, a.acknowledged_at, a.note, a.feedback, a.incident "
        f"FROM alerts a JOIN lanes l ON l.id = a.lane WHERE {where} "
        "ORDER BY a.start DESC, a.id DESC LIMIT ?",
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
                incident=incident,
            )
            for content, by, at, note, feedback, incident in found
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
