"""What can go wrong with the store, told apart by what helps: room, repair, or another folder.

In: an error of SQLite. Out: a :class:`StoreError` that names the file and the remedy.
"""

import shutil
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from smkc.errors import SmkcError

__all__ = ["StoreError", "decoding", "explained"]

# SQLite's primary result codes; an extended code holds its primary one in the lowest byte.
BUSY, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB = 5, 8, 10, 11, 13, 14, 26
# What must be unique is looked for before it is written: only a damaged file has it nevertheless.
TWICE = (1555, 2067)

# With less room than this, an input or output error is blamed on the full disk: SQLite reports a
# shared-memory file that cannot grow in that way, not as a full disk.
LITTLE_ROOM_BYTES = 1024 * 1024


class StoreError(SmkcError):
    """The store cannot do what it was asked to.

    Parameters
    ----------
    message
        what, where, and the remedy.
    is_full
        whether the disk is full: nothing was written, and the same works once there is room.
    is_damaged
        whether the file does not hold what was written to it.
    """

    def __init__(self, message: str, *, is_full: bool = False, is_damaged: bool = False) -> None:
        super().__init__(message)
        self.is_full = is_full
        self.is_damaged = is_damaged


@contextmanager
def explained(path: Path, doing: str) -> Iterator[None]:
    """Turn errors of SQLite into a :class:`StoreError` about a file.

    Parameters
    ----------
    path
        the file.
    doing
        what was tried, to go on from "cannot": ``"keep a row"``.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise _explained(path, doing, error) from error
    except UnicodeDecodeError as error:  # SQLite's own message holds text of a damaged file
        raise _damaged(f"{path}: cannot {doing} (its tables are no text)") from error


@contextmanager
def decoding(what: str) -> Iterator[None]:
    """Turn errors met while something read is made sense of into a :class:`StoreError`.

    Parameters
    ----------
    what
        the thing that was read: ``"row 7"``.
    """
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
        return StoreError(f"{said}; make room on the disk: it goes on by itself", is_full=True)
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
