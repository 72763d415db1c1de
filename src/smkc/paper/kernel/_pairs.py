"""Jitted pairs of time steps: states of a span -> squared distances and products at each lag.

States are stored as (n_columns, n_rows), so that every inner loop runs over time. Each distance is
summed over the buckets in ascending order.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

# Float32, because Numba would widen a Python constant to float64.
ZERO = np.float32(0.0)

# Allow fused multiply-add: faster, and rounded once instead of twice.
FUSED = {"contract"}

# Buckets summed per pass over time: sums are loaded and stored once for all of them.
AT_ONCE = 4


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
    """Set out[t] to |z_t|^2."""
    out[:] = ZERO
    for c in range(z.shape[0]):
        for t in range(z.shape[1]):
            out[t] += z[c, t] * z[c, t]


@njit(cache=True, nogil=True, fastmath=FUSED)
def lag_distances(z: NDArray[np.float32], n_lags: int, out: NDArray[np.float32]) -> None:
    """Set out[lag - 1, t] to |z_t - z_{t+lag}|^2; 0 past the last row."""
    n_columns, n_rows = z.shape
    in_passes = n_columns - n_columns % AT_ONCE
    out[:] = ZERO
    for lag in range(1, min(n_lags, n_rows - 1) + 1):
        row = out[lag - 1]
        for c in range(0, in_passes, AT_ONCE):
            z0, z1, z2, z3 = z[c], z[c + 1], z[c + 2], z[c + 3]
            for t in range(n_rows - lag):
                u = t + lag
                d0, d1, d2, d3 = z0[u] - z0[t], z1[u] - z1[t], z2[u] - z2[t], z3[u] - z3[t]
                row[t] = (((row[t] + d0 * d0) + d1 * d1) + d2 * d2) + d3 * d3
        for c in range(in_passes, n_columns):
            z0 = z[c]
            for t in range(n_rows - lag):
                d0 = z0[t + lag] - z0[t]
                row[t] += d0 * d0


@njit(cache=True, nogil=True, fastmath=FUSED)
def lag_products(z: NDArray[np.float32], n_lags: int, out: NDArray[np.float32]) -> None:
    """Set out[lag - 1, t] to z_t . z_{t+lag}; 0 past the last row."""
    n_columns, n_rows = z.shape
    in_passes = n_columns - n_columns % AT_ONCE
    out[:] = ZERO
    for lag in range(1, min(n_lags, n_rows - 1) + 1):
        row = out[lag - 1]
        for c in range(0, in_passes, AT_ONCE):
            z0, z1, z2, z3 = z[c], z[c + 1], z[c + 2], z[c + 3]
            for t in range(n_rows - lag):
                u = t + lag
                part = ((row[t] + z0[t] * z0[u]) + z1[t] * z1[u]) + z2[t] * z2[u]
                row[t] = part + z3[t] * z3[u]
        for c in range(in_passes, n_columns):
            z0 = z[c]
            for t in range(n_rows - lag):
                row[t] += z0[t] * z0[t + lag]


@njit(cache=True, nogil=True, fastmath=FUSED)
def distances_to(z: NDArray[np.float32], anchor: int, out: NDArray[np.float32]) -> None:
    """Set out[t] to |z_t - z_anchor|^2."""
    out[:] = ZERO
    for c in range(z.shape[0]):
        there = z[c, anchor]
        for t in range(z.shape[1]):
            difference = z[c, t] - there
            out[t] += difference * difference


@njit(cache=True, nogil=True, fastmath=FUSED)
def products_with(z: NDArray[np.float32], anchor: int, out: NDArray[np.float32]) -> None:
    """Set out[t] to z_t . z_anchor."""
    out[:] = ZERO
    for c in range(z.shape[0]):
        there = z[c, anchor]
        for t in range(z.shape[1]):
            out[t] += z[c, t] * there
