"""Journal: the rows of a lane, as they came.

In: rows. Out: the same rows one after another for a replay, or many at once as a recording.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.recording import Recording
from smkc.serve.rows import Row
from smkc.serve.store.database import Database
from smkc.serve.store.errors import StoreError, decoding
from smkc.serve.store.names import NameBook, names_of
from smkc.serve.store.packing import pack_row, unpack_row

__all__ = ["Kept", "add_rows", "each_kept", "each_row", "row_id", "rows_as_recording"]

LANE_SHIFT = 40  # a row's id is its lane in the upper bits and its number below
MOST_TIME = 2**63 // 1_000_000  # milliseconds that nanoseconds in 64 bits can still tell
A_BATCH = 64  # rows in memory at a time while a journal is read


@dataclass(frozen=True, eq=False)
class Kept:
    """A row as the journal keeps it: number, time, (n,) codes and (n,) values."""

    number: int
    time: int
    codes: NDArray[np.int32]
    values: NDArray[np.float32]


def row_id(lane: int, number: int) -> int:
    """Return a row's place in the table."""
    return (lane << LANE_SHIFT) + number


def add_rows(
    connection: sqlite3.Connection,
    lane: int,
    book: NameBook,
    rows: Sequence[Row],
    first: int,
    last_time: int | None,
) -> None:
    """Write rows under the numbers from ``first``; their times must come after ``last_time``."""
    for number, row in enumerate(rows, start=first):
        if not 0 <= row.time < MOST_TIME:
            raise StoreError(f"row {number} is at {row.time} ms; times lie from 1970 to 2262")
        if last_time is not None and row.time <= last_time:
            raise StoreError(
                f"row {number} is at {row.time} ms, not after the last at {last_time} ms; "
                "give rows in order, each once"
            )
        values = np.asarray(row.values)
        if values.shape != (len(row.names),) or not np.isfinite(values).all():
            raise StoreError(
                f"row {number} has {len(row.names)} names and values of shape {values.shape}; give "
                "one finite value for each name"
            )
        codes = book.codes(connection, row.names, number)
        connection.execute(
            "INSERT INTO rows (id, lane, time, n, content) VALUES (?, ?, ?, ?, ?)",
            (row_id(lane, number), lane, row.time, len(codes), pack_row(codes, values)),
        )
        last_time = row.time


def each_kept(database: Database, lane: int, first: int, last: int | None) -> Iterator[Kept]:
    """Go through a lane's rows first to last - 1, or to the latest; a few in memory at a time."""
    end = row_id(lane + 1, 0) if last is None else row_id(lane, last)
    number = first
    while True:
        with database.read("read rows") as connection:
            found = connection.execute(
                "SELECT id, time, n, content FROM rows WHERE id >= ? AND id < ? ORDER BY id "
                "LIMIT ?",
                (row_id(lane, number), end, A_BATCH),
            ).fetchall()
        for place, time, n, content in found:
            if place != row_id(lane, number):
                raise _damaged(database, f"row {number} of lane {lane} is missing")
            with decoding(f"row {number}"):
                kept = Kept(number, int(time), *unpack_row(content, n))
            yield kept
            number += 1
        if len(found) < A_BATCH:
            return


def each_row(database: Database, lane: int, first: int) -> Iterator[tuple[int, Row]]:
    """Go through a lane's rows from number ``first`` to the latest, with their names."""
    codes: NDArray[np.int32] = np.empty(0, np.int32)
    names: tuple[str, ...] = ()
    known: dict[int, str] = {}
    for kept in each_kept(database, lane, first, None):
        if not np.array_equal(kept.codes, codes):
            codes = kept.codes
            known = _known(database, lane, codes, known)
            names = tuple(known[code] for code in codes.tolist())
        yield kept.number, Row(time=kept.time, names=names, values=kept.values)


def rows_as_recording(database: Database, lane: int, first: int, last: int) -> Recording:
    """Return rows first to last - 1 of a lane as a recording."""
    kept = list(each_kept(database, lane, first, last))
    if len(kept) != last - first:
        raise StoreError(
            f"{database.path}: rows {first} to {last - 1} of lane {lane} were asked for and "
            f"{len(kept)} are there; ask for rows from first_kept_row to n_rows - 1"
        )
    lengths = [len(row.codes) for row in kept]
    codes = np.concatenate([row.codes for row in kept] or [np.empty(0, np.int32)])
    used = np.unique(codes)
    known = _known(database, lane, used, {})
    times = np.array([row.time for row in kept], "datetime64[ms]").astype("datetime64[ns]")
    return Recording.from_observations(
        times,
        np.repeat(np.arange(len(kept)), lengths),
        np.searchsorted(used, codes),
        np.concatenate([row.values for row in kept] or [np.empty(0, np.float32)]),
        tuple(known[code] for code in used.tolist()),
    )


def _known(
    database: Database, lane: int, codes: NDArray[np.int32], known: dict[int, str]
) -> dict[int, str]:
    """Return the names of all codes, those that are known taken over."""
    wanted = codes.tolist()
    missing = [code for code in wanted if code not in known]
    kept = {code: known[code] for code in wanted if code in known}
    if missing:
        with database.read("read names") as connection:
            kept |= names_of(connection, lane, missing)
        if len(kept) < len(wanted):
            raise _damaged(database, f"lane {lane} has lost names of its rows")
    return kept


def _damaged(database: Database, what: str) -> StoreError:
    return StoreError(
        f"{database.path} is damaged: {what}; set it aside and start anew", is_damaged=True
    )
