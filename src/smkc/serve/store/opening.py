"""Opening: locks the folder, checks its database file and sets a damaged file aside.

In: a folder. Out: a lock that is held as long as the process runs, and a database with smkc's
tables.
"""

import contextlib
import os
import sqlite3
from pathlib import Path

from smkc.serve.store.database import BUSY, BUSY_SECONDS, NOTADB, Database, StoreError, explained

FILE = "history.sqlite"
LOCK_FILE = "history.lock"
BESIDE = ("", "-wal", "-shm")  # suffixes: the file, SQLite's write-ahead log, and the log's index
LOCK_SECONDS = 0.5
BEGINNING = b"SQLite format 3\0"

APPLICATION = 0x736D6B63  # "smkc" in ASCII, stored as SQLite's application_id

# Text from outside (names, entities, notes) is stored as bytes: a Python str may contain lone
# surrogates, which SQLite's TEXT cannot.
#
# rows.id is lane * 2**40 + number: the rows of a lane are adjacent and need no index by number.
_TABLES = """
CREATE TABLE about (version INTEGER NOT NULL);
CREATE TABLE lanes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, watch TEXT NOT NULL, entity BLOB NOT NULL,
    n_rows INTEGER NOT NULL, last_time INTEGER, needed_row INTEGER, UNIQUE (watch, entity));
CREATE TABLE names (
    lane INTEGER NOT NULL, code INTEGER NOT NULL, name BLOB NOT NULL, last_row INTEGER NOT NULL,
    PRIMARY KEY (lane, code)) WITHOUT ROWID;
CREATE UNIQUE INDEX names_by_name ON names (lane, name);
CREATE TABLE rows (
    id INTEGER PRIMARY KEY, lane INTEGER NOT NULL, time INTEGER NOT NULL, n INTEGER NOT NULL,
    content BLOB NOT NULL);
CREATE UNIQUE INDEX rows_by_time ON rows (lane, time);
CREATE TABLE scores (
    lane INTEGER NOT NULL, time INTEGER NOT NULL, number INTEGER NOT NULL, score REAL,
    p_value REAL, anomaly REAL, cardinality INTEGER NOT NULL, appeared INTEGER NOT NULL,
    vanished INTEGER NOT NULL, evidences BLOB NOT NULL, PRIMARY KEY (lane, time)) WITHOUT ROWID;
CREATE TABLE evidences (code INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE);
CREATE TABLE alerts (
    id TEXT PRIMARY KEY, lane INTEGER NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL,
    is_open INTEGER NOT NULL, content TEXT NOT NULL, acknowledged_by BLOB, acknowledged_at INTEGER,
    note BLOB, feedback BLOB) WITHOUT ROWID;
CREATE INDEX alerts_by_start ON alerts (start, id);
CREATE INDEX alerts_by_lane ON alerts (lane, start);
CREATE TABLE events (
    lane INTEGER NOT NULL, number INTEGER NOT NULL, at_row INTEGER NOT NULL, kind TEXT NOT NULL,
    content TEXT NOT NULL, PRIMARY KEY (lane, number)) WITHOUT ROWID;
CREATE TABLE inbox (id INTEGER PRIMARY KEY AUTOINCREMENT, watch TEXT NOT NULL, body BLOB NOT NULL);
CREATE INDEX inbox_by_watch ON inbox (watch, id);
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, receiver BLOB NOT NULL,
    about BLOB NOT NULL, key BLOB NOT NULL UNIQUE, content TEXT, created INTEGER NOT NULL,
    due INTEGER NOT NULL, is_waiting INTEGER NOT NULL);
CREATE INDEX outbox_waiting ON outbox (is_waiting, due, id);
CREATE INDEX outbox_by_subject ON outbox (about, receiver, id) WHERE is_waiting = 1;
CREATE INDEX outbox_by_age ON outbox (created);
"""
_SPANS = """
CREATE TABLE spans (
    id INTEGER PRIMARY KEY AUTOINCREMENT, watch TEXT NOT NULL, entity BLOB, kind TEXT NOT NULL,
    start INTEGER NOT NULL, "end" INTEGER, who BLOB NOT NULL, note BLOB NOT NULL);
CREATE INDEX spans_by_watch ON spans (watch, start);
CREATE TABLE acknowledgements (
    id INTEGER PRIMARY KEY AUTOINCREMENT, alert TEXT NOT NULL, who BLOB NOT NULL,
    at INTEGER NOT NULL, note BLOB NOT NULL);
CREATE INDEX acknowledgements_by_alert ON acknowledgements (alert, id);
CREATE TRIGGER acknowledgements_go AFTER DELETE ON alerts
    BEGIN DELETE FROM acknowledgements WHERE alert = OLD.id; END;
INSERT INTO acknowledgements (alert, who, at, note) SELECT id, acknowledged_by, acknowledged_at,
    note FROM alerts WHERE acknowledged_by IS NOT NULL ORDER BY acknowledged_at, id;
"""
_INCIDENTS = """
CREATE TABLE incidents (
    id TEXT PRIMARY KEY, start INTEGER NOT NULL, "end" INTEGER NOT NULL, names TEXT NOT NULL,
    severity TEXT NOT NULL, is_open INTEGER NOT NULL, merged_into TEXT NOT NULL);
CREATE INDEX incidents_by_start ON incidents (start, id);
CREATE INDEX incidents_by_end ON incidents ("end");
CREATE INDEX incidents_open ON incidents (start, id) WHERE is_open;
ALTER TABLE alerts ADD COLUMN incident TEXT;
CREATE INDEX alerts_by_incident ON alerts (incident, start);
"""

