"""FreshColumns: the columns of newcomers, and which of them make room for later ones.

In: names that the reference does not know, in the order of their rows. Out: the column of each.
Memory is bounded: once all columns are taken, a newcomer gets that of the one silent for longest.
"""

import numpy as np
from numpy.typing import NDArray

from smkc.errors import ModelFileError
from smkc.evidence.choices import Choices

# Most rows that a newcomer that stays is learned from: 5 days of minutes.
MAX_LEARNED_ROWS = 8_192

# Memory for all newcomers. One takes 8 bytes per remembered row, and 4 per row learned from.
MAX_BYTES = 1 << 23
MIN_COLUMNS = 64


class FreshColumns:
    """The columns of newcomers at one moment of a recording.

    Parameters
    ----------
    n_columns
        how many there may be.
    silent_rows
        rows after which a silent newcomer may lose its column.
    block
        rows per scored block. A newcomer loses its column only if it was silent before the block.

    Examples
    --------
    >>> fresh = FreshColumns(1, silent_rows=2, block=1)
    >>> [fresh.meet(name, row, 1) for name, row in [("a", 0), ("b", 1), ("b", 3)]]
    [False, False, True]
    >>> fresh.names
    ['b']
    """

    def __init__(self, n_columns: int, silent_rows: int, block: int) -> None:
        self.n_columns, self.silent_rows, self.block = n_columns, silent_rows, block
        self.names: list[str] = []  # by column
        self.column_of: dict[str, int] = {}
        self.seen: list[int] = []  # the latest row of each column's newcomer
        self._full_block = -1  # first row of a block in which no newcomer can make room

    @classmethod
    def of(cls, choices: Choices, n_rows: int) -> "FreshColumns":
        """Return as many columns as fit into memory, for a reference of ``n_rows`` rows."""
        of_each = 8 * choices.memory + 4 * min(n_rows, MAX_LEARNED_ROWS)
        n_columns = max(MIN_COLUMNS, MAX_BYTES // of_each)
        return cls(n_columns, choices.memory, choices.block)

    def meet(self, name: str, row: int, share: int = 1) -> bool:
        """Note a newcomer in a row; return whether it took over the column of another.

        With a larger ``share``, it may have a column although others find no room. Rows must
        ascend.
        """
        column = self.column_of.get(name)
        if column is not None:
            self.seen[column] = row
            return False
        if len(self.names) < share * self.n_columns:
            self.column_of[name] = len(self.names)
            self.names.append(name)
            self.seen.append(row)
            return False
        begin = row - row % self.block
        if begin == self._full_block:
            return False
        column = int(np.argmin(self.seen))  # silent for longest
        if self.seen[column] >= begin - self.silent_rows:
            self._full_block = begin
            return False
        del self.column_of[self.names[column]]
        self.names[column], self.column_of[name] = name, column
        self.seen[column] = row
        return True

    def note(self, name: str, row: int) -> None:
        """Note that a newcomer, if it has a column, was observed in a row."""
        if name in self.column_of:
            self.seen[self.column_of[name]] = row

    def to_arrays(self) -> dict[str, NDArray[np.int64]]:
        """Return the arrays that :meth:`restore` needs, besides the names."""
        return {"seen": np.array(self.seen, np.int64)}

    def restore(self, seen: NDArray[np.int64], names: list[str]) -> None:
        """Restore the names, and the latest row of each, by column."""
        if len(seen) != len(names):
            raise ModelFileError("the saved newcomers do not fit together; start the stream afresh")
        self.names = [str(name) for name in names]
        self.column_of = {name: at for at, name in enumerate(self.names)}
        self.seen = seen.tolist()
        self._full_block = -1
