"""Scores table: the verdicts on a lane's rows, kept longer than the rows themselves.

In: verdicts. Out: the latest verdict, and the names of evidences by code.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any

from smkc.serve.rows import Verdict
from smkc.serve.store.errors import decoding
from smkc.serve.store.packing import from_bytes, pack_evidences, to_bytes, unpack_evidences

COLUMNS = "number, time, score, p_value, anomaly, cardinality, appeared, vanished, evidences"


def add(connection: sqlite3.Connection, lane: int, verdicts: Sequence[Verdict | None]) -> None:
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
                verdict.number,
                verdict.time,
                verdict.score,
                verdict.p_value,
                verdict.anomaly,
                verdict.cardinality,
                verdict.appeared,
                verdict.vanished,
                pack_evidences(
                    [code_of[name] for name in verdict.evidences],
                    list(verdict.evidences.values()),
                ),
            )
            for verdict in verdicts
            if verdict is not None
        ],
    )


def last(connection: sqlite3.Connection, lane: int) -> Verdict | None:
    """Return the latest verdict of a lane; None if there is none."""
    found = connection.execute(
        f"SELECT {COLUMNS} FROM scores WHERE lane = ? ORDER BY time DESC LIMIT 1", (lane,)
    ).fetchone()
    return None if found is None else _verdict(found, evidence_names(connection))


def evidence_names(connection: sqlite3.Connection) -> dict[int, str]:
    """Return the name of each evidence by its code."""
    found = connection.execute("SELECT code, name FROM evidences")
    return {code: from_bytes(name) for code, name in found}


def _verdict(found: tuple[Any, ...], names: dict[int, str]) -> Verdict:
    number, time, score, p_value, anomaly, cardinality, appeared, vanished, packed = found
    with decoding("a verdict"):
        codes, nats = unpack_evidences(packed)
        return Verdict(
            number=number,
            time=time,
            score=_real(score),
            p_value=_real(p_value),
            anomaly=_real(anomaly),
            cardinality=cardinality,
            appeared=appeared,
            vanished=vanished,
            evidences={names[code]: value for code, value in zip(codes, nats, strict=True)},
        )


def _real(value: float | None) -> float:
    """Return the number that was written: SQLite stores NaN as NULL."""
    return float("nan") if value is None else value
