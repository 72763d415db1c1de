"""Block: consecutive rows as dense arrays, one column per variable or role."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Nothing is beyond a bound: the user stated none.
NO_BOUNDS = np.zeros((0, 0), bool)
NO_ROWS = np.zeros((0, 0), np.float32)


class Block(NamedTuple):
    """Consecutive rows as dense arrays, NaN where not observed.

    Parameters
    ----------
    rows
        (n, C) scaled and clipped values of the variables that the reference knows, and of roles.
    fresh
        (n, F) scaled and clipped values of newcomers, variables that the reference does not know.
    values
        (n, A) columns that questions are asked of, not clipped: scaled values of known variables,
        then in their own unit the middle of each role's members, and the distance of one member
        from its peers. The scorer appends the distances of seasonal columns from their usual
        values.
    fresh_values, fresh_plain
        (n, F) values of newcomers, not clipped: scaled, and in their own unit.
    clocks
        (n,) times of the rows, in seconds for dates.
    beyond
        (n, V + F) whether each of the V variables that the reference knows, and each newcomer, is
        beyond a bound that the user stated; no columns if there are no bounds.
    renewed
        (n, F) whether another newcomer takes over a column in a row.
    adjusted
        (n, C) ``rows``, in which the distance from the usual value at the row's time replaces the
        value of seasonal variables; set by the scorer.
    """

    rows: NDArray[np.float32]
    fresh: NDArray[np.float32]
    values: NDArray[np.float32]
    fresh_values: NDArray[np.float32]
    fresh_plain: NDArray[np.float32]
    clocks: NDArray[np.float64]
    beyond: NDArray[np.bool_] = NO_BOUNDS
    renewed: NDArray[np.bool_] = NO_BOUNDS
    adjusted: NDArray[np.float32] = NO_ROWS

    def part(self, rows: slice) -> "Block":
        """Return some of the rows."""
        return Block(*(array[rows] for array in self))  # type: ignore[arg-type]


def renewed_columns(block: Block) -> NDArray[np.int64]:
    """Return the newcomers' columns that another newcomer takes over in a block.

    The one before was silent for so long that no row remembered has it.
    """
    return np.flatnonzero(block.renewed.any(axis=0))
