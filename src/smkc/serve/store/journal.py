"""Journal: the rows of a lane in order of time.

In: rows. Out: the same rows one by one for a replay, or many at once as a recording.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.recording import Recording
from smkc.serve.rows import LATEST_TIME, Row
from smkc.serve.store.database import StoreError, decoding
from smkc.serve.store.history import LaneHistory
from smkc.serve.store.names import NameBook, names_of
from smkc.serve.store.packing import pack_row, unpack_row

LANE_SHIFT = 40  # a row's id: the lane above this bit, the row's number below it
A_BATCH = 64  # rows per read


@dataclass(frozen=True, eq=False)
class Kept:
    """A row as it is stored: number, time in milliseconds, (n,) codes and (n,) values."""

    number: int
    time: int
    codes: NDArray[np.int32]
    values: NDArray[np.float32]


def row_id(lane: int, number: int) -> int:
    """Return a row's id in the table."""
    return (lane << LANE_SHIFT) + number


def add_rows(
    connection: sqlite3.Connection,
    lane: int,
    book: NameBook,
    rows: Sequence[Row],
    first: int,
    last_time: int | None,
) -> None:
    """Write rows, numbered from ``first``; their times must be after ``last_time``."""
    for number, row in enumerate(rows, start=first):
        if reason := refusal_of(row):
            raise StoreError(f"row {number} {reason}")
        if last_time is not None and row.time <= last_time:
            raise StoreError(
                f"row {number} is at {row.time} ms, not after the last at {last_time} ms; "
                "give rows in order, each once"
            )
        values = np.asarray(row.values)
        codes = book.codes(connection, row.names, number)
        connection.execute(
            "INSERT INTO rows (id, lane, time, n, content) VALUES (?, ?, ?, ?, ?)",
            (row_id(lane, number), lane, row.time, len(codes), pack_row(codes, values)),
        )
        last_time = row.time


def refusal_of(row: Row) -> str:
    """Return why a row cannot be stored, to follow "row 7 ..."; empty if it can."""
    if not 0 <= row.time <= LATEST_TIME:
        return f"is at {row.time} ms; times lie from 1970 to 2262"
    values = np.asarray(row.values)
    if values.shape != (len(row.names),) or not np.isfinite(values).all():
        return (
            f"has {len(row.names)} names and values of shape {values.shape}; give one finite value "
            "for each name"
        )
    return ""


