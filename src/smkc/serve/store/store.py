"""Store: all data that must survive a restart, in one SQLite file in one folder.

In: a folder. Out: a store per lane, alerts, an inbox of pushed bodies, an outbox of messages.
"""

import json
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from smkc.serve.incidents.grouping import Incident
from smkc.serve.rows import Acknowledgement, AlertRecord, Message, StoredAlert
from smkc.serve.store import retention
from smkc.serve.store.database import Database, StoreError, decoding
from smkc.serve.store.incidents import alerts_of, find_incidents
from smkc.serve.store.lane import LaneStore
from smkc.serve.store.opening import BESIDE, FolderLock, open_database
from smkc.serve.store.packing import from_bytes, to_bytes
from smkc.serve.store.results import find_alerts
from smkc.serve.store.spans import StoredSpans

_WAITING = "is_waiting = 1 AND (:kind IS NULL OR (kind = :kind AND receiver = :receiver))"

# A message waits for earlier ones about the same subject to the same receiver.
_DUE = f"""
SELECT id, kind, receiver, about, key, content, created FROM outbox AS m
WHERE {_WAITING} AND due <= :now AND (about = x'' OR NOT EXISTS (
    SELECT 1 FROM outbox AS e WHERE e.about = m.about AND e.receiver = m.receiver
    AND e.is_waiting = 1 AND e.id < m.id))
ORDER BY id LIMIT :limit
"""

Receiver = tuple[str, str]


