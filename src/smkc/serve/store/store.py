"""Store: everything that must outlast the process, in one SQLite file in one folder.

In: a folder. Out: a store per lane, alerts, what was pushed, what must be sent.
"""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

from smkc.serve.store import alerts as alert_table
from smkc.serve.store import inbox, outbox, retention
from smkc.serve.store.database import Database
from smkc.serve.store.errors import StoreError, decoding
from smkc.serve.store.lane import LaneStore
from smkc.serve.store.opening import BESIDE, FolderLock, open_database
from smkc.serve.store.packing import from_bytes, to_bytes
from smkc.serve.store.records import Message, Removed, StoredAlert

__all__ = ["Store"]


class Store:
    """Keeps the history of all lanes; made by :meth:`open`. Any thread may use it.

    Parameters
    ----------
    database
        the file.
    lock
        what keeps other processes out.
    set_aside
        files that were found damaged and renamed.
    """

    def __init__(self, database: Database, lock: FolderLock, set_aside: list[Path]) -> None:
        self.set_aside = set_aside
        self._database = database
        self._lock = lock
        self._lanes: dict[tuple[str, str], LaneStore] = {}
        self._making = threading.Lock()

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, start_anew: bool = False) -> "Store":
        """Open the store in a folder, made where there is none; for one process at a time.

        A file that is damaged is renamed to ``history.sqlite.damaged-<n>`` and listed in
        ``set_aside``, and a new one is begun. ``start_anew`` does so whatever the file holds, for
        damage that shows only later (``StoreError.is_damaged``).
        """
        place = Path(folder)
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"{place} cannot be made ({error.strerror or error}); give a folder that may be "
                "written to"
            ) from error
        lock = FolderLock(place)
        try:
            database, set_aside = open_database(place, start_anew=start_anew)
        except BaseException:
            lock.release()
            raise
        return cls(database, lock, set_aside)

    def close(self) -> None:
        """Close the file and let other processes in."""
        try:
            self._database.close()
        finally:
            self._lock.release()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def path(self) -> Path:
        """The file."""
        return self._database.path

    def size_bytes(self) -> int:
        """Return how much room the file and its log take."""
        return sum(
            os.stat(f"{self.path}{end}").st_size
            for end in BESIDE
            if os.path.exists(f"{self.path}{end}")
        )

    def retain(self, now: int, rows_ms: int, scores_ms: int, alerts_ms: int) -> Removed:
        """Remove what is old, a little at a time, and give room back to the disk.

        Parameters
        ----------
        now
            milliseconds.
        rows_ms
            how long rows are kept, their names, events and messages that were sent; and scores that
            could not be sent by remote write. Rows that a lane needs stay however old they are.
        scores_ms, alerts_ms
            how long verdicts and alerts are kept; an alert that goes on stays. Messages that could
            not be sent are kept as long as alerts.
        """

        def forget_names(lane: int) -> None:
            for known in list(self._lanes.values()):
                if known.id == lane:
                    known.book.forget()

        return retention.retain(self._database, forget_names, now, rows_ms, scores_ms, alerts_ms)

    # ------------------------------------------------------------------ lanes

    def lane(self, watch: str, entity: str) -> LaneStore:
        """Return the store of one lane, made where there is none; the same object each time."""
        with self._making:
            known = self._lanes.get((watch, entity))
            if known is None:
                with self._database.write("make a lane") as connection:
                    connection.execute(
                        "INSERT INTO lanes (watch, entity, n_rows) VALUES (?, ?, 0) "
                        "ON CONFLICT (watch, entity) DO NOTHING",
                        (watch, to_bytes(entity)),
                    )
                    found = connection.execute(
                        "SELECT id FROM lanes WHERE watch = ? AND entity = ?",
                        (watch, to_bytes(entity)),
                    ).fetchone()
                known = LaneStore(self._database, int(found[0]), watch, entity)
                self._lanes[watch, entity] = known
            return known

    def lanes(self) -> list[LaneStore]:
        """Return the stores of all lanes, oldest first."""
        with self._database.read("read lanes") as connection:
            found = connection.execute("SELECT watch, entity FROM lanes ORDER BY id").fetchall()
        with decoding("a lane"):
            known = [(watch, from_bytes(entity)) for watch, entity in found]
        return [self.lane(watch, entity) for watch, entity in known]

    # ------------------------------------------------------------------ alerts

    def alerts(
        self,
        *,
        watch: str | None = None,
        entity: str | None = None,
        open_only: bool = False,
        since: int | None = None,
        until: int | None = None,
        limit: int = 100,
        before_id: str | None = None,
    ) -> list[StoredAlert]:
        """Return alerts, newest first.

        Parameters
        ----------
        watch, entity
            whose; None for all.
        open_only
            only those that go on.
        since, until
            only those that overlap this time; milliseconds, both ends included.
        limit
            at most so many.
        before_id
            only those older than this one: the next page. None are older than one not known.
        """
        with self._database.read("read alerts") as connection:
            return alert_table.find_many(
                connection,
                watch=watch,
                entity=entity,
                open_only=open_only,
                since=since,
                until=until,
                limit=limit,
                before_id=before_id,
            )

    def alert(self, id: str) -> StoredAlert | None:
        """Return one alert; None if there is none of this id."""
        with self._database.read("read an alert") as connection:
            return alert_table.find(connection, id)

    def acknowledge(self, id: str, who: str, note: str, at: int) -> StoredAlert | None:
        """Write down who took an alert on; return it, None if there is none of this id."""
        with self._database.write("acknowledge an alert") as connection:
            alert_table.acknowledge(connection, id, who, note, at)
            return alert_table.find(connection, id)

    def give_feedback(self, id: str, who: str, at: int) -> StoredAlert | None:
        """Write down who said that an alert was normal; return it, None if there is none."""
        with self._database.write("keep feedback") as connection:
            alert_table.give_feedback(connection, id, who, at)
            return alert_table.find(connection, id)

    # ------------------------------------------------------------------ inbox

    def put_inbox(self, watch: str, body: bytes) -> int:
        """Keep what was pushed for a watch; return its number once it is on the disk."""
        with self._database.write("keep what was pushed") as connection:
            return inbox.put(connection, watch, body)

    def inbox(self, watch: str, after: int = 0) -> Iterator[tuple[int, bytes]]:
        """Go through what was pushed, in order, from the first number above ``after``."""
        return inbox.each(self._database, watch, after)

    def drop_inbox(self, watch: str, up_to: int) -> None:
        """Remove what was pushed for a watch up to a number, that one included."""
        with self._database.write("empty the inbox") as connection:
            inbox.drop(connection, watch, up_to)

    def n_inbox(self, watch: str | None = None) -> int:
        """Return how many bodies wait, of one watch or of all."""
        with self._database.read("count the inbox") as connection:
            return inbox.n_waiting(connection, watch)

    # ------------------------------------------------------------------ outbox

    def due(self, now: int, limit: int) -> list[Message]:
        """Return messages to be sent now, oldest first."""
        with self._database.read("read the outbox") as connection:
            return outbox.due(connection, now, limit)

    def sent(self, id: int) -> None:
        """Note that a message was sent."""
        with self._database.write("note a sent message") as connection:
            outbox.settle(connection, id, "sent")

    def give_up(self, id: int) -> None:
        """Note that a message will never be sent."""
        with self._database.write("give up a message") as connection:
            outbox.settle(connection, id, "given up")

    def failed(self, id: int, now: int, error: str, retry_at: int) -> None:
        """Note that sending failed at ``now``; it is due again at ``retry_at``."""
        with self._database.write("put off a message") as connection:
            outbox.put_off(connection, id, error, max(now, retry_at))

    def n_waiting(self, receiver: tuple[str, str] | None = None) -> int:
        """Return how many messages have yet to be sent, to a (kind, name) or to all."""
        with self._database.read("count the outbox") as connection:
            return outbox.n_waiting(connection, receiver)