class LaneJournal(LaneHistory):
    """Stored rows of one lane."""

    def rows(self, first: int, last: int) -> Recording:
        """Return rows first to last - 1 as a recording; all of them must still be stored."""
        rows: list[Kept] = []
        with self._database.read("read rows") as connection:
            while len(rows) < last - first:
                batch = _batch(connection, self.id, first + len(rows), last)
                if not batch:
                    raise StoreError(
                        f"rows {first} to {last - 1} of lane {self.id} were asked for, and there "
                        f"are none from {first + len(rows)}; ask for rows before n_rows"
                    )
                rows += batch
            known = _known(connection, self.id, rows, {})
        return _recording(rows, known)

    def numbers_between(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the first and last stored row at times from start to end; None if there is none.

        Times are milliseconds, both ends included.
        """
        with self._database.read("read rows") as connection:
            first, last = connection.execute(
                "SELECT min(id), max(id) FROM rows WHERE lane = ? AND time >= ? AND time <= ?",
                (self.id, start, end),
            ).fetchone()
        lane = row_id(self.id, 0)
        return None if first is None else (int(first) - lane, int(last) - lane)

    def time_of(self, number: int) -> int | None:
        """Return the time of a row in milliseconds; None if it is not stored."""
        with self._database.read("read rows") as connection:
            found = connection.execute(
                "SELECT time FROM rows WHERE id = ?", (row_id(self.id, number),)
            ).fetchone()
        return None if found is None else int(found[0])

    def each_row(self, first: int) -> Iterator[tuple[int, Row]]:
        """Yield (number, row) from number ``first``, which must still be stored, to the latest.

        Few rows are in memory at a time.
        """
        codes: NDArray[np.int32] = np.empty(0, np.int32)
        names: tuple[str, ...] = ()
        known: dict[int, str] = {}
        while True:
            # Rows and names are read in one transaction: retention may remove both at any time.
            with self._database.read("read rows") as connection:
                batch = _batch(connection, self.id, first, None)
                known = _known(connection, self.id, batch, known)
            for kept in batch:
                if not np.array_equal(kept.codes, codes):
                    codes, names = kept.codes, tuple(known[code] for code in kept.codes.tolist())
                yield kept.number, Row(time=kept.time, names=names, values=kept.values)
            first += len(batch)
            if len(batch) < A_BATCH:
                return


def _recording(rows: list[Kept], known: dict[int, str]) -> Recording:
    """Return rows as a recording; consecutive rows with the same codes are sorted only once."""
    used = np.array(sorted(known), np.int32)
    names = sorted(known.values())
    place_of = {name: place for place, name in enumerate(names)}
    places = np.array([place_of[known[code]] for code in used.tolist()], np.int32)
    codes: NDArray[np.int32] = np.empty(0, np.int32)
    order: NDArray[np.int64] = np.empty(0, np.int64)
    ordered: NDArray[np.int32] = np.empty(0, np.int32)
    all_codes, all_values = [ordered], [np.empty(0, np.float32)]
    for row in rows:
        if not np.array_equal(row.codes, codes):
            codes = row.codes
            ordered = places[np.searchsorted(used, codes)]
            order = np.argsort(ordered)
            ordered = ordered[order]
        all_codes.append(ordered)
        all_values.append(row.values[order])
    return Recording.from_observations(
        np.array([row.time for row in rows], "datetime64[ms]").astype("datetime64[ns]"),
        np.repeat(np.arange(len(rows)), [len(row.codes) for row in rows]),
        np.concatenate(all_codes),
        np.concatenate(all_values),
        names,
    )


def _batch(connection: sqlite3.Connection, lane: int, first: int, last: int | None) -> list[Kept]:
    """Return up to ``A_BATCH`` rows from number ``first``, before ``last``; a gap is an error."""
    end = row_id(lane + 1, 0) if last is None else row_id(lane, last)
    found = connection.execute(
        "SELECT id, time, n, content FROM rows WHERE id >= ? AND id < ? ORDER BY id LIMIT ?",
        (row_id(lane, first), end, A_BATCH),
    ).fetchall()
    rows = []
    for number, (place, time, n, content) in enumerate(found, start=first):
        if place != row_id(lane, number):
            raise _missing(connection, lane, number)
        with decoding(f"row {number}"):
            rows.append(Kept(number, int(time), *unpack_row(content, n)))
    return rows


def _missing(connection: sqlite3.Connection, lane: int, number: int) -> StoreError:
    """Return the error for a missing row: removed by retention, or lost by damage."""
    older = connection.execute(
        "SELECT 1 FROM rows WHERE id >= ? AND id < ? LIMIT 1",
        (row_id(lane, 0), row_id(lane, number)),
    ).fetchone()
    if older is None:
        return StoreError(
            f"row {number} of lane {lane} is no longer kept; begin at first_kept_row, and say "
            "which rows are needed"
        )
    return _damaged(f"row {number} of lane {lane} is missing")


def _known(
    connection: sqlite3.Connection, lane: int, rows: list[Kept], known: dict[int, str]
) -> dict[int, str]:
    """Return code -> name for all codes of some rows; those in ``known`` are not read again."""
    used: set[int] = set()
    codes: NDArray[np.int32] = np.empty(0, np.int32)
    for row in rows:
        if not np.array_equal(row.codes, codes):
            codes = row.codes
            used.update(codes.tolist())
    kept = {code: name for code, name in known.items() if code in used}
    kept |= names_of(connection, lane, sorted(used.difference(kept)))
    if len(kept) < len(used):
        raise _damaged(f"lane {lane} has lost {len(used) - len(kept)} names of its rows")
    return kept


def _damaged(what: str) -> StoreError:
    return StoreError(
        f"the history is damaged: {what}; set it aside and start anew", is_damaged=True
    )
