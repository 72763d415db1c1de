"""Jitted loops of the kernel: states of a span of rows -> compared time steps of its windows.

Windows that overlap form a *segment*; what they share is computed once. States lie bucket by
bucket, (n_columns, n_rows), so that every inner loop runs over time: each distance is summed over
the buckets in ascending order and over nothing else, which makes it the same to the bit whichever
windows, rows or empty buckets are computed beside it.
"""

import numpy as np
from numba import njit, prange

from smkc.kernel._select import median_root
from smkc.sketch._loops import fill_states, number_columns

# Numba widens constants to float64 unless they are float32 already.
ZERO, HALF, ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)
LARGEST = np.float32(3.0e38)

# Cephes' logf (S. Moshier): a polynomial on [sqrt(1/2), sqrt(2)), error below 2e-7.
SQRT_HALF_BITS = np.int32(0x3F3504F3)
MANTISSA_BITS = np.int32(23)
LOG_2_HIGH, LOG_2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
P0, P1, P2 = np.float32(7.0376836292e-2), np.float32(-1.1514610310e-1), np.float32(1.1676998740e-1)
P3, P4, P5 = np.float32(-1.2420140846e-1), np.float32(1.4249322787e-1), np.float32(-1.6668057665e-1)
P6, P7, P8 = np.float32(2.0000714765e-1), np.float32(-2.4999993993e-1), np.float32(3.3333331174e-1)


@njit(cache=True, inline="always")
def _log(y):
    """Return log(y) for 1 <= y <= LARGEST in float32; log(1) is exactly 0."""
    bits = np.float32(y).view(np.int32)
    exponent = np.int32(np.int32(bits - SQRT_HALF_BITS) >> MANTISSA_BITS)
    mantissa = np.int32(bits - (exponent << MANTISSA_BITS))
    x = np.int32(mantissa).view(np.float32) - ONE
    e = np.float32(exponent)
    p = ((((((((P0 * x + P1) * x + P2) * x + P3) * x + P4) * x + P5) * x + P6) * x + P7) * x) + P8
    xx = x * x
    return x + (p * x * xx + e * LOG_2_LOW - HALF * xx) + e * LOG_2_HIGH


@njit(cache=True)
def _to_log_distance(squares, n, sigma):
    """Replace ``squares[:n]`` by log(1 + D / (2 sigma^2)); by 0 where sigma is 0."""
    if sigma == 0.0:
        squares[:n] = ZERO
        return
    factor = np.float32(min(1.0 / (2.0 * sigma * sigma), 3.0e38))
    for i in range(n):
        squares[i] = _log(ONE + min(squares[i] * factor, LARGEST))


@njit(cache=True, inline="always")
def _similarity(product, square_a, square_b):
    """Map a cosine to [0, 1]; 1/2 with a zero vector."""
    if square_a == ZERO or square_b == ZERO:
        return HALF
    cosine = np.float32(product / (np.sqrt(np.float64(square_a)) * np.sqrt(np.float64(square_b))))
    return min(max(HALF * (ONE + cosine), ZERO), ONE)


@njit(cache=True)
def _lag_distances(z, n_lags, out):
    """out[lag - 1, t] = |z_t - z_{t+lag}|^2; z (n_columns, n_rows)."""
    n_columns, n_rows = z.shape
    out[:, :] = ZERO
    for lag in range(1, min(n_lags, n_rows - 1) + 1):
        row = out[lag - 1]
        for c in range(n_columns):
            zc = z[c]
            for t in range(n_rows - lag):
                difference = zc[t + lag] - zc[t]
                row[t] += difference * difference


@njit(cache=True)
def _lag_products(z, n_lags, out):
    """out[lag - 1, t] = z_t . z_{t+lag}; z (n_columns, n_rows)."""
    n_columns, n_rows = z.shape
    out[:, :] = ZERO
    for lag in range(1, min(n_lags, n_rows - 1) + 1):
        row = out[lag - 1]
        for c in range(n_columns):
            zc = z[c]
            for t in range(n_rows - lag):
                row[t] += zc[t] * zc[t + lag]


@njit(cache=True)
def _squares(z, out):
    """out[t] = |z_t|^2."""
    out[:] = ZERO
    for c in range(z.shape[0]):
        for t in range(z.shape[1]):
            out[t] += z[c, t] * z[c, t]


