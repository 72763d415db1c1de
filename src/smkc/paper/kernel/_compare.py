"""Jitted comparison of a window's time steps: states -> channels.

In: the states of a span of rows that contains windows, or of one window that slides step by step.
Out: the wanted channels of every window.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from smkc.paper.kernel._channels import (
    ONE,
    ZERO,
    cosines,
    invert_roots,
    log_distances,
    similarity,
    to_log_distance,
)
from smkc.paper.kernel._pairs import (
    FUSED,
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


@njit(cache=True, nogil=True)
def push_step(
    states: NDArray[np.float32],
    newest: int,
    wanted: NDArray[np.bool_],
    pairs: NDArray[np.float32],
    squares: NDArray[np.float32],
) -> None:
    """Update one window's pairs after a step was written to its states.

    ``states`` (L, n_columns) is a ring buffer: the step before row 0 is in the last row. ``pairs``
    (6, n_lags, L), 3 of products and 3 of squared distances, and ``squares`` (3, L) are shifted by
    one step. Only the pairs of ``wanted`` (6,) kinds with the newest step are computed, by the same
    sums as in :func:`compare_lags`.
    """
    length, n_columns = states.shape
    n_lags = pairs.shape[1]
    latest = np.empty((n_lags + 1, n_columns), np.float32)
    sums = np.empty(n_lags, np.float32)
    for which in range(3):
        if not (wanted[which] or wanted[3 + which]):
            continue
        _latest_entries(states, newest, which, latest)
        _move_on(squares[which], _square(latest[0]))
        for kind in (which, 3 + which):
            if not wanted[kind]:
                continue
            if kind < 3:
                _products_with(latest[0], latest[1:], sums)
            else:
                _distances_from(latest[0], latest[1:], sums)
            for lag in range(1, n_lags + 1):
                row = pairs[kind, lag - 1]
                _move_on(row, ZERO)
                row[length - 1 - lag] = sums[lag - 1]


@njit(cache=True, nogil=True)
def _latest_entries(
    states: NDArray[np.float32], newest: int, which: int, out: NDArray[np.float32]
) -> None:
    """Write g (0), its difference (1) or its absolute difference (2) of the latest steps.

    ``out`` is (n_lags + 1, n_columns), newest step first; the difference at the window's first step
    is 0.
    """
    length = states.shape[0]
    for lag in range(out.shape[0]):
        row, here = out[lag], states[newest - lag]
        before = states[newest - lag - 1]
        if which == 0:
            row[:] = here
        elif lag == length - 1:
            row[:] = ZERO
        else:
            for c in range(row.size):
                difference = here[c] - before[c]
                row[c] = difference if which == 1 else abs(difference)


@njit(cache=True, nogil=True, fastmath=FUSED)
def _square(row: NDArray[np.float32]) -> np.float32:
    total = ZERO
    for c in range(row.size):
        total += row[c] * row[c]
    return np.float32(total)


@njit(cache=True, nogil=True, fastmath=FUSED)
def _products_with(
    here: NDArray[np.float32], rows: NDArray[np.float32], sums: NDArray[np.float32]
) -> None:
    """Set sums[i] to here . rows[i].

    8 sums are computed per pass, because the additions of one sum must wait for each other.
    """
    for first in range(0, rows.shape[0], 8):
        last = rows.shape[0] - 1
        r0, r1, r2, r3 = _four_rows(rows, first, last)
        r4, r5, r6, r7 = _four_rows(rows, first + 4, last)
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = ZERO
        for c in range(here.size):
            x = here[c]
            s0, s1, s2, s3 = s0 + r0[c] * x, s1 + r1[c] * x, s2 + r2[c] * x, s3 + r3[c] * x
            s4, s5, s6, s7 = s4 + r4[c] * x, s5 + r5[c] * x, s6 + r6[c] * x, s7 + r7[c] * x
        _put(sums, first, (s0, s1, s2, s3, s4, s5, s6, s7))


@njit(cache=True, nogil=True, fastmath=FUSED)
def _distances_from(
    here: NDArray[np.float32], rows: NDArray[np.float32], sums: NDArray[np.float32]
) -> None:
    """Set sums[i] to |here - rows[i]|^2, 8 sums per pass as in :func:`_products_with`."""
    for first in range(0, rows.shape[0], 8):
        last = rows.shape[0] - 1
        r0, r1, r2, r3 = _four_rows(rows, first, last)
        r4, r5, r6, r7 = _four_rows(rows, first + 4, last)
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = ZERO
        for c in range(here.size):
            x = here[c]
            d0, d1, d2, d3 = x - r0[c], x - r1[c], x - r2[c], x - r3[c]
            d4, d5, d6, d7 = x - r4[c], x - r5[c], x - r6[c], x - r7[c]
            s0, s1, s2, s3 = s0 + d0 * d0, s1 + d1 * d1, s2 + d2 * d2, s3 + d3 * d3
            s4, s5, s6, s7 = s4 + d4 * d4, s5 + d5 * d5, s6 + d6 * d6, s7 + d7 * d7
        _put(sums, first, (s0, s1, s2, s3, s4, s5, s6, s7))


@njit(cache=True, nogil=True, inline="always")
def _four_rows(rows: NDArray[np.float32], first: int, last: int) -> tuple[NDArray[np.float32], ...]:
    a, b, c, d = min(first, last), min(first + 1, last), min(first + 2, last), min(first + 3, last)
    return rows[a], rows[b], rows[c], rows[d]


@njit(cache=True, nogil=True, inline="always")
def _put(sums: NDArray[np.float32], first: int, eight: tuple[np.float32, ...]) -> None:
    for at in range(min(8, sums.size - first)):
        sums[first + at] = eight[at]


@njit(cache=True, nogil=True, inline="always")
def _move_on(row: NDArray[np.float32], newest: np.float32) -> None:
    """Shift a row by one place to the left and append ``newest``."""
    for t in range(row.size - 1):
        row[t] = row[t + 1]
    row[row.size - 1] = newest


@njit(cache=True, nogil=True)
def compare_pushed(
    pairs: NDArray[np.float32],
    squares: NDArray[np.float32],
    channel_at: NDArray[np.int64],
    as_image: bool,
    out: NDArray[np.float32],
) -> None:
    """Write one window's channels to ``out`` (K, ...), from the pairs of :func:`push_step`."""
    n_lags, length = pairs.shape[1], pairs.shape[2]
    buffer = np.empty(n_lags * length + 2 * COUNTED, np.float32)
    logs = np.empty(n_lags * length, np.float32)
    for which in range(3):
        cosine, distance = channel_at[which], channel_at[3 + which]
        if distance >= 0:
            log_distances(
                pairs[3 + which],
                squares[which],
                0,
                length,
                which > 0,
                as_image,
                buffer,
                logs,
                NO_GUESS,
                out[distance],
            )
        if cosine >= 0:
            inverse = np.empty(length, np.float32)
            invert_roots(squares[which], inverse)
            target = out[cosine]
            cosines(pairs[which], inverse, 0, length, which > 0, as_image, buffer, target)
