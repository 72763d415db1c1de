"""Names table: variables of a lane <-> small integer codes, cached only while they are in use.

In: the names of a row. Out: their codes; a name keeps its code as long as it is in the file.

Names are looked up one by one: without table statistics, SQLite assumes that a lane has few names
and answers a query for many names by scanning them all.

The table holds the last row of each name, so that retention can remove old names. To avoid one
write per name and row, it is updated only every ``TOUCH_ROWS`` rows: the true last row is less than
``TOUCH_ROWS`` after the stored one.
"""

import sqlite3
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from smkc.serve.store.database import StoreError, decoding
from smkc.serve.store.packing import from_bytes, to_bytes

TOUCH_ROWS = 256
MOST_NAMES = 2**31 - 1  # codes are 32-bit

# A cached entry is one integer: the code in the upper 32 bits, the stored last row in the lower.
_HALF = 32
_LOWER = 2**_HALF - 1


class NameBook:
    """Codes of one lane's names; used only by the writer.

    Once the cache holds more than 2 n + 1024 names, for a row of n names, all others are dropped.
    So memory depends on the size of the rows, not on the number of names ever seen.
    """

    def __init__(self, lane: int) -> None:
        self._lane = lane
        self.forget()

    def forget(self) -> None:
        """Clear the cache, after a rollback or after names were removed."""
        self._cached: dict[str, int] = {}
        self._last_names: tuple[str, ...] = ()
        self._last_entries: NDArray[np.int64] = np.empty(0, np.int64)
        self._next_code: int | None = None

    def codes(
        self, connection: sqlite3.Connection, names: tuple[str, ...], row: int
    ) -> NDArray[np.int32]:
        """Return the (n,) codes of a row's names, new ones for new names."""
        if names is self._last_names or names == self._last_names:
            entries = self._last_entries
        else:
            entries = self._entries(connection, names, row)
        codes, written = entries >> _HALF, entries & _LOWER
        # Spread the updates by code: otherwise all names would be due at the same row.
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
                self._cached[names[at]] = entry
        self._last_names, self._last_entries = names, entries
        return codes.astype(np.int32)

    def _entries(
        self, connection: sqlite3.Connection, names: tuple[str, ...], row: int
    ) -> NDArray[np.int64]:
        if len(set(names)) < len(names):
            raise StoreError(f"row {row} has a name twice among {len(names)}; give each name once")
        if len(self._cached) > 2 * len(names) + 1024:
            self._cached = {name: self._cached[name] for name in names if name in self._cached}
        missing = [name for name in names if name not in self._cached]
        if missing:
            self._find(connection, missing)
            self._add(connection, [name for name in missing if name not in self._cached], row)
        return np.fromiter((self._cached[name] for name in names), np.int64, len(names))

    def _find(self, connection: sqlite3.Connection, names: list[str]) -> None:
        for name in names:
            found = connection.execute(
                "SELECT code, last_row FROM names WHERE lane = ? AND name = ?",
                (self._lane, to_bytes(name)),
            ).fetchone()
            if found is not None:
                with decoding("a name"):
                    self._cached[name] = (found[0] << _HALF) | found[1]

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
            self._cached[name] = (code << _HALF) | row
        self._next_code = codes.stop


def codes_of(connection: sqlite3.Connection, lane: int, names: Iterable[str]) -> dict[str, int]:
    """Return the codes of some names of a lane; unknown names are left out."""
    codes: dict[str, int] = {}
    for name in names:
        found = connection.execute(
            "SELECT code FROM names WHERE lane = ? AND name = ?", (lane, to_bytes(name))
        ).fetchone()
        if found is not None:
            codes[name] = int(found[0])
    return codes


def names_of(connection: sqlite3.Connection, lane: int, codes: Iterable[int]) -> dict[int, str]:
    """Return the names of some codes of a lane; unknown codes are left out."""
    names: dict[int, str] = {}
    for code in codes:
        found = connection.execute(
            "SELECT name FROM names WHERE lane = ? AND code = ?", (lane, code)
        ).fetchone()
        if found is not None:
            with decoding("a name"):
                names[code] = from_bytes(found[0])
    return names
