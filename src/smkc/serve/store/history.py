"""History: a lane's verdicts, presence and values over a time range, for display.

In: a lane and a time range. Out: columns of verdicts, a map of presence, traces of variables; their
size is limited, however long the time range.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.serve.store.database import Database, decoding
from smkc.serve.store.names import codes_of, names_of
from smkc.serve.store.packing import unpack_evidences, unpack_row
from smkc.serve.store.results import COLUMNS, evidence_names

# Maximum number of rows read per column of the presence map: unpacking all rows of a week is slow.
ROWS_A_COLUMN = 8

_NO_CODES = np.empty(0, np.int32)
_WHOLE = ("number", "time", "cardinality", "appeared", "vanished")
_SPAN = "lane = ? AND time >= ? AND time <= ?"
_WORST = (
    "SELECT number, time, score, p_value, max(coalesce(anomaly, -1e308)), cardinality, "
    f"sum(appeared), sum(vanished), evidences, anomaly FROM scores WHERE {_SPAN}"
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Presence:
    """A map of presence: n names x m columns of time.

    The names are those whose presence changed most, sorted by first appearance, then by last, out
    of ``n_seen``. Column j covers edges[j] <= time < edges[j + 1] in milliseconds. ``shares`` (n,
    m) is the share of a column's rows that have the variable; NaN without rows.
    """

    names: tuple[str, ...]
    edges: NDArray[np.int64]
    shares: NDArray[np.float32]
    n_seen: int


class LaneHistory:
    """Verdicts, presence and values of one lane over a time range, of limited size."""

    def __init__(self, database: Database, id: int) -> None:
        self.id = id
        self._database = database

    def verdicts(
        self, since: int | None = None, until: int | None = None, limit: int = 1000
    ) -> dict[str, NDArray[Any]]:
        """Return the verdicts of a time range as columns, thinned so that no peak is lost.

        The range is in milliseconds, both ends included. If it has more than ``limit`` verdicts,
        it is divided into ``limit`` equal parts, each of which is represented by its verdict with
        the highest anomaly.

        The columns, in order of time, are ``number``, ``time``, ``cardinality``, ``appeared`` and
        ``vanished`` (int64; the last two are sums over the part), ``score``, ``p_value``,
        ``anomaly`` (float64), and ``evidence.<name>``, in nats, for each evidence with a value
        (float64, NaN in rows without one).
        """
        with self._database.read("read scores") as connection:
            n, first, last = connection.execute(
                f"SELECT count(*), min(time), max(time) FROM scores WHERE {_SPAN}",
                (self.id, *_span(since, until)),
            ).fetchone()
            if n <= limit:
                found = connection.execute(
                    f"SELECT {COLUMNS} FROM scores WHERE {_SPAN} ORDER BY time",
                    (self.id, *_span(since, until)),
                ).fetchall()
            else:
                found = []
                edges = _edges(first, last, limit)
                for start, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
                    worst = connection.execute(_WORST, (self.id, start, end - 1)).fetchone()
                    if worst[0] is not None:
                        found.append((*worst[:4], worst[-1], *worst[5:9]))
            names = evidence_names(connection)
        with decoding("a verdict"):
            return _columns(found, names)

    def presence(self, since: int, until: int, n_columns: int = 120, n_names: int = 40) -> Presence:
        """Return a map of presence over ``n_columns`` equal parts of a range in milliseconds.

        It has at most ``n_names`` variables, those whose presence changed most.
        """
        edges = _edges(since, until, n_columns)
        with self._database.read("read rows") as connection:
            ids, times = _places(connection, self.id, since, until)
        column_of = np.searchsorted(edges, times, side="right") - 1
        shares: dict[int, tuple[NDArray[np.int32], NDArray[np.float32]]] = {}
        for column in np.unique(column_of).tolist():
            rows = _unpacked(self._database, _evenly(ids[column_of == column], ROWS_A_COLUMN))
            if rows:
                codes, counts = np.unique(
                    np.concatenate([codes for codes, _ in rows]), return_counts=True
                )
                shares[column] = codes, (counts / len(rows)).astype(np.float32)
        seen = np.unique(np.concatenate([codes for codes, _ in shares.values()] or [_NO_CODES]))
        chosen = np.sort(np.argsort(-_changes(shares, seen), kind="stable")[:n_names])
        with self._database.read("read names") as connection:
            known = names_of(connection, self.id, seen[chosen].tolist())
        table = np.full((len(chosen), n_columns), np.nan, np.float32)
        for column, (codes, share) in shares.items():
            table[:, column] = _spread(seen, codes, share)[chosen]
        names = [known.get(code, "") for code in seen[chosen].tolist()]
        order = sorted(range(len(names)), key=lambda at: (*_first_and_last(table[at]), names[at]))
        return Presence(
            names=tuple(names[at] for at in order),
            edges=edges,
            shares=table[order],
            n_seen=len(seen),
        )

    def traces(
        self, names: Sequence[str], since: int, until: int, limit: int = 2000
    ) -> dict[str, tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """Return the times in milliseconds and the values of variables; empty for unknown ones.

        At most ``limit`` rows are read, spread evenly over the time range.
        """
        with self._database.read("read rows") as connection:
            ids, times = _places(connection, self.id, since, until)
            wanted = codes_of(connection, self.id, names)
        time_at = dict(zip(ids.tolist(), times.tolist(), strict=True))
        found: dict[int, list[tuple[int, float]]] = {code: [] for code in wanted.values()}
        sought = np.array(sorted(found), np.int32)
        chosen = _evenly(ids, limit) if len(sought) else ids[:0]
        for place in chosen.tolist():
            for codes, values in _unpacked(self._database, [place]):
                for at in np.flatnonzero(np.isin(codes, sought)).tolist():
                    found[int(codes[at])].append((time_at[place], float(values[at])))
        return {
            name: (
                np.array([time for time, _ in found.get(wanted.get(name, -1), [])], np.int64),
                np.array([value for _, value in found.get(wanted.get(name, -1), [])], np.float32),
            )
            for name in names
        }


def _columns(found: list[tuple[Any, ...]], names: dict[int, str]) -> dict[str, NDArray[Any]]:
    keys = COLUMNS.split(", ")
    by_key = dict(zip(keys, zip(*found, strict=True), strict=True)) if found else {}
    columns: dict[str, NDArray[Any]] = {}
    for key in keys[:-1]:
        columns[key] = np.array(by_key.get(key, ()), np.int64 if key in _WHOLE else np.float64)
    for at, packed in enumerate(by_key.get("evidences", ())):
        for code, nats in zip(*unpack_evidences(packed), strict=True):
            column = f"evidence.{names[code]}"
            if column not in columns:
                columns[column] = np.full(len(found), np.nan)
            columns[column][at] = nats
    return columns


def _changes(
    shares: dict[int, tuple[NDArray[np.int32], NDArray[np.float32]]], seen: NDArray[np.int32]
) -> NDArray[np.float32]:
    """Return each code's sum of absolute changes of its share between columns: (len(seen),)."""
    change = np.zeros(len(seen), np.float32)
    before: NDArray[np.float32] | None = None
    for codes, share in shares.values():
        now = _spread(seen, codes, share)
        if before is not None:
            change += np.abs(now - before)
        before = now
    return change


