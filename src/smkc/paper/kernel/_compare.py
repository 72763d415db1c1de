"""Jitted comparison of a window's time steps: states -> channels.

In: the states of a span of rows that contains windows. Out: the wanted channels of every window.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from smkc.paper.kernel._channels import (
    ONE,
    cosines,
    invert_roots,
    log_distances,
    similarity,
    to_log_distance,
)
from smkc.paper.kernel._pairs import (
    distances_to,
    first_difference,
    lag_distances,
    lag_products,
    products_with,
    squared_norms,
)
from smkc.paper.kernel._select import COUNTED, NO_GUESS, median_root


@njit(cache=True, nogil=True)
def compare_lags(
    states: NDArray[np.float32],
    offsets: NDArray[np.int64],
    length: int,
    n_lags: int,
    channel_at: NDArray[np.int64],
    as_image: bool,
    guesses: NDArray[np.int64],
    out: NDArray[np.float32],
    sigma_g: NDArray[np.float64],
) -> None:
    """Compare time steps at lags 1..n_lags in the windows of one span.

    ``states`` (n_columns, n_rows); ``offsets`` (B,) are the windows' first rows in it.
    ``channel_at`` (6,) is each channel's place in the output, -1 if it is not wanted. ``out`` is
    (B, K, n_lags, L) for bands, (B, K, L, L) for images. ``sigma_g`` (B,) is set to sigma(g) if log
    distances of g are wanted. ``guesses`` (3,) of the medians are used and updated: they save time
    and do not change the result.
    """
    n_rows = states.shape[1]
    pairs = np.empty((n_lags, n_rows), np.float32)
    squares = np.empty(n_rows, np.float32)
    inverse = np.empty(n_rows, np.float32)
    buffer = np.empty(n_lags * length + 2 * COUNTED, np.float32)
    logs = np.empty(n_lags * length, np.float32)
    difference = first_difference(states)
    for which in range(3):
        cosine, distance = channel_at[which], channel_at[3 + which]
        z = states if which == 0 else difference
        if which == 1 or (which == 0 and cosine >= 0):
            squared_norms(z, squares)  # those of the absolute difference are the same
        if which == 2 and (cosine >= 0 or distance >= 0):
            z = np.abs(z)
        if distance >= 0:
            lag_distances(z, n_lags, pairs)
            for b in range(offsets.size):
                sigma, guesses[which] = log_distances(
                    pairs,
                    squares,
                    offsets[b],
                    length,
                    which > 0,
                    as_image,
                    buffer,
                    logs,
                    guesses[which],
                    out[b, distance],
                )
                if which == 0:
                    sigma_g[b] = sigma
        if cosine >= 0:
            invert_roots(squares, inverse)
            lag_products(z, n_lags, pairs)
            for b in range(offsets.size):
                at, target = offsets[b], out[b, cosine]
                cosines(pairs, inverse, at, length, which > 0, as_image, buffer, target)


@njit(cache=True, nogil=True)
def compare_anchors(
    states: NDArray[np.float32],
    anchors: NDArray[np.int64],
    channel_at: NDArray[np.int64],
    out: NDArray[np.float32],
    sigma_g: NDArray[np.float64],
) -> None:
    """Compare every time step of one window's states with the anchors; ``out`` (K, L, r)."""
    length, r = states.shape[1], anchors.size
    squares = np.empty(states.shape[1], np.float32)
    pairs = np.empty((r, states.shape[1]), np.float32)
    buffer = np.empty(r * length + 2 * COUNTED, np.float32)
    z = states
    for which in range(3):
        if which > 0:
            z = first_difference(states) if which == 1 else np.abs(z)
        cosine, distance = channel_at[which], channel_at[3 + which]
        squared_norms(z, squares)
        if distance >= 0:
            n = 0
            for k in range(r):
                distances_to(z, anchors[k], pairs[k])
                for t in range(length):
                    if t != anchors[k]:
                        buffer[n] = pairs[k, t]
                        n += 1
            sigma, _ = median_root(buffer, n, NO_GUESS)
            if which == 0:
                sigma_g[0] = sigma
            for k in range(r):
                to_log_distance(pairs[k], pairs[k], length, sigma)
                for t in range(length):
                    out[distance, t, k] = pairs[k, t]
        if cosine >= 0:
            invert_roots(squares, squares)
            for k in range(r):
                products_with(z, anchors[k], pairs[k])
                for t in range(length):
                    alike = similarity(pairs[k, t], squares[t], squares[anchors[k]])
                    out[cosine, t, k] = ONE if t == anchors[k] else alike
