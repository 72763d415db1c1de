"""Retention: removal of old rows, scores, alerts, events and messages in small steps.

In: the current time and how long each kind of record is kept. Out: free disk space.

Each transaction is small, so that new rows never wait long for the write lock.
"""

import time
from collections.abc import Callable, Mapping

from smkc.serve.store.database import Database
from smkc.serve.store.journal import row_id
from smkc.serve.store.names import TOUCH_ROWS

# Maximum numbers of records removed in one transaction; rows are large, the others small.
ROWS_AT_ONCE, NAMES_AT_ONCE, ENTRIES_AT_ONCE = 32, 10_000, 1_000
PAUSE_SECONDS = 0.001  # between transactions: lets a waiting writer in
# 1 / FREE_PART of the file's pages, but at least FREE_LEAST pages, may stay free for new rows; more
# free pages are returned to the file system, FREE_A_TIME at a time.
FREE_PART = 8
FREE_LEAST, FREE_A_TIME = 1_000, 500


def retain(
    database: Database,
    forget_names: Callable[[int], None],
    now: int,
    rows_ms: int,
    scores_ms: int,
    alerts_ms: int,
) -> None:
    """Remove old records; see :meth:`Store.retain`.

    ``forget_names(lane)`` is called within the write transaction that removes names of a lane.
    """
    with database.read("read lanes") as connection:
        lanes = [int(found[0]) for found in connection.execute("SELECT id FROM lanes ORDER BY id")]
    for lane in lanes:
        if _rows(database, lane, now - rows_ms):
            _names(database, forget_names, lane)
            _events(database, lane)
        _repeat(
            database,
            "DELETE FROM scores WHERE lane = :lane AND time IN (SELECT time FROM scores "
            "WHERE lane = :lane AND time < :before ORDER BY time LIMIT :limit)",
            {"lane": lane, "before": now - scores_ms, "limit": ENTRIES_AT_ONCE},
        )
    for table in ("alerts", "incidents"):
        _repeat(
            database,
            f"DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE start < :before "
            'AND "end" < :before AND NOT is_open LIMIT :limit)',
            {"before": now - alerts_ms, "limit": ENTRIES_AT_ONCE},
        )
    _repeat(
        database,
        'DELETE FROM spans WHERE id IN (SELECT id FROM spans WHERE "end" < :before LIMIT :limit)',
        {"before": now - alerts_ms, "limit": ENTRIES_AT_ONCE},
    )
    _messages(database, "NOT is_waiting", now - rows_ms)
    _messages(database, "1", now - alerts_ms)
    _give_back_room(database)


def _rows(database: Database, lane: int, before: int) -> bool:
    """Remove rows before a time, except those that the lane still needs; return if there were."""
    return _repeat(
        database,
        "DELETE FROM rows WHERE id IN (SELECT id FROM rows WHERE lane = :lane AND time < :before "
        f"AND id < ({row_id(lane, 0)} + coalesce((SELECT needed_row FROM lanes WHERE id = :lane), "
        f"{row_id(1, 0)})) ORDER BY time LIMIT :limit)",
        {"lane": lane, "before": before, "limit": ROWS_AT_ONCE},
    )


def _messages(database: Database, condition: str, before: int) -> None:
    """Remove messages that match a condition and were created before a time."""
    _repeat(
        database,
        "DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE created < :before "
        f"AND {condition} LIMIT :limit)",
        {"before": before, "limit": ENTRIES_AT_ONCE},
    )


def _names(database: Database, forget_names: Callable[[int], None], lane: int) -> None:
    """Remove names that no stored row has."""
    with database.read("read names") as connection:
        highest = connection.execute(
            "SELECT coalesce(max(code), -1) FROM names WHERE lane = ?", (lane,)
        ).fetchone()[0]
    for code in range(0, int(highest) + 1, NAMES_AT_ONCE):
        with database.write("remove old names") as connection:
            first = connection.execute(
                "SELECT min(id) FROM rows WHERE id >= ? AND id < ?",
                (row_id(lane, 0), row_id(lane + 1, 0)),
            ).fetchone()[0]
            # The last_row of each name in a row is less than TOUCH_ROWS before that row.
            end = 2**62 if first is None else first - row_id(lane, 0) - TOUCH_ROWS + 1
            removed = connection.execute(
                "DELETE FROM names WHERE lane = ? AND code >= ? AND code < ? AND last_row < ?",
                (lane, code, code + NAMES_AT_ONCE, end),
            )
            if removed.rowcount:
                forget_names(lane)
        time.sleep(PAUSE_SECONDS)


def _events(database: Database, lane: int) -> None:
    """Remove events before the first stored row, except the latest event and the latest fit."""
    with database.write("remove old events") as connection:
        connection.execute(
            "DELETE FROM events WHERE lane = :lane AND at_row < (SELECT coalesce(min(r.id) "
            "- :first, max(l.n_rows)) FROM lanes l LEFT JOIN rows r ON r.id >= :first "
            "AND r.id < :end WHERE l.id = :lane) AND number NOT IN (SELECT max(number) FROM events "
            "WHERE lane = :lane UNION SELECT max(number) FROM events WHERE lane = :lane "
            "AND kind = 'fit')",
            {"lane": lane, "first": row_id(lane, 0), "end": row_id(lane + 1, 0)},
        )


def _repeat(database: Database, statement: str, values: Mapping[str, int]) -> bool:
    """Repeat a DELETE with a limit until it removes nothing; return whether it removed any."""
    has_removed = False
    while True:
        with database.write("remove what is old") as connection:
            if not connection.execute(statement, values).rowcount:
                return has_removed
        has_removed = True
        time.sleep(PAUSE_SECONDS)


def _give_back_room(database: Database) -> None:
    """Return free pages to the file system, except some that are left for new rows."""
    while True:
        with database.alone("give back room") as connection:
            n_free = connection.execute("PRAGMA freelist_count").fetchone()[0]
            n_pages = connection.execute("PRAGMA page_count").fetchone()[0]
            if n_free < max(FREE_LEAST, n_pages // FREE_PART) + FREE_A_TIME:
                return
            # SQLite frees one page per step, and execute() runs a single step if there are no
            # columns; executescript() runs them all.
            connection.executescript(f"PRAGMA incremental_vacuum({FREE_A_TIME})")
        time.sleep(PAUSE_SECONDS)
