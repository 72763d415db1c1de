"""Lane store: the part of the store that belongs to one lane.

In: rows with their verdicts, alerts, messages and events, in one transaction. Out: the same, for
replays, fits and display.
"""

import json
import sqlite3
import threading
from collections.abc import Callable, Sequence

from smkc.serve.rows import AlertRecord, Event, Message, Row, Verdict
from smkc.serve.store.database import Database, StoreError, decoding
from smkc.serve.store.journal import LaneJournal, add_rows, row_id
from smkc.serve.store.names import NameBook
from smkc.serve.store.packing import to_bytes
from smkc.serve.store.results import add_verdicts, find_alerts, latest_verdicts, put_alerts


class LaneStore(LaneJournal):
    """Stored rows, verdicts, alerts and events of one lane; created by :meth:`Store.lane`.

    ``n_rows`` is the number of rows ever stored, which is the number of the next row; ``last_time``
    is the time of the latest row in milliseconds, None before the first.
    """

    def __init__(self, database: Database, id: int, watch: str, entity: str) -> None:
        super().__init__(database, id)
        self.watch = watch
        self.entity = entity
        self.book = NameBook(id)
        self._committing = threading.Lock()
        with database.read("read a lane") as connection:
            found = connection.execute(
                "SELECT n_rows, last_time FROM lanes WHERE id = ?", (id,)
            ).fetchone()
        with decoding(f"lane {id}"):
            self.n_rows = int(found[0])
            self.last_time = None if found[1] is None else int(found[1])

    @property
    def first_kept_row(self) -> int:
        """Number of the oldest row that is still stored; ``n_rows`` if there is none."""
        with self._database.read("read a lane") as connection:
            found = connection.execute(
                "SELECT min(id) FROM rows WHERE id >= ? AND id < ?",
                (row_id(self.id, 0), row_id(self.id + 1, 0)),
            ).fetchone()[0]
        return self.n_rows if found is None else int(found) - row_id(self.id, 0)

    # ------------------------------------------------------------------ writing

    def commit(
        self,
        rows: Sequence[Row],
        verdicts: Sequence[Verdict | None],
        alerts: Sequence[AlertRecord],
        messages: Sequence[Message],
        events: Sequence[Event] = (),
        regroup: Callable[[sqlite3.Connection], Sequence[Message]] | None = None,
    ) -> None:
        """Store the next rows and their results in one atomic transaction.

        There is one verdict per row, None for a row that was not judged. Alerts replace their
        earlier state, messages whose key already exists are ignored, and each event comes before
        one of these rows or before the row that follows them. ``regroup`` assigns the alerts to
        incidents in the same transaction, and returns further messages.
        """
        with self._committing:
            self._require_fitting(rows, verdicts, events)
            last_time = rows[-1].time if rows else self.last_time
            try:
                with self._database.write("keep rows") as connection:
                    add_rows(connection, self.id, self.book, rows, self.n_rows, self.last_time)
                    add_verdicts(connection, self.id, verdicts)
                    put_alerts(connection, self.id, alerts)
                    further = [] if regroup is None else regroup(connection)
                    _add_messages(connection, [*messages, *further], last_time or 0)
                    self._add_events(connection, events)
                    connection.execute(
                        "UPDATE lanes SET n_rows = ?, last_time = ? WHERE id = ?",
                        (self.n_rows + len(rows), last_time, self.id),
                    )
            except BaseException:
                self.book.forget()
                raise
            self.n_rows, self.last_time = self.n_rows + len(rows), last_time

    def need_rows_from(self, number: int) -> None:
        """Keep retention from removing rows from this number on.

        Call it with the first row that a restart replays: the row of the oldest checkpoint, or the
        row after the model's reference.
        """
        with self._database.write("note which rows are needed") as connection:
            connection.execute("UPDATE lanes SET needed_row = ? WHERE id = ?", (number, self.id))

    def _add_events(self, connection: sqlite3.Connection, events: Sequence[Event]) -> None:
        first = connection.execute(
            "SELECT coalesce(max(number) + 1, 0) FROM events WHERE lane = ?", (self.id,)
        ).fetchone()[0]
        connection.executemany(
            "INSERT INTO events (lane, number, at_row, kind, content) VALUES (?, ?, ?, ?, ?)",
            [
                (self.id, number, event.at_row, event.kind, json.dumps(event.content))
                for number, event in enumerate(events, start=first)
            ],
        )

    def _require_fitting(
        self, rows: Sequence[Row], verdicts: Sequence[Verdict | None], events: Sequence[Event]
    ) -> None:
        if len(verdicts) != len(rows):
            raise StoreError(
                f"{len(verdicts)} verdicts for {len(rows)} rows; give one for each row, or None"
            )
        for number, (row, verdict) in enumerate(zip(rows, verdicts, strict=True), self.n_rows):
            if verdict is not None and (verdict.number, verdict.time) != (number, row.time):
                raise StoreError(
                    f"the verdict on row {number} at {row.time} ms says row {verdict.number} at "
                    f"{verdict.time} ms; give verdicts in the order of the rows"
                )
        places = [self.n_rows, *(event.at_row for event in events)]
        if places != sorted(places) or places[-1] > self.n_rows + len(rows):
            raise StoreError(
                f"events at rows {places[1:]} do not fit rows {self.n_rows} to "
                f"{self.n_rows + len(rows)}; give them in order, before a row of this commit or "
                "the next"
            )

    # ------------------------------------------------------------------ reading

    def events(self, first_row: int) -> list[Event]:
        """Return the events whose ``at_row`` is ``first_row`` or later, in order."""
        with self._database.read("read events") as connection:
            found = connection.execute(
                "SELECT at_row, kind, content, number FROM events WHERE lane = ? AND at_row >= ? "
                "ORDER BY number",
                (self.id, first_row),
            ).fetchall()
        with decoding("an event"):
            return [
                Event(at_row=at_row, kind=kind, content=json.loads(content), number=number)
                for at_row, kind, content, number in found
            ]

    def open_alert(self) -> AlertRecord | None:
        """Return the open alert; None if there is none."""
        with self._database.read("read alerts") as connection:
            found = find_alerts(connection, "a.lane = ? AND a.is_open", [self.id], 1)
        return found[0].record if found else None

    def latest_verdicts(self, n: int) -> list[Verdict]:
        """Return the latest n stored verdicts, or fewer, in order of time."""
        with self._database.read("read scores") as connection:
            return latest_verdicts(connection, self.id, n)


def _add_messages(
    connection: sqlite3.Connection, messages: Sequence[Message], created: int
) -> None:
    connection.executemany(
        "INSERT INTO outbox (kind, receiver, about, key, content, created, due, is_waiting) "
        "VALUES (?, ?, ?, ?, ?, ?, 0, 1) ON CONFLICT (key) DO NOTHING",
        [
            (
                message.kind,
                to_bytes(message.to),
                to_bytes(message.about),
                to_bytes(message.key),
                json.dumps(message.content),
                created,
            )
            for message in messages
        ],
    )
