"""Database: one writer at a time and any number of readers on one SQLite file.

In: the path of a file with our tables. Out: transactions that happen whole or not at all.

SQLite's write-ahead log lets readers go on while a row is written; ``synchronous = FULL`` makes a
commit wait until the log is on the disk, so that what was acknowledged outlasts a power cut.
"""

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from smkc.serve.store.errors import StoreError, explained

__all__ = ["Database", "connect"]

BUSY_SECONDS = 10.0
MOST_IDLE_READERS = 4
# The log is cut back to this length once its content is in the file.
LOG_BYTES = 64 * 1024 * 1024


def connect(path: Path) -> sqlite3.Connection:
    """Open a connection that any thread may use, one at a time; transactions are begun by hand."""
    connection = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
        # Some builds overwrite what is removed with zeros: twice the writing for nothing secret.
        connection.execute("PRAGMA secure_delete = OFF")
    except BaseException:
        connection.close()
        raise
    return connection


class Database:
    """Hands out transactions on one file.

    Parameters
    ----------
    path
        a file that :func:`smkc.serve.store.opening.open_database` found to be whole.
    """

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
        """Lend the writer for one transaction: kept if the block ends well, else undone."""
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
        """Lend the writer outside a transaction, for what SQLite does in none."""
        with self._writing:
            self._require_open(doing)
            with explained(self.path, doing):
                yield self._writer

    @contextmanager
    def read(self, doing: str) -> Iterator[sqlite3.Connection]:
        """Lend a reader: all that the block reads is of one moment."""
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
        """Close all connections; those that are lent are closed when they come back."""
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
