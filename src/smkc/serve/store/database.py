"""Database: one writer at a time and any number of readers on one SQLite file.

In: the path of a file with smkc's tables. Out: atomic transactions; an error is a
:class:`StoreError` that names the file and the remedy: free space, a new file or another folder.

SQLite's write-ahead log lets readers continue while a row is written; ``synchronous = FULL`` makes
a commit wait until the log is on disk, so that committed data survives a power cut.
"""

import contextlib
import shutil
import sqlite3
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from smkc.errors import SmkcError

BUSY_SECONDS = 10.0
MOST_IDLE_READERS = 4
# SQLite truncates the write-ahead log to this length after a checkpoint.
LOG_BYTES = 64 * 1024 * 1024

# SQLite's primary result codes; the lowest byte of an extended code is its primary code.
BUSY, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB = 5, 8, 10, 11, 13, 14, 26
# Extended codes for a violated primary key or unique constraint. Unique content is looked up before
# it is written, so only a damaged file can raise these.
TWICE = (1555, 2067)

# With less free space than this, an I/O error is reported as a full disk: SQLite raises IOERR, not
# FULL, if its shared-memory file cannot grow.
LITTLE_ROOM_BYTES = 1024 * 1024


class StoreError(SmkcError):
    """An operation of the store failed; if ``is_damaged``, because the file's content is."""

    def __init__(self, message: str, *, is_damaged: bool = False) -> None:
        super().__init__(message)
        self.is_damaged = is_damaged


@contextmanager
def explained(path: Path, doing: str) -> Iterator[None]:
    """Turn SQLite errors in a block into a StoreError; ``doing`` completes "cannot ..."."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explained(path, doing, error) from error
    except UnicodeDecodeError as error:  # SQLite's error message quotes text of a damaged file
        raise _damaged(f"{path}: cannot {doing} (its tables are not text)") from error


@contextmanager
def decoding(what: str) -> Iterator[None]:
    """Turn errors while decoding ``what`` was stored into a :class:`StoreError`."""
    try:
        yield
    except (ValueError, TypeError, LookupError, OverflowError, zlib.error) as error:
        raise StoreError(
            f"the history is damaged: {what} cannot be read ({type(error).__name__}: {error}); "
            "set it aside and start anew",
            is_damaged=True,
        ) from error


def connect(path: Path) -> sqlite3.Connection:
    """Open a connection that any thread may use, one at a time; transactions are explicit."""
    connection = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
        # Some builds overwrite deleted content with zeros, which doubles the writes; none of this
        # content is secret.
        connection.execute("PRAGMA secure_delete = OFF")
    except BaseException:
        connection.close()
        raise
    return connection


class Database:
    """Transactions on one SQLite file, which ``open_database`` has checked."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writing = threading.RLock()
        self._lending = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._is_closed = False
        with explained(path, "open it"):
            self._writer = connect(path)

    @contextmanager
    def write(self, doing: str) -> Iterator[sqlite3.Connection]:
        """Run a block as one write transaction, rolled back if the block raises.

        ``doing`` completes "cannot ..." in error messages, here and in the other methods.
        """
        with self._writing:
            self._require_open(doing)
            with explained(self.path, doing):
                connection = self._writer
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        with contextlib.suppress(sqlite3.Error):
                            connection.execute("ROLLBACK")
                    raise

    @contextmanager
    def alone(self, doing: str) -> Iterator[sqlite3.Connection]:
        """Run a block with the write connection, but outside a transaction.

        Some statements of SQLite, such as incremental_vacuum, need this.
        """
        with self._writing:
            self._require_open(doing)
            with explained(self.path, doing):
                yield self._writer

    @contextmanager
    def read(self, doing: str) -> Iterator[sqlite3.Connection]:
        """Run a block as one read transaction: all its reads see the same state."""
        with explained(self.path, doing):
            connection = self._borrow(doing)
            is_well = False
            try:
                connection.execute("BEGIN")
                yield connection
                connection.execute("COMMIT")
                is_well = True
            finally:
                self._give_back(connection, is_well)

    def close(self) -> None:
        """Close all connections; those in use are closed when their block ends."""
        with self._writing, self._lending:
            self._is_closed = True
            for connection in self._idle:
                connection.close()
            self._idle.clear()
            with explained(self.path, "close it"):
                self._writer.close()

    def _borrow(self, doing: str) -> sqlite3.Connection:
        with self._lending:
            self._require_open(doing)
            if self._idle:
                return self._idle.pop()
        connection = connect(self.path)
        connection.execute("PRAGMA query_only = ON")
        return connection

    def _give_back(self, connection: sqlite3.Connection, is_well: bool) -> None:
        with self._lending:
            if is_well and not self._is_closed and len(self._idle) < MOST_IDLE_READERS:
                self._idle.append(connection)
                return
        connection.close()

    def _require_open(self, doing: str) -> None:
        if self._is_closed:
            raise StoreError(f"{self.path}: cannot {doing}: the store is closed; open it again")


def _explained(path: Path, doing: str, error: sqlite3.Error) -> StoreError:
    extended = getattr(error, "sqlite_errorcode", 0)
    code = extended & 0xFF
    said = f"{path}: cannot {doing} ({error})"
    if code == FULL or (code in (IOERR, CANTOPEN) and _has_little_room(path)):
        return StoreError(f"{said}; make room on the disk: it goes on by itself")
    is_senseless = extended in TWICE or "Could not decode to UTF-8" in str(error)
    if code in (CORRUPT, NOTADB) or is_senseless:
        return _damaged(said)
    if code == BUSY:
        return StoreError(f"{said}; stop whatever else has the file open")
    if code in (READONLY, CANTOPEN):
        return StoreError(f"{said}; give a folder that exists and may be written to")
    if isinstance(error, sqlite3.ProgrammingError):
        return StoreError(f"{said}; open the store first")
    return StoreError(f"{said}; look at the disk and at the system's log")


def _damaged(said: str) -> StoreError:
    return StoreError(
        f"{said}; the file is damaged: it is set aside at the next start", is_damaged=True
    )


def _has_little_room(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < LITTLE_ROOM_BYTES
    except OSError:
        return False
