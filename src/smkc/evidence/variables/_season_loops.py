"""Jitted loop for seasons: the median of each slot of a period.

In: rows of scaled values, NaN where not observed, and the slot of each. Out: an array filled in
place.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True)
def slot_medians(
    values: NDArray[np.float32],
    slots: NDArray[np.int64],
    n_slots: int,
    out: NDArray[np.float32],
) -> None:
    """Fill (K, C) with the median of each slot.

    A slot without observations gets the median of the whole column, or NaN if that is empty.
    ``slots`` (n,) is the slot of each of the (n, C) values' rows.
    """
    n, n_columns = values.shape
    first = np.zeros(n_slots + 1, np.int64)
    for i in range(n):
        first[slots[i] + 1] += 1
    for slot in range(n_slots):
        first[slot + 1] += first[slot]
    order = np.empty(n, np.int64)
    filled = first[:-1].copy()
    for i in range(n):
        order[filled[slots[i]]] = i
        filled[slots[i]] += 1
    seen = np.empty(n, np.float32)
    for j in range(n_columns):
        n_seen = 0
        for i in range(n):
            if not np.isnan(values[i, j]):
                seen[n_seen] = values[i, j]
                n_seen += 1
        middle = np.median(seen[:n_seen]) if n_seen > 0 else np.nan
        for slot in range(n_slots):
            n_seen = 0
            for at in range(first[slot], first[slot + 1]):
                value = values[order[at], j]
                if not np.isnan(value):
                    seen[n_seen] = value
                    n_seen += 1
            out[slot, j] = np.median(seen[:n_seen]) if n_seen > 0 else middle
