"""Jitted loops of the sketch: observations of a span of rows -> their states."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

# Paper: A_PRES = 1 / ceil(0.3 * Cmax) with Cmax = 16.
PRESENCE_SLOPE = 0.2

# Largest absolute value of a state entry, so that a squared distance over thousands of buckets
# stays finite in float32 (docs/decisions.md).
STATE_LIMIT = np.float32(1e16)

# Power of 2 by which terms are multiplied before they are summed, so that no row of finite values
# can overflow.
HEADROOM = np.float32(2.0**-12)

# Column number of buckets that do not occur.
NOWHERE = np.uint32(0xFFFFFFFF)


class Hashed(NamedTuple):
    """Observations by row, with their variables' hashes and the sketch's settings.

    Indices are unsigned, so that numba does not check for negative ones.
    """

    indptr: NDArray[np.int64]
    codes: NDArray[np.uint32]
    values: NDArray[np.float32]
    value_bucket: NDArray[np.uint32]
    value_sign: NDArray[np.float32]
    presence_bucket: NDArray[np.uint32]
    presence_sign: NDArray[np.float32]
    presence: bool
    saturate: bool
    normalise: bool


@njit(cache=True, nogil=True)
def number_columns(rows: Hashed, first: int, last: int, column_of: NDArray[np.uint32]) -> int:
    """Assign columns to the buckets that occur in rows first to last - 1; return their number.

    ``column_of`` (2m,) is set to each occurring bucket's column, in ascending order, and to NOWHERE
    for the others.
    """
    # Read the tuple's fields outside the loop: numba counts references at each access.
    codes, value_bucket, presence_bucket = rows.codes, rows.value_bucket, rows.presence_bucket
    m = np.uint32(column_of.size // 2)
    occurs = np.zeros(column_of.size, np.bool_)
    for i in range(rows.indptr[first], rows.indptr[last]):
        j = codes[i]
        occurs[value_bucket[j]] = True
        if rows.presence:
            occurs[m + presence_bucket[j]] = True
    n_columns = 0
    for bucket in range(column_of.size):
        column_of[bucket] = np.uint32(n_columns) if occurs[bucket] else NOWHERE
        n_columns += occurs[bucket]
    return n_columns


@njit(cache=True, nogil=True)
def fill_states(
    rows: Hashed,
    first: int,
    last: int,
    column_of: NDArray[np.uint32],
    states: NDArray[np.float32],
) -> None:
    """Fill ``states`` (n_columns, last - first), zero on entry, with g_t of each row t.

    Sums run in the order of the observations within a row, which is the order of the names in a
    recording, so that states are the same to the bit however the variables were ordered on input.
    """
    indptr, codes, values = rows.indptr, rows.codes, rows.values
    value_bucket, value_sign = rows.value_bucket, rows.value_sign
    presence_bucket, presence_sign = rows.presence_bucket, rows.presence_sign
    m = np.uint32(column_of.size // 2)
    for t in range(first, last):
        begin, end = indptr[t], indptr[t + 1]
        n = end - begin
        scale = np.float32(1.0 / np.sqrt(n) if rows.normalise and n > 0 else 1.0)
        weight = PRESENCE_SLOPE * n
        if rows.saturate and weight > 1.0:
            weight = 1.0
        scale *= HEADROOM
        mark = np.float32(weight * scale)
        here = t - first
        for i in range(begin, end):
            j = codes[i]
            states[column_of[value_bucket[j]], here] += value_sign[j] * (values[i] * scale)
            if rows.presence:
                states[column_of[m + presence_bucket[j]], here] += presence_sign[j] * mark
    for column in range(states.shape[0]):
        row = states[column]
        for here in range(row.size):
            row[here] = min(max(row[here] / HEADROOM, -STATE_LIMIT), STATE_LIMIT)
