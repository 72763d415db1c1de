"""Scores: the verdicts on a lane's rows, kept longer than the rows themselves.

In: verdicts. Out: the latest one, or columns over a time, thinned so that no peak is lost.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any

from smkc.serve.rows import Verdict
from smkc.serve.store.errors import decoding
from smkc.serve.store.packing import from_bytes, pack_evidences, to_bytes, unpack_evidences

__all__ = ["COLUMNS", "EvidenceBook", "add", "evidence_names", "last"]

COLUMNS = "number, time, score, p_value, anomaly, cardinality, appeared, vanished, evidences"


class EvidenceBook:
    """Codes of the evidences' names; used by the writer alone. There are few, for all lanes."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def forget(self) -> None:
        """Drop what is in memory: after a transaction was undone."""
        self._codes.clear()

    def code(self, connection: sqlite3.Connection, name: str) -> int:
        """Return the code of a name, a new one for a new name."""
        if name not in self._codes:
            connection.execute(
                "INSERT INTO evidences (name) VALUES (?) ON CONFLICT (name) DO NOTHING",
                (to_bytes(name),),
            )
            found = connection.execute(
                "SELECT code FROM evidences WHERE name = ?", (to_bytes(name),)
            ).fetchone()
            self._codes[name] = int(found[0])
        return self._codes[name]


def add(
    connection: sqlite3.Connection,
    lane: int,
    book: EvidenceBook,
    verdicts: Sequence[Verdict | None],
) -> None:
    """Write the verdicts that were given."""
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
                    [book.code(connection, name) for name in verdict.evidences],
                    list(verdict.evidences.values()),
                ),
            )
            for verdict in verdicts
            if verdict is not None
        ],
    )


def last(connection: sqlite3.Connection, lane: int) -> Verdict | None:
    """Return the latest verdict of a lane."""
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
    """Return what was written: SQLite keeps NaN as nothing."""
    return float("nan") if value is None else value
