"""Lane store: the part of the store that is one lane's.

In: rows with their verdicts, alerts, messages and events, in one piece. Out: all of it again.
"""

import json
from collections.abc import Iterator, Sequence

from smkc.recording import Recording
from smkc.serve.rows import AlertRecord, Row, Verdict
from smkc.serve.store import alerts as alert_table
from smkc.serve.store import inbox, journal, outbox, scores
from smkc.serve.store.database import Database
from smkc.serve.store.errors import StoreError
from smkc.serve.store.names import NameBook
from smkc.serve.store.records import Event, Message

__all__ = ["LaneStore"]


class LaneStore:
    """Keeps what one lane observed and said; made by :meth:`Store.lane`.

    Parameters
    ----------
    database
        the file.
    id, watch, entity
        which lane.
    """

    def __init__(self, database: Database, id: int, watch: str, entity: str) -> None:
        self.id = id
        self.watch = watch
        self.entity = entity
        self.book = NameBook(id)
        self._database = database
        self._evidences = scores.EvidenceBook()
        with database.read("read a lane") as connection:
            self._n_rows, self._last_time = connection.execute(
                "SELECT n_rows, last_time FROM lanes WHERE id = ?", (id,)
            ).fetchone()

    @property
    def n_rows(self) -> int:
        """How many rows were ever kept: the number of the next one."""
        return int(self._n_rows)

    @property
    def last_time(self) -> int | None:
        """Time of the latest row in milliseconds; None before the first."""
        return None if self._last_time is None else int(self._last_time)

    @property
    def first_kept_row(self) -> int:
        """Number of the oldest row that is still kept; ``n_rows`` when none is."""
        with self._database.read("read a lane") as connection:
            found = connection.execute(
                "SELECT min(id) FROM rows WHERE id >= ? AND id < ?",
                (journal.row_id(self.id, 0), journal.row_id(self.id + 1, 0)),
            ).fetchone()[0]
        return self.n_rows if found is None else int(found) - journal.row_id(self.id, 0)

    # ------------------------------------------------------------------ writing

    def commit(
        self,
        rows: Sequence[Row],
        verdicts: Sequence[Verdict | None],
        alerts: Sequence[AlertRecord],
        messages: Sequence[Message],
        events: Sequence[Event] = (),
        inbox_up_to: int | None = None,
    ) -> None:
        """Keep rows and all that follows from them, in one transaction: whole or not at all.

        Parameters
        ----------
        rows
            those that come next: the first gets the number ``n_rows``.
        verdicts
            one for each row; None for a row that was not judged.
        alerts
            as they stand after these rows; one that is there already is replaced.
        messages
            to be sent; one whose key was there before is left out.
        events
            in order; each comes before a row that is not yet kept, or before the next one.
        inbox_up_to
            bodies of the watch's inbox up to this number are done with.
        """
        first, after = self.n_rows, self.n_rows + len(rows)
        self._require_fitting(rows, verdicts, events)
        last_time = rows[-1].time if rows else self.last_time
        try:
            with self._database.write("keep rows") as connection:
                journal.add_rows(connection, self.id, self.book, rows, first, self.last_time)
                scores.add(connection, self.id, self._evidences, verdicts)
                alert_table.put(connection, self.id, alerts)
                outbox.add(connection, messages, last_time or 0)
                if events:
                    found = connection.execute(
                        "SELECT coalesce(max(number) + 1, 0) FROM events WHERE lane = ?", (self.id,)
                    ).fetchone()[0]
                    connection.executemany(
                        "INSERT INTO events (lane, number, at_row, kind, content) "
                        "VALUES (?, ?, ?, ?, ?)",
                        [
                            (self.id, number, event.at_row, event.kind, json.dumps(event.content))
                            for number, event in enumerate(events, start=found)
                        ],
                    )
                if inbox_up_to is not None:
                    inbox.drop(connection, self.watch, inbox_up_to)
                connection.execute(
                    "UPDATE lanes SET n_rows = ?, last_time = ? WHERE id = ?",
                    (after, last_time, self.id),
                )
        except BaseException:
            self.book.forget()
            self._evidences.forget()
            raise
        self._n_rows, self._last_time = after, last_time

    def need_rows_from(self, number: int) -> None:
        """Say that rows from this number on are still needed: retention leaves them alone.

        Call it with the row of the oldest checkpoint, or the first row that the model was fitted
        on, whichever a restart goes back to.
        """
        with self._database.write("note which rows are needed") as connection:
            connection.execute("UPDATE lanes SET needed_row = ? WHERE id = ?", (number, self.id))

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

    def rows(self, first: int, last: int) -> Recording:
        """Return rows first to last - 1 as a recording; all of them must still be kept."""
        return journal.rows_as_recording(self._database, self.id, first, last)

    def each_row(self, first: int) -> Iterator[tuple[int, Row]]:
        """Go through the rows from number ``first``, which must be kept, to the latest."""
        return journal.each_row(self._database, self.id, first)

    def events(self, first_row: int) -> list[Event]:
        """Return the events that come before row ``first_row`` or a later one, in order."""
        with self._database.read("read events") as connection:
            found = connection.execute(
                "SELECT at_row, kind, content, number FROM events WHERE lane = ? AND at_row >= ? "
                "ORDER BY number",
                (self.id, first_row),
            ).fetchall()
        return [
            Event(at_row=at_row, kind=kind, content=json.loads(content), number=number)
            for at_row, kind, content, number in found
        ]

    def open_alert(self) -> AlertRecord | None:
        """Return the alert that goes on, if one does."""
        with self._database.read("read alerts") as connection:
            return alert_table.open_of(connection, self.id)

    def last_verdict(self) -> Verdict | None:
        """Return the latest verdict that was kept."""
        with self._database.read("read scores") as connection:
            return scores.last(connection, self.id)