def _spread(
    seen: NDArray[np.int32], codes: NDArray[np.int32], share: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the share of every code in ``seen``, 0 for codes that are not in ``codes``."""
    spread = np.zeros(len(seen), np.float32)
    spread[np.searchsorted(seen, codes)] = share
    return spread


def _unpacked(
    database: Database, places: Sequence[int] | NDArray[np.int64]
) -> list[tuple[NDArray[np.int32], NDArray[np.float32]]]:
    """Return codes and values of some rows; skip rows that retention has removed meanwhile."""
    rows = []
    with database.read("read rows") as connection:
        for place in np.asarray(places).tolist():
            kept = connection.execute(
                "SELECT n, content FROM rows WHERE id = ?", (place,)
            ).fetchone()
            if kept is not None:
                rows.append(kept)
    with decoding("a row"):
        return [unpack_row(content, n) for n, content in rows]


def _places(
    connection: sqlite3.Connection, lane: int, since: int, until: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ids and times of the rows in a time range."""
    found = connection.execute(
        f"SELECT id, time FROM rows WHERE {_SPAN} ORDER BY time", (lane, *_span(since, until))
    ).fetchall()
    table = np.array(found, np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _span(since: int | None, until: int | None) -> tuple[int, int]:
    return (0 if since is None else since), (2**63 - 1 if until is None else until)


def _edges(since: int, until: int, n: int) -> NDArray[np.int64]:
    """Return n + 1 edges of equal columns from ``since`` to ``until``, both included."""
    width = max(until - since + 1, 1)
    return np.array([since + width * at // n for at in range(n + 1)], np.int64)


def _evenly(places: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """Return at most ``limit`` evenly spaced places, the first and the last included."""
    if len(places) <= limit:
        return places
    return places[np.linspace(0, len(places) - 1, limit).round().astype(np.int64)]


def _first_and_last(shares: NDArray[np.float32]) -> tuple[int, int]:
    seen = np.flatnonzero(shares > 0)
    return (int(seen[0]), int(seen[-1])) if len(seen) else (len(shares), len(shares))
