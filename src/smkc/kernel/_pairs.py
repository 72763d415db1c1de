"""Jitted pairs of time steps: states of a span -> squared distances and products at each lag.

States lie bucket by bucket, (n_columns, n_rows), so that every inner loop runs over time: each
distance is summed over the buckets in ascending order and over nothing else, which makes it the
same to the bit whichever windows, rows or empty buckets are computed beside it. Behind the last
row lies PADDING: tiles reach into it, and what they compute there is not used.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from smkc.kernel._lag_tiles import (
    LAGS,
    LAGS_TWICE,
    tile_distances,
    tile_distances_twice,
    tile_products,
)
from smkc.kernel._vectors import LANES

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

# The last tile begins before the last row, and reads so far at most.
PADDING = LANES + LAGS


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


@njit(cache=True, nogil=True)
def lag_distances(z: NDArray[np.float32], n_lags: int, out: NDArray[np.float32]) -> None:
    """out[lag - 1, t] = |z_t - z_{t+lag}|^2."""
    n_rows = z.shape[1] - PADDING
    last = min(n_lags, n_rows - 1)
    for lag in range(1, last + 1, LAGS):
        for t in range(0, n_rows - lag, LANES):
            tile_distances(z, t, lag, last, out)


@njit(cache=True, nogil=True)
def lag_distances_of_difference(
    z: NDArray[np.float32],
    n_lags: int,
    out: NDArray[np.float32],
    out_absolute: NDArray[np.float32],
) -> None:
    """Do as :func:`lag_distances` for z and for its absolute values, reading z once for both."""
    n_rows = z.shape[1] - PADDING
    last = min(n_lags, n_rows - 1)
    for lag in range(1, last + 1, LAGS_TWICE):
        for t in range(0, n_rows - lag, LANES):
            tile_distances_twice(z, t, lag, last, out, out_absolute)


@njit(cache=True, nogil=True)
def lag_products(z: NDArray[np.float32], n_lags: int, out: NDArray[np.float32]) -> None:
    """out[lag - 1, t] = z_t . z_{t+lag}."""
    n_rows = z.shape[1] - PADDING
    last = min(n_lags, n_rows - 1)
    for lag in range(1, last + 1, LAGS):
        for t in range(0, n_rows - lag, LANES):
            tile_products(z, t, lag, last, out)


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
