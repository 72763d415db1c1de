"""Jitted pairs of time steps: states of a span -> squared distances and products at each lag.

States lie bucket by bucket, (n_columns, n_rows), so that every inner loop runs over time: each
distance is summed over the buckets in ascending order and over nothing else, which makes it the
same to the bit whichever windows, rows or empty buckets are computed beside it. Behind the last
row lies PADDING: loops run on to a multiple of LANES, and what they compute there is not used.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = [
    "FUSED",
    "PADDING",
    "distances_to",
    "first_difference",
    "lag_distances",
    "lag_distances_of_difference",
    "lag_products",
    "products_with",
    "squared_norms",
]

# Numba widens constants to float64 unless they are float32 already.
ZERO = np.float32(0.0)

# A multiplication and an addition may be one instruction: quicker, and rounded once, not twice.
FUSED = {"contract"}

# Vector loops take so many steps at once; a rest is done one by one, so there should be none.
LANES = 16
PADDING = LANES


@njit(cache=True, nogil=True)
def first_difference(states: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the first difference over time, 0 at the first step."""
    z = np.empty_like(states)
    for c in range(z.shape[0]):
        before, row = states[c], z[c]
        row[0] = ZERO
        for t in range(1, row.size):
            row[t] = before[t] - before[t - 1]
    return z


@njit(cache=True, nogil=True, fastmath=FUSED)
def squared_norms(z: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    """out[t] = |z_t|^2."""
    out[:] = ZERO
    for c in range(z.shape[0]):
        for t in range(z.shape[1]):
            out[t] += z[c, t] * z[c, t]


@njit(cache=True, nogil=True, fastmath=FUSED)
def lag_distances(z: NDArray[np.float32], n_lags: int, out: NDArray[np.float32]) -> None:
    """out[lag - 1, t] = |z_t - z_{t+lag}|^2.

    Eight buckets a pass: the sums still run in order, but are loaded and stored less often.
    """
    n_columns, n_rows = z.shape[0], z.shape[1] - PADDING
    in_eights = n_columns - n_columns % 8
    for lag in range(1, min(n_lags, n_rows - 1) + 1):
        row = out[lag - 1]
        n = _in_lanes(n_rows - lag)
        for t in range(n):
            row[t] = ZERO
        for c in range(0, in_eights, 8):
            z0, z1, z2, z3 = z[c], z[c + 1], z[c + 2], z[c + 3]
            z4, z5, z6, z7 = z[c + 4], z[c + 5], z[c + 6], z[c + 7]
            for t in range(n):
                u = t + lag
                d0, d1, d2, d3 = z0[u] - z0[t], z1[u] - z1[t], z2[u] - z2[t], z3[u] - z3[t]
                d4, d5, d6, d7 = z4[u] - z4[t], z5[u] - z5[t], z6[u] - z6[t], z7[u] - z7[t]
                four = (((row[t] + d0 * d0) + d1 * d1) + d2 * d2) + d3 * d3
                row[t] = (((four + d4 * d4) + d5 * d5) + d6 * d6) + d7 * d7
        for c in range(in_eights, n_columns):
            z0 = z[c]
            for t in range(n):
                d0 = z0[t + lag] - z0[t]
                row[t] += d0 * d0


@njit(cache=True, nogil=True, fastmath=FUSED)
def lag_distances_of_difference(
    z: NDArray[np.float32],
    n_lags: int,
    out: NDArray[np.float32],
    out_absolute: NDArray[np.float32],
) -> None:
    """Do as :func:`lag_distances` for z and for its absolute values, reading z once for both."""
    n_columns, n_rows = z.shape[0], z.shape[1] - PADDING
    in_fours = n_columns - n_columns % 4
    for lag in range(1, min(n_lags, n_rows - 1) + 1):
        row, absolute = out[lag - 1], out_absolute[lag - 1]
        n = _in_lanes(n_rows - lag)
        for t in range(n):
            row[t] = ZERO
            absolute[t] = ZERO
        for c in range(0, in_fours, 4):
            z0, z1, z2, z3 = z[c], z[c + 1], z[c + 2], z[c + 3]
            for t in range(n):
                u = t + lag
                d0, d1, d2, d3 = z0[u] - z0[t], z1[u] - z1[t], z2[u] - z2[t], z3[u] - z3[t]
                a0, a1 = abs(z0[u]) - abs(z0[t]), abs(z1[u]) - abs(z1[t])
                a2, a3 = abs(z2[u]) - abs(z2[t]), abs(z3[u]) - abs(z3[t])
                row[t] = (((row[t] + d0 * d0) + d1 * d1) + d2 * d2) + d3 * d3
                absolute[t] = (((absolute[t] + a0 * a0) + a1 * a1) + a2 * a2) + a3 * a3
        for c in range(in_fours, n_columns):
            z0 = z[c]
            for t in range(n):
                d0, a0 = z0[t + lag] - z0[t], abs(z0[t + lag]) - abs(z0[t])
                row[t] += d0 * d0
                absolute[t] += a0 * a0


@njit(cache=True, nogil=True, fastmath=FUSED)
def lag_products(z: NDArray[np.float32], n_lags: int, out: NDArray[np.float32]) -> None:
    """out[lag - 1, t] = z_t . z_{t+lag}."""
    n_columns, n_rows = z.shape[0], z.shape[1] - PADDING
    in_eights = n_columns - n_columns % 8
    for lag in range(1, min(n_lags, n_rows - 1) + 1):
        row = out[lag - 1]
        n = _in_lanes(n_rows - lag)
        for t in range(n):
            row[t] = ZERO
        for c in range(0, in_eights, 8):
            z0, z1, z2, z3 = z[c], z[c + 1], z[c + 2], z[c + 3]
            z4, z5, z6, z7 = z[c + 4], z[c + 5], z[c + 6], z[c + 7]
            for t in range(n):
                u = t + lag
                part = ((row[t] + z0[t] * z0[u]) + z1[t] * z1[u]) + z2[t] * z2[u]
                part = ((part + z3[t] * z3[u]) + z4[t] * z4[u]) + z5[t] * z5[u]
                row[t] = (part + z6[t] * z6[u]) + z7[t] * z7[u]
        for c in range(in_eights, n_columns):
            z0 = z[c]
            for t in range(n):
                row[t] += z0[t] * z0[t + lag]


@njit(cache=True, nogil=True, inline="always")
def _in_lanes(n: int) -> int:
    return (n + LANES - 1) // LANES * LANES


@njit(cache=True, nogil=True, fastmath=FUSED)
def distances_to(z: NDArray[np.float32], anchor: int, out: NDArray[np.float32]) -> None:
    """out[t] = |z_t - z_anchor|^2."""
    out[:] = ZERO
    for c in range(z.shape[0]):
        there = z[c, anchor]
        for t in range(z.shape[1]):
            difference = z[c, t] - there
            out[t] += difference * difference


@njit(cache=True, nogil=True, fastmath=FUSED)
def products_with(z: NDArray[np.float32], anchor: int, out: NDArray[np.float32]) -> None:
    """out[t] = z_t . z_anchor."""
    out[:] = ZERO
    for c in range(z.shape[0]):
        there = z[c, anchor]
        for t in range(z.shape[1]):
            out[t] += z[c, t] * there
