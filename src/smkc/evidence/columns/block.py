"""Block: consecutive rows as dense arrays, one column per variable or role."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Nothing is beyond a bound: the user stated none.
NO_BOUNDS = np.zeros((0, 0), bool)


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
        from its peers.
    fresh_values
        (n, F) scaled values of newcomers, not clipped; NaN for members of roles.
    clocks
        (n,) times of the rows, in seconds for dates.
    beyond
        (n, V + F) whether each of the V variables that the reference knows, and each newcomer, is
        beyond a bound that the user stated; no columns if there are no bounds.
    """

    rows: NDArray[np.float32]
    fresh: NDArray[np.float32]
    values: NDArray[np.float32]
    fresh_values: NDArray[np.float32]
    clocks: NDArray[np.float64]
    beyond: NDArray[np.bool_] = NO_BOUNDS

    def part(self, rows: slice) -> "Block":
        """Return some of the rows."""
        return Block(*(array[rows] for array in self))  # type: ignore[arg-type]
