"""History: what a lane said and saw over a time, for people to look at.

In: a lane and a time. Out: columns of scores, a map of presence, traces of variables; never more
than was asked for, however long the time.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.serve.store.database import Database
from smkc.serve.store.errors import decoding
from smkc.serve.store.names import codes_of, names_of
from smkc.serve.store.packing import unpack_evidences, unpack_row
from smkc.serve.store.scores import COLUMNS, evidence_names

__all__ = ["Presence", "presence", "traces", "verdicts"]

# Rows that a column of the map is made of, at most: unpacking all rows of a week takes long.
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
    """Which variables were there when: names x columns of time.

    Parameters
    ----------
    names
        (n,) variables that came and went most; by when they came, then by when they went.
    edges
        (m + 1,) milliseconds: column j holds the times from edge j on and before edge j + 1.
    shares
        (n, m) float32: in what share of a column's rows the variable was seen; NaN without rows.
    n_seen
        how many variables were seen in all.
    """

    names: tuple[str, ...]
    edges: NDArray[np.int64]
    shares: NDArray[np.float32]
    n_seen: int


def verdicts(
    database: Database, lane: int, since: int | None, until: int | None, limit: int
) -> dict[str, NDArray[Any]]:
    """Return columns of verdicts; see :meth:`LaneStore.verdicts`."""
    with database.read("read scores") as connection:
        n, first, last = connection.execute(
            f"SELECT count(*), min(time), max(time) FROM scores WHERE {_SPAN}",
            (lane, *_span(since, until)),
        ).fetchone()
        if n <= limit:
            found = connection.execute(
                f"SELECT {COLUMNS} FROM scores WHERE {_SPAN} ORDER BY time",
                (lane, *_span(since, until)),
            ).fetchall()
        else:
            found = []
            edges = _edges(first, last, limit)
            for start, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
                worst = connection.execute(_WORST, (lane, start, end - 1)).fetchone()
                if worst[0] is not None:
                    found.append((*worst[:4], worst[-1], *worst[5:9]))
        names = evidence_names(connection)
    with decoding("a verdict"):
        return _columns(found, names)


def presence(
    database: Database, lane: int, since: int, until: int, n_columns: int, n_names: int
) -> Presence:
    """Return a map of presence; see :meth:`LaneStore.presence`."""
    edges = _edges(since, until, n_columns)
    with database.read("read rows") as connection:
        ids, times = _places(connection, lane, since, until)
    column_of = np.searchsorted(edges, times, side="right") - 1
    shares: dict[int, tuple[NDArray[np.int32], NDArray[np.float32]]] = {}
    for column in np.unique(column_of).tolist():
        rows = _unpacked(database, _evenly(ids[column_of == column], ROWS_A_COLUMN))
        if rows:
            codes, counts = np.unique(
                np.concatenate([codes for codes, _ in rows]), return_counts=True
            )
            shares[column] = codes, (counts / len(rows)).astype(np.float32)
    seen = np.unique(np.concatenate([codes for codes, _ in shares.values()] or [_NO_CODES]))
    chosen = np.sort(np.argsort(-_changes(shares, seen), kind="stable")[:n_names])
    with database.read("read names") as connection:
        known = names_of(connection, lane, seen[chosen].tolist())
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
    database: Database, lane: int, names: Sequence[str], since: int, until: int, limit: int
) -> dict[str, tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """Return what variables measured; see :meth:`LaneStore.traces`."""
    with database.read("read rows") as connection:
        ids, times = _places(connection, lane, since, until)
        wanted = codes_of(connection, lane, names)
    time_at = dict(zip(ids.tolist(), times.tolist(), strict=True))
    found: dict[int, list[tuple[int, float]]] = {code: [] for code in wanted.values()}
    sought = np.array(sorted(found), np.int32)
    chosen = _evenly(ids, limit) if len(sought) else ids[:0]
    for place in chosen.tolist():
        for codes, values in _unpacked(database, [place]):
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
    """Return how much each code's share moves from column to column in all: (len(seen),)."""
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
    """Return the share of every code that was seen, 0 for those not among ``codes``."""
    spread = np.zeros(len(seen), np.float32)
    spread[np.searchsorted(seen, codes)] = share
    return spread


def _unpacked(
    database: Database, places: Sequence[int] | NDArray[np.int64]
) -> list[tuple[NDArray[np.int32], NDArray[np.float32]]]:
    """Return codes and values of some rows; those that retention took meanwhile are left out."""
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
    """Return ids and times of the rows in a span."""
    found = connection.execute(
        f"SELECT id, time FROM rows WHERE {_SPAN} ORDER BY time", (lane, *_span(since, until))
    ).fetchall()
    table = np.array(found, np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _span(since: int | None, until: int | None) -> tuple[int, int]:
    return (0 if since is None else since), (2**63 - 1 if until is None else until)


def _edges(since: int, until: int, n: int) -> NDArray[np.int64]:
    """Return n + 1 edges of equal columns over since to until, the latter included."""
    width = max(until - since + 1, 1)
    return np.array([since + width * at // n for at in range(n + 1)], np.int64)


def _evenly(places: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """Return at most ``limit`` of them, the first and the last included, spread evenly."""
    if len(places) <= limit:
        return places
    return places[np.linspace(0, len(places) - 1, limit).round().astype(np.int64)]


def _first_and_last(shares: NDArray[np.float32]) -> tuple[int, int]:
    seen = np.flatnonzero(shares > 0)
    return (int(seen[0]), int(seen[-1])) if len(seen) else (len(shares), len(shares))
