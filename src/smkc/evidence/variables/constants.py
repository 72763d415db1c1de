"""Constants: columns that never changed in the reference, and how surprising it is if one moves.

In: reference values. Out: which columns are constant, and one surprise for all of them.
"""

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.variables.questions import QUESTIONS

__all__ = ["constants", "surprise_of_constants"]

# Constants are judged by how many constants of this first share of the reference moved later.
CONSTANT_SHARE = 0.6


def constants(values: NDArray[np.float32]) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
    """(C,) which columns of (n, C) values never changed, and their values."""
    is_seen = ~np.isnan(values)
    low = np.where(is_seen, values, np.inf).min(axis=0, initial=np.inf)
    high = np.where(is_seen, values, -np.inf).max(axis=0, initial=-np.inf)
    return low == high, np.where(low == high, low, 0.0).astype(np.float32)


def surprise_of_constants(values: NDArray[np.float32]) -> float:
    """Return the surprise when any constant moves in a row.

    Of the columns that were constant in the first part of the reference, some moved later; one
    more is counted, so that a short reference does not claim that constants never move. Of all
    questions, constants are asked one.
    """
    cut = int(CONSTANT_SHARE * len(values))
    is_constant, constant = constants(values[:cut])
    later = values[cut:, is_constant]
    has_moved = (~np.isnan(later) & (later != constant[is_constant])).any(axis=0)
    n_moves = len(QUESTIONS) * (int(has_moved.sum()) + 1.0)
    return float(np.log(max(len(later) / n_moves, 1.0)))
