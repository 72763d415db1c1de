"""Names: variables of a lane <-> small numbers, in memory only as long as they are about.

In: the names of a row. Out: their codes, the same for a name as long as the file knows it.

Names are looked up one by one: without statistics of its own, SQLite takes a lane for short and
answers a question for many names by going through all of them.

A name's last row is written down only every so often, since a row would else cost a write for each
of its names: the last row that has the name is less than ``TOUCH_ROWS`` after what is written.
"""

import sqlite3
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from smkc.serve.store.errors import StoreError, decoding
from smkc.serve.store.packing import from_bytes, to_bytes

__all__ = ["TOUCH_ROWS", "NameBook", "codes_of", "names_of"]

TOUCH_ROWS = 256
MOST_NAMES = 2**31 - 1  # codes are 32-bit

# A name's entry is one number: its code in the upper half, the last row written down in the lower.
_HALF = 32
_LOWER = 2**_HALF - 1


class NameBook:
    """Codes of one lane's names; used by the writer alone.

    Parameters
    ----------
    lane
        id of the lane.

    Notes
    -----
    Two generations of names are in memory. One that is asked for is moved to the younger; when that
    has grown past twice a row and some, the elder is dropped and the younger takes its place. So
    memory follows the rows, not all names ever seen.
    """

    def __init__(self, lane: int) -> None:
        self._lane = lane
        self.forget()

    def forget(self) -> None:
        """Drop what is in memory: after a transaction was undone, or names were removed."""
        self._young: dict[str, int] = {}
        self._old: dict[str, int] = {}
        self._last_names: tuple[str, ...] = ()
        self._last_entries: NDArray[np.int64] = np.empty(0, np.int64)
        self._next_code: int | None = None

    @property
    def n_in_memory(self) -> int:
        """How many names are in memory now."""
        return len(self._young) + len(self._old)

    def codes(
        self, connection: sqlite3.Connection, names: tuple[str, ...], row: int
    ) -> NDArray[np.int32]:
        """Return the (n,) codes of a row's names, new ones for new names."""
        if names is self._last_names or names == self._last_names:
            entries = self._last_entries
        else:
            entries = self._entries(connection, names, row)
        codes, written = entries >> _HALF, entries & _LOWER
        # All names would come due at one row; by code, each row takes its share of them.
        is_turn = ((codes + row) % TOUCH_ROWS == 0) & (written != row)
        due = np.flatnonzero(is_turn | (row - written >= TOUCH_ROWS))
        if len(due):
            connection.executemany(
                "UPDATE names SET last_row = ? WHERE lane = ? AND code = ?",
                [(row, self._lane, code) for code in codes[due].tolist()],
            )
            entries = entries.copy()
            entries[due] = (codes[due] << _HALF) | row
            for at, entry in zip(due.tolist(), entries[due].tolist(), strict=True):
                self._young[names[at]] = entry
        self._last_names, self._last_entries = names, entries
        return codes.astype(np.int32)

    def _entries(
        self, connection: sqlite3.Connection, names: tuple[str, ...], row: int
    ) -> NDArray[np.int64]:
        if len(set(names)) < len(names):
            raise StoreError(f"row {row} has a name twice among {len(names)}; give each name once")
        if len(self._young) > 2 * len(names) + 1024:
            self._old, self._young = self._young, {}
        missing = []
        for name in names:
            if name not in self._young:
                entry = self._old.get(name)
                if entry is None:
                    missing.append(name)
                else:
                    self._young[name] = entry
        if missing:
            self._find(connection, missing)
            self._add(connection, [name for name in missing if name not in self._young], row)
        return np.fromiter((self._young[name] for name in names), np.int64, len(names))

    def _find(self, connection: sqlite3.Connection, names: list[str]) -> None:
        for name in names:
            found = connection.execute(
                "SELECT code, last_row FROM names WHERE lane = ? AND name = ?",
                (self._lane, to_bytes(name)),
            ).fetchone()
            if found is not None:
                with decoding("a name"):
                    self._young[name] = (found[0] << _HALF) | found[1]

    def _add(self, connection: sqlite3.Connection, names: list[str], row: int) -> None:
        if self._next_code is None:
            highest = connection.execute(
                "SELECT max(code) FROM names WHERE lane = ?", (self._lane,)
            ).fetchone()[0]
            self._next_code = 0 if highest is None else highest + 1
        if self._next_code + len(names) > MOST_NAMES:
            raise StoreError(
                f"lane {self._lane} has had more than {MOST_NAMES} names; keep rows for a shorter "
                "time, or start with a new folder"
            )
        codes = range(self._next_code, self._next_code + len(names))
        connection.executemany(
            "INSERT INTO names (lane, code, name, last_row) VALUES (?, ?, ?, ?)",
            [
                (self._lane, code, to_bytes(name), row)
                for code, name in zip(codes, names, strict=True)
            ],
        )
        for code, name in zip(codes, names, strict=True):
            self._young[name] = (code << _HALF) | row
        self._next_code = codes.stop


def codes_of(connection: sqlite3.Connection, lane: int, names: Iterable[str]) -> dict[str, int]:
    """Return the codes of some names of a lane; names that are not known are left out."""
    codes: dict[str, int] = {}
    for name in names:
        found = connection.execute(
            "SELECT code FROM names WHERE lane = ? AND name = ?", (lane, to_bytes(name))
        ).fetchone()
        if found is not None:
            codes[name] = int(found[0])
    return codes


def names_of(connection: sqlite3.Connection, lane: int, codes: Iterable[int]) -> dict[int, str]:
    """Return the names of some codes of a lane; codes that are not known are left out."""
    names: dict[int, str] = {}
    for code in codes:
        found = connection.execute(
            "SELECT name FROM names WHERE lane = ? AND code = ?", (lane, code)
        ).fetchone()
        if found is not None:
            with decoding("a name"):
                names[code] = from_bytes(found[0])
    return names
