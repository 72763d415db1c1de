"""Jitted comparisons of time steps: states of a span -> similarities and log distances.

States lie bucket by bucket, (n_columns, n_rows), so that every inner loop runs over time: each
distance is summed over the buckets in ascending order and over nothing else, which makes it the
same to the bit whichever windows, rows or empty buckets are computed beside it. Behind the last
row lies PADDING: loops run on to a multiple of LANES, and what they compute there is not used.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from smkc.kernel._select import COUNTED, NO_GUESS, median_root

__all__ = ["PADDING", "compare_anchors", "compare_lags", "compare_pushed", "push_step"]

# Numba widens constants to float64 unless they are float32 already.
ZERO, HALF, ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)
LARGEST = np.float32(3.0e38)

# Vector loops take so many steps at once; a rest is done one by one, so there should be none.
LANES = 16
PADDING = LANES

# Cephes' logf (S. Moshier): a polynomial on [sqrt(1/2), sqrt(2)), error below 2e-7.
SQRT_HALF_BITS = np.int32(0x3F3504F3)
MANTISSA_BITS = np.int32(23)
LOG_2_HIGH, LOG_2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
P0, P1, P2 = np.float32(7.0376836292e-2), np.float32(-1.1514610310e-1), np.float32(1.1676998740e-1)
P3, P4, P5 = np.float32(-1.2420140846e-1), np.float32(1.4249322787e-1), np.float32(-1.6668057665e-1)
P6, P7, P8 = np.float32(2.0000714765e-1), np.float32(-2.4999993993e-1), np.float32(3.3333331174e-1)


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

    ``states`` (n_columns, n_rows + PADDING); ``offsets`` (B,) are the windows' first rows in it.
    ``channel_at`` (6,) is each channel's place in the output, -1 where it is not wanted. ``out``
    is (B, K, n_lags, L) for bands, (B, K, L, L) for images. ``sigma_g`` (B,) receives sigma(g)
    where log distances of g are wanted. ``guesses`` (3,), of the medians, are used and improved:
    they save time and change no result.
    """
    n_rows = states.shape[1]
    # Distances of g, of its difference and of the absolute difference; or products of one of them.
    pairs = np.empty((3, n_lags, n_rows), np.float32)
    squares = np.empty(n_rows, np.float32)
    inverse = np.empty(n_rows, np.float32)
    buffer = np.empty(n_lags * length + 2 * COUNTED, np.float32)
    logs = np.empty(n_lags * length, np.float32)
    difference = _difference(states)
    if channel_at[3] >= 0:
        _lag_distances(states, n_lags, pairs[0])
    if channel_at[4] >= 0 or channel_at[5] >= 0:
        _lag_distances_of_difference(difference, n_lags, pairs[1], pairs[2])
    _squares(difference, squares)
    for which in range(3):
        distance = channel_at[3 + which]
        if distance < 0:
            continue
        for b in range(offsets.size):
            sigma, guesses[which] = _log_distances(
                pairs[which],
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
    for which in range(3):
        cosine = channel_at[which]
        if cosine < 0:
            continue
        z = states if which == 0 else difference
        if which == 2:
            z = np.abs(z)
        _squares(z, squares)
        _invert_roots(squares, inverse)
        _lag_products(z, n_lags, pairs[0])
        for b in range(offsets.size):
            at, target = offsets[b], out[b, cosine]
            _cosines(pairs[0], inverse, at, length, which > 0, as_image, buffer, target)


@njit(cache=True, nogil=True)
def push_step(
    states: NDArray[np.float32],
    wanted: NDArray[np.bool_],
    pairs: NDArray[np.float32],
    squares: NDArray[np.float32],
) -> None:
    """Bring one window's pairs up to date after a step was pushed onto its states.

    ``states`` (n_columns, L), the newest step last; ``pairs`` (6, n_lags, L), products before
    squared distances, and ``squares`` (3, L) move on by one step. Only pairs with the newest step
    are computed, each by the same sums as in :func:`compare_lags`.
    """
    n_columns, length = states.shape
    n_lags = pairs.shape[1]
    newest = length - 1
    for which in range(3):
        if not (wanted[which] or wanted[3 + which]):
            continue
        squares[which, :newest] = squares[which, 1:]
        squares[which, newest] = ZERO
        for kind in (which, 3 + which):
            for lag in range(n_lags):
                row = pairs[kind, lag]
                row[:newest] = row[1:]
                row[newest - 1 - lag] = ZERO
        product, distance = pairs[which], pairs[3 + which]
        for c in range(n_columns):
            z = states[c]
            here = _entry(z, newest, which)
            squares[which, newest] += here * here
            for lag in range(1, n_lags + 1):
                at = newest - lag
                there = _entry(z, at, which)
                difference = here - there
                distance[lag - 1, at] += difference * difference
                product[lag - 1, at] += there * here


@njit(cache=True, nogil=True, inline="always")
def _entry(z: NDArray[np.float32], t: int, which: int) -> np.float32:
    """Return g (0), its difference (1) or the absolute difference (2) at step t of one bucket."""
    if which == 0:
        return np.float32(z[t])
    difference: np.float32 = z[t] - z[t - 1] if t > 0 else ZERO
    return difference if which == 1 else np.float32(abs(difference))


@njit(cache=True, nogil=True)
def compare_pushed(
    pairs: NDArray[np.float32],
    squares: NDArray[np.float32],
    channel_at: NDArray[np.int64],
    as_image: bool,
    out: NDArray[np.float32],
) -> None:
    """Lay out one window's channels from pairs that :func:`push_step` kept; ``out`` (K, ...)."""
    n_lags, length = pairs.shape[1], pairs.shape[2]
    buffer = np.empty(n_lags * length + 2 * COUNTED, np.float32)
    logs = np.empty(n_lags * length, np.float32)
    for which in range(3):
        cosine, distance = channel_at[which], channel_at[3 + which]
        if distance >= 0:
            _log_distances(
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
            _invert_roots(squares[which], inverse)
            target = out[cosine]
            _cosines(pairs[which], inverse, 0, length, which > 0, as_image, buffer, target)


@njit(cache=True, nogil=True)
def compare_anchors(
    states: NDArray[np.float32],
    anchors: NDArray[np.int64],
    channel_at: NDArray[np.int64],
    out: NDArray[np.float32],
    sigma_g: NDArray[np.float64],
) -> None:
    """Compare every time step of one window's states with the anchors; ``out`` (K, L, r)."""
    length, r = states.shape[1] - PADDING, anchors.size
    squares = np.empty(states.shape[1], np.float32)
    pairs = np.empty((r, states.shape[1]), np.float32)
    buffer = np.empty(r * length + 2 * COUNTED, np.float32)
    z = states
    for which in range(3):
        if which > 0:
            z = _difference(states) if which == 1 else np.abs(z)
        cosine, distance = channel_at[which], channel_at[3 + which]
        _squares(z, squares)
        if distance >= 0:
            n = 0
            for k in range(r):
                _distances_to(z, anchors[k], pairs[k])
                for t in range(length):
                    if t != anchors[k]:
                        buffer[n] = pairs[k, t]
                        n += 1
            sigma, _ = median_root(buffer, n, NO_GUESS)
            if which == 0:
                sigma_g[0] = sigma
            for k in range(r):
                _to_log_distance(pairs[k], pairs[k], length, sigma)
                for t in range(length):
                    out[distance, t, k] = pairs[k, t]
        if cosine >= 0:
            _invert_roots(squares, squares)
            for k in range(r):
                _products_with(z, anchors[k], pairs[k])
                for t in range(length):
                    similarity = _similarity(pairs[k, t], squares[t], squares[anchors[k]])
                    out[cosine, t, k] = ONE if t == anchors[k] else similarity


# ---------------------------------------------------------------------- sequences and their pairs


@njit(cache=True, nogil=True)
def _difference(states: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the first difference over time, 0 at the first step."""
    z = np.empty_like(states)
    for c in range(z.shape[0]):
        before, row = states[c], z[c]
        row[0] = ZERO
        for t in range(1, row.size):
            row[t] = before[t] - before[t - 1]
    return z


@njit(cache=True, nogil=True)
def _squares(z: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    """out[t] = |z_t|^2."""
    out[:] = ZERO
    for c in range(z.shape[0]):
        for t in range(z.shape[1]):
            out[t] += z[c, t] * z[c, t]


@njit(cache=True, nogil=True)
def _lag_distances(z: NDArray[np.float32], n_lags: int, out: NDArray[np.float32]) -> None:
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


@njit(cache=True, nogil=True)
def _lag_distances_of_difference(
    z: NDArray[np.float32],
    n_lags: int,
    out: NDArray[np.float32],
    out_absolute: NDArray[np.float32],
) -> None:
    """Do as :func:`_lag_distances` for z and for its absolute values, reading z once for both."""
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


@njit(cache=True, nogil=True)
def _lag_products(z: NDArray[np.float32], n_lags: int, out: NDArray[np.float32]) -> None:
    """out[lag - 1, t] = z_t . z_{t+lag}."""
    n_columns, n_rows = z.shape[0], z.shape[1] - PADDING
    in_fours = n_columns - n_columns % 4
    for lag in range(1, min(n_lags, n_rows - 1) + 1):
        row = out[lag - 1]
        n = _in_lanes(n_rows - lag)
        for t in range(n):
            row[t] = ZERO
        for c in range(0, in_fours, 4):
            z0, z1, z2, z3 = z[c], z[c + 1], z[c + 2], z[c + 3]
            for t in range(n):
                u = t + lag
                row[t] = (((row[t] + z0[t] * z0[u]) + z1[t] * z1[u]) + z2[t] * z2[u]) + z3[t] * z3[
                    u
                ]
        for c in range(in_fours, n_columns):
            z0 = z[c]
            for t in range(n):
                row[t] += z0[t] * z0[t + lag]


@njit(cache=True, nogil=True, inline="always")
def _in_lanes(n: int) -> int:
    return (n + LANES - 1) // LANES * LANES


@njit(cache=True, nogil=True)
def _distances_to(z: NDArray[np.float32], anchor: int, out: NDArray[np.float32]) -> None:
    """out[t] = |z_t - z_anchor|^2."""
    out[:] = ZERO
    for c in range(z.shape[0]):
        there = z[c, anchor]
        for t in range(z.shape[1]):
            difference = z[c, t] - there
            out[t] += difference * difference


@njit(cache=True, nogil=True)
def _products_with(z: NDArray[np.float32], anchor: int, out: NDArray[np.float32]) -> None:
    """out[t] = z_t . z_anchor."""
    out[:] = ZERO
    for c in range(z.shape[0]):
        there = z[c, anchor]
        for t in range(z.shape[1]):
            out[t] += z[c, t] * there


# ---------------------------------------------------------------------- one window


@njit(cache=True, nogil=True)
def _log_distances(
    pairs: NDArray[np.float32],
    squares: NDArray[np.float32],
    offset: int,
    length: int,
    starts_at_zero: bool,
    as_image: bool,
    buffer: NDArray[np.float32],
    logs: NDArray[np.float32],
    guess: int,
    out: NDArray[np.float32],
) -> tuple[float, int]:
    """Lay out one window's log distances; return sigma and a guess for the next window's."""
    n = _gather_distances(pairs, squares, offset, length, starts_at_zero, buffer)
    sigma, guess = median_root(buffer, n, guess)
    if as_image:
        _to_log_distance(buffer, logs, n, sigma)
        _place_image(logs, length, ZERO, out)
        return sigma, guess
    at = 0
    for lag in range(1, pairs.shape[0] + 1):
        _to_log_distance(buffer[at:], out[lag - 1], length, sigma)
        out[lag - 1, length - lag :] = ZERO
        at += length - lag
    return sigma, guess


@njit(cache=True, nogil=True)
def _cosines(
    pairs: NDArray[np.float32],
    inverse: NDArray[np.float32],
    offset: int,
    length: int,
    starts_at_zero: bool,
    as_image: bool,
    buffer: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None:
    """Lay out one window's similarities; ``inverse`` norms of the steps."""
    _gather_cosines(pairs, inverse, offset, length, starts_at_zero, buffer)
    if as_image:
        _place_image(buffer, length, ONE, out)
    else:
        _place_band(buffer, length, pairs.shape[0], out)


@njit(cache=True, nogil=True)
def _gather_distances(
    pairs: NDArray[np.float32],
    squares: NDArray[np.float32],
    offset: int,
    length: int,
    starts_at_zero: bool,
    buffer: NDArray[np.float32],
) -> int:
    """Copy one window's squared distances, lag by lag, into ``buffer``; return how many.

    In the difference sequences the window's first step is 0 by definition, so that distances to
    it are the squared norms of the others.
    """
    n = 0
    for lag in range(1, min(pairs.shape[0], length - 1) + 1):
        row = pairs[lag - 1, offset : offset + length - lag]
        target = buffer[n : n + length - lag]
        for t in range(length - lag):
            target[t] = row[t]
        if starts_at_zero:
            target[0] = squares[offset + lag]
        n += length - lag
    return n


@njit(cache=True, nogil=True)
def _gather_cosines(
    pairs: NDArray[np.float32],
    inverse: NDArray[np.float32],
    offset: int,
    length: int,
    starts_at_zero: bool,
    buffer: NDArray[np.float32],
) -> None:
    """Put one window's similarities, lag by lag, into ``buffer``; ``inverse`` norms of steps."""
    n = 0
    for lag in range(1, min(pairs.shape[0], length - 1) + 1):
        row = pairs[lag - 1, offset : offset + length - lag]
        target = buffer[n : n + length - lag]
        here = inverse[offset : offset + length - lag]
        there = inverse[offset + lag : offset + length]
        for t in range(length - lag):
            target[t] = _similarity(row[t], here[t], there[t])
        if starts_at_zero:
            target[0] = HALF
        n += length - lag


@njit(cache=True, nogil=True)
def _place_band(
    buffer: NDArray[np.float32], length: int, n_lags: int, out: NDArray[np.float32]
) -> None:
    """Lay one window's pairs out as a band (n_lags, L), 0 past the end."""
    at = 0
    for lag in range(1, n_lags + 1):
        row = out[lag - 1]
        for t in range(length):
            row[t] = buffer[at + t] if t < length - lag else ZERO
        at += length - lag


@njit(cache=True, nogil=True)
def _place_image(
    buffer: NDArray[np.float32], length: int, diagonal: np.float32, out: NDArray[np.float32]
) -> None:
    """Lay one window's pairs out as an image (L, L)."""
    for t in range(length):
        out[t, t] = diagonal
    at = 0
    for lag in range(1, length):
        for t in range(length - lag):
            out[t, t + lag] = buffer[at + t]
            out[t + lag, t] = buffer[at + t]
        at += length - lag


@njit(cache=True, nogil=True)
def _to_log_distance(
    squares: NDArray[np.float32], out: NDArray[np.float32], n: int, sigma: float
) -> None:
    """out[i] = log(1 + D_i / (2 sigma^2)) of n squares; 0 where sigma is 0."""
    if sigma == 0.0:
        out[:n] = ZERO
        return
    factor = np.float32(min(1.0 / (2.0 * sigma * sigma), 3.0e38))
    for i in range(n):
        out[i] = _log(ONE + min(squares[i] * factor, LARGEST))


@njit(cache=True, nogil=True, inline="always")
def _log(y: np.float32) -> np.float32:
    """Return log(y) for 1 <= y <= LARGEST in float32; log(1) is exactly 0."""
    bits = np.float32(y).view(np.int32)
    exponent = np.int32(np.int32(bits - SQRT_HALF_BITS) >> MANTISSA_BITS)
    mantissa = np.int32(bits - (exponent << MANTISSA_BITS))
    x = np.int32(mantissa).view(np.float32) - ONE
    e = np.float32(exponent)
    p = ((((((((P0 * x + P1) * x + P2) * x + P3) * x + P4) * x + P5) * x + P6) * x + P7) * x) + P8
    xx = x * x
    return x + (p * x * xx + e * LOG_2_LOW - HALF * xx) + e * LOG_2_HIGH


@njit(cache=True, nogil=True, inline="always")
def _similarity(product: np.float32, inverse_a: np.float32, inverse_b: np.float32) -> np.float32:
    """Map a cosine to [0, 1]; 1/2 with a zero vector, whose inverse norm is set to 0."""
    return min(max(HALF + HALF * (product * inverse_a * inverse_b), ZERO), ONE)


@njit(cache=True, nogil=True)
def _invert_roots(squares: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    """Turn squared norms into inverse norms, 0 into 0."""
    for t in range(squares.size):
        root = np.sqrt(squares[t])
        out[t] = ONE / root if root > ZERO else ZERO