# What each version added, the first one first. A file of an earlier version is brought up to date
# by what it lacks, so these are never edited: a change of the tables is appended.
_VERSIONS = (_TABLES, _SPANS, _INCIDENTS)
VERSION = len(_VERSIONS)


class FolderLock:
    """A lock that keeps other processes out of a folder until it is released or the process ends.

    It is SQLite's exclusive lock on an empty file: the operating system releases it when the
    process ends, however that happens, and a child process does not inherit it.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / LOCK_FILE
        with explained(path, "lock the folder"):
            self._connection = sqlite3.connect(
                path, timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                self._take(path)
            except sqlite3.Error as error:
                self._connection.close()
                if getattr(error, "sqlite_errorcode", 0) & 0xFF == BUSY:
                    raise StoreError(
                        f"{folder} is in use by another process; stop that one, or give this one "
                        "a folder of its own"
                    ) from None
                raise

    def _take(self, path: Path) -> None:
        try:
            self._begin()
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF != NOTADB:
                raise
            os.truncate(path, 0)  # the lock file is always empty: smkc did not write this content
            self._begin()

    def _begin(self) -> None:
        self._connection.execute("PRAGMA journal_mode = MEMORY")  # no writes: no journal file
        self._connection.execute("BEGIN EXCLUSIVE")

    def release(self) -> None:
        """Release the lock."""
        self._connection.close()


def open_database(folder: Path) -> tuple[Database, list[Path]]:
    """Open the database file of a locked folder; create it if it does not exist.

    Also return the new names of damaged files that were set aside.
    """
    path = folder / FILE
    set_aside: list[Path] = []
    has_file = os.path.lexists(path)
    is_stray = not has_file and any(os.path.lexists(f"{path}{end}") for end in BESIDE)
    if is_stray:
        # SQLite would apply a log without its file to the next file of that name.
        set_aside.append(_put_aside(path))
    elif has_file:
        try:
            _require_whole(path)
        except StoreError as error:
            if not error.is_damaged:
                raise
            set_aside.append(_put_aside(path))
    if not os.path.lexists(path):
        _make(path)
    return Database(path), set_aside


def _require_whole(path: Path) -> None:
    try:
        with open(path, "rb") as file:
            if file.read(len(BEGINNING)) != BEGINNING:  # SQLite would overwrite a short file
                raise StoreError(f"{path} is damaged: it is not an SQLite file", is_damaged=True)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be read ({error.strerror or error}); give a folder whose files may be "
            "read and written"
        ) from error
    with explained(path, "open it"):
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            version = _require_ours(connection, path)
            # quick_check does not verify indexes; that of the lanes is small and essential.
            for check in ("quick_check(1)", "integrity_check(lanes)"):
                found = connection.execute(f"PRAGMA {check}").fetchone()[0]
                if found != "ok":
                    raise StoreError(f"{path} is damaged: {found}", is_damaged=True)
            astray = connection.execute(
                "SELECT count(*) FROM lanes l WHERE l.n_rows != coalesce((SELECT max(r.id) + 1 "
                "FROM rows r WHERE r.id >= l.id << 40 AND r.id < (l.id + 1) << 40) "
                "- (l.id << 40), l.n_rows)"
            ).fetchone()[0]
            if astray:
                raise StoreError(
                    f"{path} is damaged: {astray} lanes have lost rows", is_damaged=True
                )
            if version < VERSION:
                _bring_up_to_date(connection, version)
        finally:
            connection.close()


def _put_aside(path: Path) -> Path:
    """Rename the file with its log and index; return the file's new name."""
    number = 1
    while any(os.path.lexists(f"{path}.damaged-{number}{end}") for end in BESIDE):
        number += 1
    aside = Path(f"{path}.damaged-{number}")
    try:
        for end in BESIDE:
            with contextlib.suppress(FileNotFoundError):
                os.rename(f"{path}{end}", f"{aside}{end}")
    except OSError as error:
        raise StoreError(
            f"{path} is damaged and cannot be set aside ({error.strerror or error}); move it away"
        ) from error
    return aside