class Store:
    """The history of all lanes; created by :meth:`open`. Any thread may use it.

    ``path`` is that of the file; ``set_aside`` lists files that were renamed because they were
    damaged; ``spans`` are the times that users marked.
    """

    def __init__(self, database: Database, lock: FolderLock, set_aside: list[Path]) -> None:
        self.path, self.set_aside = database.path, set_aside
        self._database = database
        self.spans = StoredSpans(database)
        self._lock = lock
        self._lanes: dict[tuple[str, str], LaneStore] = {}
        self._making = threading.Lock()

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> "Store":
        """Open the store in a folder, for one process at a time; create it if it does not exist.

        A damaged file is renamed to ``history.sqlite.damaged-<n>`` and listed in ``set_aside``, and
        a new file is created.
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
            database, set_aside = open_database(place)
        except BaseException:
            lock.release()
            raise
        return cls(database, lock, set_aside)

    def close(self) -> None:
        """Close the file and release the lock."""
        try:
            self._database.close()
        finally:
            self._lock.release()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def size_bytes(self) -> int:
        """Return the size of the file and its log in bytes."""
        files = [Path(f"{self.path}{end}") for end in BESIDE]
        return sum(file.stat().st_size for file in files if file.exists())

    def retain(self, now: int, rows_ms: int, scores_ms: int, alerts_ms: int) -> None:
        """Remove records older than these milliseconds; return free space to the file system.

        Names, events and messages that were sent or given up go with the rows, other messages,
        acknowledgements and marked spans with the alerts. Rows that a lane still needs, open alerts
        and spans without an end are kept regardless of age.
        """

        def forget_names(lane: int) -> None:
            for known in list(self._lanes.values()):
                if known.id == lane:
                    known.book.forget()

        retention.retain(self._database, forget_names, now, rows_ms, scores_ms, alerts_ms)

    # ------------------------------------------------------------------ lanes

    def lane(self, watch: str, entity: str) -> LaneStore:
        """Return the store of one lane, always the same object; create it if it does not exist."""
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
        """Return at most ``limit`` alerts, newest first; None means any.

        ``since`` and ``until``, in milliseconds, select alerts that overlap them. ``before_id``
        selects older alerts than this one, for the next page; an unknown id gives no alerts.
        """
        conditions = {
            "l.watch = ?": watch,
            "l.entity = ?": None if entity is None else to_bytes(entity),
            'a."end" >= ?': since,
            "a.start <= ?": until,
            "(a.start, a.id) < (SELECT b.start, b.id FROM alerts b WHERE b.id = ?)": before_id,
        }
        given = {part: value for part, value in conditions.items() if value is not None}
        where = " AND ".join(["a.is_open" if open_only else "1", *given])
        with self._database.read("read alerts") as connection:
            return find_alerts(connection, where, [*given.values()], limit)

    def alert(self, id: str) -> StoredAlert | None:
        """Return the alert with an id; None if there is none."""
        with self._database.read("read an alert") as connection:
            found = find_alerts(connection, "a.id = ?", [id], 1)
        return found[0] if found else None

    def acknowledge(self, id: str, who: str, note: str, at: int) -> None:
        """Record who acknowledged an alert; earlier acknowledgements are kept."""
        said = (to_bytes(who), at, to_bytes(note), id)
        with self._database.write("acknowledge an alert") as connection:
            connection.execute(
                "UPDATE alerts SET acknowledged_by = ?, acknowledged_at = ?, note = ? WHERE id = ?",
                said,
            )
            connection.execute(
                "INSERT INTO acknowledgements (who, at, note, alert) "
                "SELECT ?, ?, ?, id FROM alerts WHERE id = ?",
                said,
            )

    def acknowledgements(self, ids: Sequence[str]) -> dict[str, tuple[Acknowledgement, ...]]:
        """Return the acknowledgements of at most 500 alerts, newest first, by the alert's id."""
        found: dict[str, list[Acknowledgement]] = {id: [] for id in ids}
        with (
            self._database.read("read acknowledgements") as connection,
            decoding("an acknowledgement"),
        ):
            for id, who, at, note in connection.execute(
                "SELECT alert, who, at, note FROM acknowledgements WHERE alert IN "
                f"({', '.join('?' for _ in ids)}) ORDER BY id DESC",
                tuple(ids),
            ):
                one = Acknowledgement(by=from_bytes(who), at=int(at), note=from_bytes(note))
                found[id].append(one)
        return {id: tuple(said) for id, said in found.items()}

    def give_feedback(self, id: str, who: str) -> None:
        """Record who marked an alert as normal."""
        with self._database.write("keep feedback") as connection:
            connection.execute("UPDATE alerts SET feedback = ? WHERE id = ?", (to_bytes(who), id))

    # ------------------------------------------------------------------ incidents

    def incidents(
        self,
        *,
        open_only: bool = False,
        since: int | None = None,
        until: int | None = None,
        limit: int = 100,
        before_id: str | None = None,
    ) -> list[tuple[Incident, list[AlertRecord]]]:
        """Return at most ``limit`` incidents with their alerts, newest first; see :meth:`alerts`.

        Those that were merged into others are left out.
        """
        conditions = {
            '"end" >= ?': since,
            "start <= ?": until,
            "(start, id) < (SELECT b.start, b.id FROM incidents b WHERE b.id = ?)": before_id,
        }
        given = {part: value for part, value in conditions.items() if value is not None}
        where = " AND ".join(["is_open" if open_only else "1", "merged_into = ''", *given])
        with self._database.read("read incidents") as connection:
            newest = f"WHERE {where} ORDER BY start DESC, id DESC LIMIT ?"
            found = find_incidents(connection, newest, [*given.values(), limit])
            whole = [(one, alerts_of(connection, one.id)) for one in found]
        return [(one, alerts) for one, alerts in whole if alerts]

    def incident(self, id: str) -> tuple[Incident, list[AlertRecord]] | None:
        """Return the incident with an id, or the one that it was merged into; None without."""
        merged = "SELECT merged_into FROM incidents WHERE id = ?"
        which = f"WHERE merged_into = '' AND (id = ? OR id = ({merged}))"
        with self._database.read("read an incident") as connection:
            found = find_incidents(connection, which, [id, id])
            alerts = alerts_of(connection, found[0].id) if found else []
        return (found[0], alerts) if alerts else None

    def n_open_incidents(self) -> int:
        """Return the number of open incidents."""
        with self._database.read("count incidents") as connection:
            found = connection.execute("SELECT count(*) FROM incidents WHERE is_open")
            return int(found.fetchone()[0])

    # ------------------------------------------------------------------ inbox

    def put_inbox(self, watch: str, body: bytes) -> int:
        """Store a body pushed for a watch; return its number once it is on disk.

        Numbers grow and are never used again.
        """
        with self._database.write("keep what was pushed") as connection:
            number = connection.execute(
                "INSERT INTO inbox (watch, body) VALUES (?, ?)", (watch, body)
            ).lastrowid
        return int(number or 0)

    def inbox(self, watch: str, after: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield (number, body) for the watch's bodies with numbers above ``after``, in order."""
        while True:  # one at a time: bodies can be large
            with self._database.read("read the inbox") as connection:
                found = connection.execute(
                    "SELECT id, body FROM inbox WHERE watch = ? AND id > ? ORDER BY id LIMIT 1",
                    (watch, after),
                ).fetchone()
            if found is None:
                return
            after = int(found[0])
            yield after, bytes(found[1])

    def drop_inbox(self, watch: str, up_to: int) -> None:
        """Remove the bodies of a watch up to number ``up_to``, inclusive."""
        with self._database.write("empty the inbox") as connection:
            connection.execute("DELETE FROM inbox WHERE watch = ? AND id <= ?", (watch, up_to))

    def n_inbox(self, watch: str) -> int:
        """Return the number of waiting bodies of a watch."""
        with self._database.read("count the inbox") as connection:
            found = connection.execute("SELECT count(*) FROM inbox WHERE watch = ?", (watch,))
            return int(found.fetchone()[0])

    # ------------------------------------------------------------------ outbox

    def due(self, now: int, limit: int, receiver: Receiver | None = None) -> list[Message]:
        """Return at most ``limit`` messages that are due, oldest first.

        They are for one receiver, a kind and a name, or for all; so in :meth:`n_waiting`.
        """
        asked = {"now": now, "limit": limit, **_named(receiver)}
        with self._database.read("read the outbox") as connection, decoding("a message"):
            return [
                Message(
                    kind=kind,
                    to=from_bytes(receiver),
                    key=from_bytes(key),
                    content=json.loads(content),
                    about=from_bytes(about),
                    id=number,
                    created=created,
                )
                for number, kind, receiver, about, key, content, created in connection.execute(
                    _DUE, asked
                )
            ]

    def settle(self, id: int) -> None:
        """Record that a message was sent or given up.

        It stays without its content, so that its key is not accepted again.
        """
        with self._database.write("settle a message") as connection:
            connection.execute(
                "UPDATE outbox SET is_waiting = 0, content = NULL WHERE id = ?", (id,)
            )

    def put_off(self, id: int, until: int) -> None:
        """Record that a message could not be sent; it is due again at ``until``."""
        with self._database.write("put off a message") as connection:
            connection.execute("UPDATE outbox SET due = ? WHERE id = ?", (until, id))

    def n_waiting(self, receiver: Receiver | None = None) -> int:
        """Return the number of unsent messages."""
        count = f"SELECT count(*) FROM outbox WHERE {_WAITING}"
        with self._database.read("count the outbox") as connection:
            return int(connection.execute(count, _named(receiver)).fetchone()[0])


def _named(receiver: Receiver | None) -> dict[str, str | bytes | None]:
    """Return the parameters of a query for the messages to one receiver, or to all."""
    kind, name = receiver or (None, "")
    return {"kind": kind, "receiver": to_bytes(name)}