@njit(cache=True)
def _span_states(
    indptr,
    codes,
    values,
    value_bucket,
    value_sign,
    presence_bucket,
    presence_sign,
    presence,
    saturate,
    normalise,
    first,
    last,
    projection,
    pool,
):
    """Return the states of rows first to last, (n_columns, n_steps), compacted.

    ``projection`` (2m, d') maps them to d' columns unless d' is 0; ``pool`` averages so many steps
    into one.
    """
    column_of = np.empty(projection.shape[0], np.int32)
    n_columns = number_columns(
        indptr, codes, first, last, value_bucket, presence_bucket, presence, column_of
    )
    states = np.zeros((n_columns, last - first), np.float32)
    fill_states(
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
    )
    if projection.shape[1] > 0:
        projected = np.zeros((projection.shape[1], last - first), np.float32)
        for bucket in range(projection.shape[0]):
            if column_of[bucket] >= 0:
                source = states[column_of[bucket]]
                for p in range(projection.shape[1]):
                    weight = projection[bucket, p]
                    for t in range(last - first):
                        projected[p, t] += weight * source[t]
        states = projected
    if pool > 1:
        pooled = np.zeros((states.shape[0], states.shape[1] // pool), np.float32)
        share = np.float32(1.0 / pool)
        for c in range(states.shape[0]):
            for t in range(pooled.shape[1] * pool):
                pooled[c, t // pool] += states[c, t] * share
        states = pooled
    return states


@njit(cache=True)
def _sequence(states, which):
    """Return g (0), its first difference (1) or the absolute difference (2) of a span."""
    if which == 0:
        return states
    z = np.zeros_like(states)
    for c in range(z.shape[0]):
        for t in range(1, z.shape[1]):
            difference = states[c, t] - states[c, t - 1]
            z[c, t] = difference if which == 1 else abs(difference)
    return z


@njit(cache=True, parallel=True)
def scan_lags(
    indptr,
    codes,
    values,
    value_bucket,
    value_sign,
    presence_bucket,
    presence_sign,
    presence,
    saturate,
    normalise,
    starts,
    segments,
    window,
    projection,
    pool,
    n_lags,
    channel_at,
    as_image,
    out,
    sigma_g,
):
    """Compare time steps at lags 1..n_lags in every window.

    ``segments`` (S+1,) are offsets into ``starts`` (B,): windows of one segment share their rows.
    ``channel_at`` (6,) is each channel's place in the output, -1 where it is not wanted. ``out``
    is (B, K, n_lags, L) for bands, (B, K, L, L) for images. ``sigma_g`` (B,) receives sigma(g),
    where log distances of g are wanted.
    """
    length = window // pool
    for s in prange(segments.size - 1):
        first = starts[segments[s]]
        last = starts[segments[s + 1] - 1] + window
        states = _span_states(
            indptr,
            codes,
            values,
            value_bucket,
            value_sign,
            presence_bucket,
            presence_sign,
            presence,
            saturate,
            normalise,
            first,
            last,
            projection,
            pool,
        )
        n_rows = states.shape[1]
        pairs = np.empty((n_lags, n_rows), np.float32)
        squares = np.empty(n_rows, np.float32)
        buffer = np.empty(n_lags * length, np.float32)
        for which in range(3):
            cosine, distance = channel_at[which], channel_at[3 + which]
            if cosine < 0 and distance < 0:
                continue
            z = _sequence(states, which)
            _squares(z, squares)
            if distance >= 0:
                _lag_distances(z, n_lags, pairs)
                for b in range(segments[s], segments[s + 1]):
                    offset = starts[b] - first
                    n = _gather(pairs, squares, offset, length, n_lags, which > 0, buffer)
                    sigma = median_root(buffer, n)
                    if which == 0:
                        sigma_g[b] = sigma
                    _to_log_distance(buffer, n, sigma)
                    _place(buffer, length, n_lags, as_image, ZERO, out[b, distance])
            if cosine >= 0:
                _lag_products(z, n_lags, pairs)
                for b in range(segments[s], segments[s + 1]):
                    offset = starts[b] - first
                    _gather_cosines(pairs, squares, offset, length, n_lags, which > 0, buffer)
                    _place(buffer, length, n_lags, as_image, ONE, out[b, cosine])


@njit(cache=True)
def _gather(pairs, squares, offset, length, n_lags, starts_at_zero, buffer):
    """Copy one window's squared distances, lag by lag, into ``buffer``; return how many.

    In the difference sequences the window's first step is 0 by definition, so that distances to
    it are the squared norms of the others.
    """
    n = 0
    for lag in range(1, min(n_lags, length - 1) + 1):
        row = pairs[lag - 1]
        for t in range(length - lag):
            buffer[n + t] = row[offset + t]
        if starts_at_zero:
            buffer[n] = squares[offset + lag]
        n += length - lag
    return n


@njit(cache=True)
def _gather_cosines(pairs, squares, offset, length, n_lags, starts_at_zero, buffer):
    """Put one window's similarities, lag by lag, into ``buffer``."""
    n = 0
    for lag in range(1, min(n_lags, length - 1) + 1):
        row = pairs[lag - 1]
        for t in range(length - lag):
            at = offset + t
            buffer[n + t] = _similarity(row[at], squares[at], squares[at + lag])
        if starts_at_zero:
            buffer[n] = HALF
        n += length - lag


@njit(cache=True)
def _place(buffer, length, n_lags, as_image, diagonal, out):
    """Lay one window's pairs out as a band (n_lags, L), 0 past the end, or as an image (L, L)."""
    n = 0
    if as_image:
        for t in range(length):
            out[t, t] = diagonal
        for lag in range(1, length):
            for t in range(length - lag):
                out[t, t + lag] = buffer[n + t]
                out[t + lag, t] = buffer[n + t]
            n += length - lag
    else:
        for lag in range(1, n_lags + 1):
            here = max(length - lag, 0)
            for t in range(here):
                out[lag - 1, t] = buffer[n + t]
            for t in range(here, length):
                out[lag - 1, t] = ZERO
            n += here


@njit(cache=True, parallel=True)
def scan_anchors(
    indptr,
    codes,
    values,
    value_bucket,
    value_sign,
    presence_bucket,
    presence_sign,
    presence,
    saturate,
    normalise,
    starts,
    window,
    projection,
    pool,
    anchors,
    channel_at,
    out,
    sigma_g,
):
    """Compare every time step with the anchors (r,) in every window; ``out`` (B, K, L, r)."""
    length = window // pool
    r = anchors.size
    for b in prange(starts.size):
        states = _span_states(
            indptr,
            codes,
            values,
            value_bucket,
            value_sign,
            presence_bucket,
            presence_sign,
            presence,
            saturate,
            normalise,
            starts[b],
            starts[b] + window,
            projection,
            pool,
        )
        squares = np.empty(length, np.float32)
        pairs = np.empty((r, length), np.float32)
        buffer = np.empty(r * length, np.float32)
        for which in range(3):
            cosine, distance = channel_at[which], channel_at[3 + which]
            if cosine < 0 and distance < 0:
                continue
            z = _sequence(states, which)
            _squares(z, squares)
            if distance >= 0:
                pairs[:, :] = ZERO
                for k in range(r):
                    for c in range(z.shape[0]):
                        there = z[c, anchors[k]]
                        for t in range(length):
                            difference = z[c, t] - there
                            pairs[k, t] += difference * difference
                n = 0
                for k in range(r):
                    for t in range(length):
                        if t != anchors[k]:
                            buffer[n] = pairs[k, t]
                            n += 1
                sigma = median_root(buffer, n)
                if which == 0:
                    sigma_g[b] = sigma
                for k in range(r):
                    _to_log_distance(pairs[k], length, sigma)
                    for t in range(length):
                        out[b, distance, t, k] = pairs[k, t]
            if cosine >= 0:
                pairs[:, :] = ZERO
                for k in range(r):
                    for c in range(z.shape[0]):
                        there = z[c, anchors[k]]
                        for t in range(length):
                            pairs[k, t] += z[c, t] * there
                    for t in range(length):
                        same = t == anchors[k]
                        similarity = _similarity(pairs[k, t], squares[t], squares[anchors[k]])
                        out[b, cosine, t, k] = ONE if same else similarity
