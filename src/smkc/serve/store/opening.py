"""Opening: locks the folder, checks its database file and sets a damaged file aside.

In: a folder. Out: a lock that is held as long as the process runs, and a usable database.
"""

import contextlib
import os
import sqlite3
from pathlib import Path

from smkc.serve.store import schema
from smkc.serve.store.database import BUSY_SECONDS, Database
from smkc.serve.store.errors import BUSY, NOTADB, StoreError, explained

FILE = "history.sqlite"
LOCK_FILE = "history.lock"
BESIDE = ("", "-wal", "-shm")  # suffixes: the file, SQLite's write-ahead log, and the log's index
LOCK_SECONDS = 0.5
BEGINNING = b"SQLite format 3\0"


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
            schema.require_ours(connection, path)
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
            schema.create(connection)
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
