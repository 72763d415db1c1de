"""Jitted loops of the sketch: observations of a span of rows -> their states."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["PRESENCE_SLOPE", "Hashed", "fill_states", "number_columns"]

# Paper: A_PRES = 1 / ceil(0.3 * Cmax) with Cmax = 16.
PRESENCE_SLOPE = 0.2

# No state entry may grow beyond this, so that a squared distance over thousands of buckets stays
# finite in float32 (docs/decisions.md).
STATE_LIMIT = 1e16


class Hashed(NamedTuple):
    """Observations by row, with their variables' hashes and the sketch's settings."""

    indptr: NDArray[np.int64]
    codes: NDArray[np.int32]
    values: NDArray[np.float32]
    value_bucket: NDArray[np.int32]
    value_sign: NDArray[np.float64]
    presence_bucket: NDArray[np.int32]
    presence_sign: NDArray[np.float64]
    presence: bool
    saturate: bool
    normalise: bool


@njit(cache=True)
def number_columns(rows: Hashed, first: int, last: int, column_of: NDArray[np.int32]) -> int:
    """Give the buckets that occur in rows first to last columns, ascending; return how many.

    ``column_of`` (2m,) receives each occurring bucket's column, -1 elsewhere.
    """
    m = column_of.size // 2
    column_of[:] = -1
    for i in range(rows.indptr[first], rows.indptr[last]):
        j = rows.codes[i]
        column_of[rows.value_bucket[j]] = 0
        if rows.presence:
            column_of[m + rows.presence_bucket[j]] = 0
    n_columns = 0
    for bucket in range(2 * m):
        if column_of[bucket] == 0:
            column_of[bucket] = n_columns
            n_columns += 1
    return n_columns


@njit(cache=True)
def fill_states(
    rows: Hashed,
    first: int,
    last: int,
    column_of: NDArray[np.int32],
    states: NDArray[np.float32],
) -> None:
    """Fill ``states`` (n_columns, last - first), zero on entry, with g_t of each row t.

    Sums run in the order of the codes, which is the order of the names: the same bits whatever
    order the variables were handed in.
    """
    m = column_of.size // 2
    total = np.zeros(states.shape[0], np.float64)
    for t in range(first, last):
        begin, end = rows.indptr[t], rows.indptr[t + 1]
        n = end - begin
        if n == 0:
            continue
        scale = 1.0 / np.sqrt(n) if rows.normalise else 1.0
        weight = PRESENCE_SLOPE * n
        if rows.saturate and weight > 1.0:
            weight = 1.0
        for i in range(begin, end):
            j = rows.codes[i]
            total[column_of[rows.value_bucket[j]]] += rows.value_sign[j] * rows.values[i]
            if rows.presence:
                total[column_of[m + rows.presence_bucket[j]]] += rows.presence_sign[j] * weight
        for i in range(begin, end):
            j = rows.codes[i]
            column = column_of[rows.value_bucket[j]]
            states[column, t - first] = min(max(total[column] * scale, -STATE_LIMIT), STATE_LIMIT)
            if rows.presence:
                column = column_of[m + rows.presence_bucket[j]]
                states[column, t - first] = total[column] * scale
        for i in range(begin, end):
            j = rows.codes[i]
            total[column_of[rows.value_bucket[j]]] = 0.0
            if rows.presence:
                total[column_of[m + rows.presence_bucket[j]]] = 0.0
