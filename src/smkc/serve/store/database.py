"""Database: one writer at a time and any number of readers on one SQLite file.

In: the path of a file with smkc's tables. Out: atomic transactions.

SQLite's write-ahead log lets readers continue while a row is written; ``synchronous = FULL`` makes
a commit wait until the log is on disk, so that committed data survives a power cut.
"""

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from smkc.serve.store.errors import StoreError, explained

BUSY_SECONDS = 10.0
MOST_IDLE_READERS = 4
# SQLite truncates the write-ahead log to this length after a checkpoint.
LOG_BYTES = 64 * 1024 * 1024


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