def _make(path: Path) -> None:
    """Create the file under a temporary name and rename it once it is complete."""
    new = Path(f"{path}.new")
    with explained(path, "make it"):
        for end in (*BESIDE, "-journal"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{new}{end}")
        connection = sqlite3.connect(new, isolation_level=None)
        try:
            _create(connection)
        finally:
            connection.close()
    os.chmod(new, 0o600)
    os.replace(new, path)
    if os.name == "posix":  # make the rename itself survive a power cut
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _create(connection: sqlite3.Connection, version: int = VERSION) -> None:
    """Create the tables of a version in an empty file, in one transaction."""
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # must come before the first table
    connection.executescript(
        f"BEGIN; {''.join(_VERSIONS[:version])} INSERT INTO about VALUES ({version}); "
        f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {version}; COMMIT"
    )


def _bring_up_to_date(connection: sqlite3.Connection, version: int) -> None:
    """Add to a file what versions after its own added, in one transaction."""
    connection.executescript(
        f"BEGIN IMMEDIATE; {''.join(_VERSIONS[version:])} UPDATE about SET version = {VERSION}; "
        f"PRAGMA user_version = {VERSION}; COMMIT"
    )


def _require_ours(connection: sqlite3.Connection, path: object) -> int:
    """Return the version of a file; raise StoreError unless its tables are those of smkc in it."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = _described(connection)
    noted = None
    if any(name == "about" for name, _ in tables):
        noted = connection.execute("SELECT max(version) FROM about").fetchone()[0]
    if application != APPLICATION or version != noted or version < 1:
        raise StoreError(f"{path} is not a store of smkc, or is damaged", is_damaged=True)
    if version > VERSION:
        raise StoreError(
            f"{path} was written by a newer smkc (its version is {version}, this one reads up to "
            f"{VERSION}); upgrade smkc, or give another folder"
        )
    if tables != _expected(version):
        raise StoreError(f"{path} is damaged: its tables are not those of smkc", is_damaged=True)
    return int(version)


def _described(connection: sqlite3.Connection) -> list[tuple[str, str | None]]:
    found: list[tuple[str, str | None]] = connection.execute(
        "SELECT name, sql FROM sqlite_schema ORDER BY name"
    ).fetchall()
    return [(name, sql) for name, sql in found if not str(name).startswith("sqlite_stat")]


def _expected(version: int) -> list[tuple[str, str | None]]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        _create(connection, version)
        return _described(connection)
    finally:
        connection.close()
