"""Errors of the store, distinguished by their remedy: free space, a new file or another folder.

In: an SQLite error. Out: a :class:`StoreError` that names the file and the remedy.
"""

import shutil
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from smkc.errors import SmkcError

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
