"""Jitted scans: windows of a recording -> comparisons of their time steps.

Overlapping windows form a *segment*; the states and pairs they share are computed once.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from smkc.paper.kernel._compare import compare_anchors, compare_lags
from smkc.paper.kernel._select import NO_GUESS
from smkc.paper.sketch import Hashed
from smkc.paper.sketch._loops import NOWHERE, fill_states, number_columns


@njit(cache=True, nogil=True)
def scan_lags(
    rows: Hashed,
    starts: NDArray[np.int64],
    segments: NDArray[np.int64],
    window: int,
    projection: NDArray[np.float32],
    pool: int,
    n_lags: int,
    channel_at: NDArray[np.int64],
    as_image: bool,
    out: NDArray[np.float32],
    sigma_g: NDArray[np.float64],
) -> None:
    """Compare time steps at lags 1..n_lags in every window.

    ``segments`` (S+1,) are offsets into ``starts`` (B,): windows of one segment share rows.
    ``projection`` and ``pool`` are as in :func:`_span_states`, the other parameters as in
    :func:`smkc.paper.kernel._compare.compare_lags`.
    """
    guesses = np.full(3, NO_GUESS)
    for s in range(segments.size - 1):
        a, b = segments[s], segments[s + 1]
        first = starts[a]
        states = _span_states(rows, first, starts[b - 1] + window, projection, pool)
        compare_lags(
            states,
            starts[a:b] - first,
            window // pool,
            n_lags,
            channel_at,
            as_image,
            guesses,
            out[a:b],
            sigma_g[a:b],
        )


@njit(cache=True, nogil=True)
def scan_anchors(
    rows: Hashed,
    starts: NDArray[np.int64],
    window: int,
    projection: NDArray[np.float32],
    pool: int,
    anchors: NDArray[np.int64],
    channel_at: NDArray[np.int64],
    out: NDArray[np.float32],
    sigma_g: NDArray[np.float64],
) -> None:
    """Compare every time step with the anchors (r,) in every window; ``out`` (B, K, L, r)."""
    for b in range(starts.size):
        states = _span_states(rows, starts[b], starts[b] + window, projection, pool)
        compare_anchors(states, anchors, channel_at, out[b], sigma_g[b : b + 1])


@njit(cache=True, nogil=True)
def scan_sequences(
    rows: Hashed,
    starts: NDArray[np.int64],
    window: int,
    projection: NDArray[np.float32],
    pool: int,
    out: NDArray[np.float32],
) -> None:
    """Write every window's projected states into ``out`` (B, L, d')."""
    for b in range(starts.size):
        states = _span_states(rows, starts[b], starts[b] + window, projection, pool)
        for t in range(out.shape[1]):
            for p in range(out.shape[2]):
                out[b, t, p] = states[p, t]


@njit(cache=True, nogil=True)
def _span_states(
    rows: Hashed, first: int, last: int, projection: NDArray[np.float32], pool: int
) -> NDArray[np.float32]:
    """Return the states of rows first to last - 1, (n_columns, n_steps).

    Without a projection, only buckets that occur have a column. ``projection`` (2m, d') maps the
    buckets to d' columns unless d' is 0; every ``pool`` steps are averaged into one.
    """
    column_of = np.empty(projection.shape[0], np.uint32)
    n_columns = number_columns(rows, first, last, column_of)
    states = np.zeros((n_columns, last - first), np.float32)
    fill_states(rows, first, last, column_of, states)
    if projection.shape[1] > 0:
        projected = np.zeros((projection.shape[1], states.shape[1]), np.float32)
        for bucket in range(projection.shape[0]):
            if column_of[bucket] != NOWHERE:
                source = states[column_of[bucket]]
                for p in range(projection.shape[1]):
                    weight = projection[bucket, p]
                    for t in range(last - first):
                        projected[p, t] += weight * source[t]
        states = projected
    if pool > 1:
        pooled = np.zeros((states.shape[0], (last - first) // pool), np.float32)
        share = np.float32(1.0 / pool)
        for c in range(states.shape[0]):
            for t in range(last - first):
                pooled[c, t // pool] += states[c, t] * share
        states = pooled
    return states
