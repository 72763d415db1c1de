"""Jitted loops of the sketch: observations of a span of rows -> their states."""

import numpy as np
from numba import njit

# Paper: A_PRES = 1 / ceil(0.3 * Cmax) with Cmax = 16.
PRESENCE_SLOPE = 0.2

# No state entry may grow beyond this, so that a squared distance over thousands of buckets stays
# finite in float32 (docs/decisions.md).
STATE_LIMIT = 1e16


@njit(cache=True)
def number_columns(indptr, codes, first, last, value_bucket, presence_bucket, presence, column_of):
    """Number the buckets that occur in rows first to last, in ascending order; return how many.

    ``column_of`` (2m,) int32 receives each occurring bucket's column, -1 elsewhere.
    """
    m = column_of.size // 2
    column_of[:] = -1
    for i in range(indptr[first], indptr[last]):
        column_of[value_bucket[codes[i]]] = 0
        if presence:
            column_of[m + presence_bucket[codes[i]]] = 0
    n_columns = 0
    for bucket in range(2 * m):
        if column_of[bucket] == 0:
            column_of[bucket] = n_columns
            n_columns += 1
    return n_columns


@njit(cache=True)
def fill_states(
    indptr,
    codes,
    values,
    first,
    last,
    value_bucket,
    value_sign,
    presence_bucket,
    presence_sign,
    presence,
    saturate,
    normalise,
    column_of,
    states,
):
    """Fill ``states`` (n_columns, last - first), zero on entry, with g_t of each row t.

    Sums run in the order of the codes, which is the order of the names: the same bits whatever
    order the variables were handed in.
    """
    m = column_of.size // 2
    total = np.zeros(states.shape[0], np.float64)
    for t in range(first, last):
        n = indptr[t + 1] - indptr[t]
        if n == 0:
            continue
        scale = 1.0 / np.sqrt(n) if normalise else 1.0
        weight = PRESENCE_SLOPE * n
        if saturate and weight > 1.0:
            weight = 1.0
        for i in range(indptr[t], indptr[t + 1]):
            j = codes[i]
            total[column_of[value_bucket[j]]] += value_sign[j] * values[i]
            if presence:
                total[column_of[m + presence_bucket[j]]] += presence_sign[j] * weight
        for i in range(indptr[t], indptr[t + 1]):
            j = codes[i]
            column = column_of[value_bucket[j]]
            entry = total[column] * scale
            states[column, t - first] = min(max(entry, -STATE_LIMIT), STATE_LIMIT)
            if presence:
                column = column_of[m + presence_bucket[j]]
                states[column, t - first] = total[column] * scale
        for i in range(indptr[t], indptr[t + 1]):
            j = codes[i]
            total[column_of[value_bucket[j]]] = 0.0
            if presence:
                total[column_of[m + presence_bucket[j]]] = 0.0
