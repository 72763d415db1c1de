"""Retention: removes what is older than it has to be, a little at a time.

In: a time and how long each kind of thing is kept. Out: how much was removed, and room on the disk.

Each transaction is small, so that rows which come meanwhile wait no longer than for one of them.
"""

import time
from collections.abc import Callable, Mapping

from smkc.serve.store.database import Database
from smkc.serve.store.journal import row_id
from smkc.serve.store.names import TOUCH_ROWS
from smkc.serve.store.records import Removed

__all__ = ["retain"]

# Removed in one transaction: rows are large, the others small.
ROWS_AT_ONCE, NAMES_AT_ONCE, ENTRIES_AT_ONCE = 32, 10_000, 1_000
PAUSE_SECONDS = 0.001  # between transactions: lets a waiting writer in
# Free pages up to this part of the file stay in it for the next rows; more is given back.
FREE_PART = 8
FREE_LEAST, FREE_A_TIME = 1_000, 500


def retain(
    database: Database,
    forget_names: Callable[[int], None],
    now: int,
    rows_ms: int,
    scores_ms: int,
    alerts_ms: int,
) -> Removed:
    """Remove what is too old; see :meth:`Store.retain`.

    ``forget_names(lane)`` is called when names of a lane are removed, while nobody else writes.
    """
    with database.read("read lanes") as connection:
        lanes = [int(found[0]) for found in connection.execute("SELECT id FROM lanes ORDER BY id")]
    n_rows = n_names = n_scores = n_events = 0
    for lane in lanes:
        removed = _rows(database, lane, now - rows_ms)
        if removed:
            n_names += _names(database, forget_names, lane)
            n_events += _events(database, lane)
        n_rows += removed
        n_scores += _repeat(
            database,
            "DELETE FROM scores WHERE lane = :lane AND time IN (SELECT time FROM scores "
            "WHERE lane = :lane AND time < :before ORDER BY time LIMIT :limit)",
            {"lane": lane, "before": now - scores_ms, "limit": ENTRIES_AT_ONCE},
        )
    n_alerts = _repeat(
        database,
        "DELETE FROM alerts WHERE id IN (SELECT id FROM alerts WHERE start < :before "
        'AND "end" < :before AND NOT is_open LIMIT :limit)',
        {"before": now - alerts_ms, "limit": ENTRIES_AT_ONCE},
    )
    n_sent = _messages(database, "state != 'waiting'", now - rows_ms)
    n_unsent = _messages(database, "kind = 'remote_write'", now - rows_ms)
    n_unsent += _messages(database, "1", now - alerts_ms)
    _give_back_room(database)
    return Removed(
        rows=n_rows,
        names=n_names,
        scores=n_scores,
        alerts=n_alerts,
        events=n_events,
        messages=n_sent + n_unsent,
        unsent=n_unsent,
    )


def _rows(database: Database, lane: int, before: int) -> int:
    """Remove rows before a time, but none that the lane needs."""
    return _repeat(
        database,
        "DELETE FROM rows WHERE id IN (SELECT id FROM rows WHERE lane = :lane AND time < :before "
        f"AND id < ({row_id(lane, 0)} + coalesce((SELECT needed_row FROM lanes WHERE id = :lane), "
        f"{row_id(1, 0)})) ORDER BY time LIMIT :limit)",
        {"lane": lane, "before": before, "limit": ROWS_AT_ONCE},
    )


def _messages(database: Database, condition: str, before: int) -> int:
    """Remove messages of a kind that were made before a time."""
    return _repeat(
        database,
        "DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE created < :before "
        f"AND {condition} LIMIT :limit)",
        {"before": before, "limit": ENTRIES_AT_ONCE},
    )


def _names(database: Database, forget_names: Callable[[int], None], lane: int) -> int:
    """Remove names that no kept row has."""
    with database.read("read names") as connection:
        highest = connection.execute(
            "SELECT coalesce(max(code), -1) FROM names WHERE lane = ?", (lane,)
        ).fetchone()[0]
    n_removed = 0
    for code in range(0, int(highest) + 1, NAMES_AT_ONCE):
        with database.write("remove old names") as connection:
            first = connection.execute(
                "SELECT min(id) FROM rows WHERE id >= ? AND id < ?",
                (row_id(lane, 0), row_id(lane + 1, 0)),
            ).fetchone()[0]
            # A kept row's names were written down less than TOUCH_ROWS before it.
            end = 2**62 if first is None else first - row_id(lane, 0) - TOUCH_ROWS + 1
            n_here = connection.execute(
                "DELETE FROM names WHERE lane = ? AND code >= ? AND code < ? AND last_row < ?",
                (lane, code, code + NAMES_AT_ONCE, end),
            ).rowcount
            if n_here:
                forget_names(lane)
            n_removed += n_here
        time.sleep(PAUSE_SECONDS)
    return n_removed


def _events(database: Database, lane: int) -> int:
    """Remove events before the first kept row, but neither the latest nor the latest fit."""
    with database.write("remove old events") as connection:
        return connection.execute(
            "DELETE FROM events WHERE lane = :lane AND at_row < (SELECT coalesce(min(r.id) "
            "- :first, max(l.n_rows)) FROM lanes l LEFT JOIN rows r ON r.id >= :first "
            "AND r.id < :end WHERE l.id = :lane) AND number NOT IN (SELECT max(number) FROM events "
            "WHERE lane = :lane UNION SELECT max(number) FROM events WHERE lane = :lane "
            "AND kind = 'fit')",
            {"lane": lane, "first": row_id(lane, 0), "end": row_id(lane + 1, 0)},
        ).rowcount


def _repeat(database: Database, statement: str, values: Mapping[str, int]) -> int:
    """Run a statement that removes a little until nothing is left; return how much it removed."""
    n_removed = 0
    while True:
        with database.write("remove what is old") as connection:
            n_here = connection.execute(statement, values).rowcount
        n_removed += n_here
        if n_here == 0:
            return n_removed
        time.sleep(PAUSE_SECONDS)


def _give_back_room(database: Database) -> None:
    """Hand free pages back to the system, all but a part for the rows to come."""
    while True:
        with database.alone("give back room") as connection:
            n_free = connection.execute("PRAGMA freelist_count").fetchone()[0]
            n_pages = connection.execute("PRAGMA page_count").fetchone()[0]
            if n_free < max(FREE_LEAST, n_pages // FREE_PART) + FREE_A_TIME:
                return
            # SQLite frees a page a step; execute() takes one step where there are no columns.
            connection.executescript(f"PRAGMA incremental_vacuum({FREE_A_TIME})")
        time.sleep(PAUSE_SECONDS)
