"""Lane store: the part of the store that is one lane's.

In: rows with their verdicts, alerts, messages and events, in one piece. Out: all of it again.
"""

import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.recording import Recording
from smkc.serve.rows import AlertRecord, Row, Verdict
from smkc.serve.store import alerts as alert_table
from smkc.serve.store import history, inbox, journal, outbox, scores
from smkc.serve.store.database import Database
from smkc.serve.store.errors import StoreError, decoding
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
        self._committing = threading.Lock()
        with database.read("read a lane") as connection:
            found = connection.execute(
                "SELECT n_rows, last_time FROM lanes WHERE id = ?", (id,)
            ).fetchone()
        with decoding(f"lane {id}"):
            self._n_rows = int(found[0])
            self._last_time = None if found[1] is None else int(found[1])

    @property
    def n_rows(self) -> int:
        """How many rows were ever kept: the number of the next one."""
        return self._n_rows

    @property
    def last_time(self) -> int | None:
        """Time of the latest row in milliseconds; None before the first."""
        return self._last_time

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
        with self._committing:
            self._require_fitting(rows, verdicts, events)
            last_time = rows[-1].time if rows else self.last_time
            try:
                with self._database.write("keep rows") as connection:
                    journal.add_rows(
                        connection, self.id, self.book, rows, self.n_rows, self.last_time
                    )
                    scores.add(connection, self.id, self._evidences, verdicts)
                    alert_table.put(connection, self.id, alerts)
                    outbox.add(connection, messages, last_time or 0)
                    self._add_events(connection, events)
                    if inbox_up_to is not None:
                        inbox.drop(connection, self.watch, inbox_up_to)
                    connection.execute(
                        "UPDATE lanes SET n_rows = ?, last_time = ? WHERE id = ?",
                        (self.n_rows + len(rows), last_time, self.id),
                    )
            except BaseException:
                self.book.forget()
                self._evidences.forget()
                raise
            self._n_rows, self._last_time = self.n_rows + len(rows), last_time

    @staticmethod
    def refusal_of(row: Row) -> str:
        """Return why a row can never be kept, to go on from "row 7"; empty if it can."""
        return journal.refusal_of(row)

    def need_rows_from(self, number: int) -> None:
        """Say that rows from this number on are still needed: retention leaves them alone.

        Call it with the row of the oldest checkpoint, or the first row that the model was fitted
        on, whichever a restart goes back to.
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
        with decoding("an event"):
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

    def verdicts(
        self, since: int | None = None, until: int | None = None, limit: int = 1000
    ) -> dict[str, NDArray[Any]]:
        """Return verdicts over a time as columns, thinned so that no peak is lost.

        Parameters
        ----------
        since, until
            milliseconds, both ends included; None for all there is.
        limit
            at most so many points. Where there are more verdicts, the time is cut into so many
            equal parts, and the verdict with the highest anomaly stands for its part.

        Returns
        -------
        Columns of equal length in order of time: ``number``, ``time``, ``cardinality``,
        ``appeared`` and ``vanished`` (int64; the last two are sums over the part), ``score``,
        ``p_value``, ``anomaly`` (float64), and ``evidence.<name>`` for each evidence that spoke
        (float64, NaN where it did not).
        """
        return history.verdicts(self._database, self.id, since, until, limit)

    def presence(
        self, since: int, until: int, n_columns: int = 120, n_names: int = 40
    ) -> history.Presence:
        """Return which variables were there when, from rows spread evenly over the time.

        Parameters
        ----------
        since, until
            milliseconds, both ends included.
        n_columns
            parts that the time is cut into.
        n_names
            at most so many variables: those that came and went most.
        """
        return history.presence(self._database, self.id, since, until, n_columns, n_names)

    def traces(
        self, names: Sequence[str], since: int, until: int, limit: int = 2000
    ) -> dict[str, tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """Return times in milliseconds and values of some variables.

        Parameters
        ----------
        names
            which; one that is not known comes back empty.
        since, until
            milliseconds, both ends included.
        limit
            rows looked at, at most, spread evenly over the time.
        """
        return history.traces(self._database, self.id, names, since, until, limit)
