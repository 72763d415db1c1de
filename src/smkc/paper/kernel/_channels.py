"""Jitted channels: one window's pairs -> bands or images of similarities and log distances.

In: squared distances or products of a span at each lag. Out: a band (n_lags, L) or an image (L, L)
of one window.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from smkc.paper.kernel._select import median_root

# Float32, because Numba would widen Python constants to float64.
ZERO, HALF, ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)
MAX_FINITE = np.float32(3.0e38)

# Cephes' logf (S. Moshier): a polynomial on [sqrt(1/2), sqrt(2)), error below 2e-7.
SQRT_HALF_BITS = np.int32(0x3F3504F3)
MANTISSA_BITS = np.int32(23)
LOG_2_HIGH, LOG_2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
P0, P1, P2 = np.float32(7.0376836292e-2), np.float32(-1.1514610310e-1), np.float32(1.1676998740e-1)
P3, P4, P5 = np.float32(-1.2420140846e-1), np.float32(1.4249322787e-1), np.float32(-1.6668057665e-1)
P6, P7, P8 = np.float32(2.0000714765e-1), np.float32(-2.4999993993e-1), np.float32(3.3333331174e-1)


@njit(cache=True, nogil=True)
def log_distances(
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
    """Write one window's log distances to ``out``; return sigma and a guess for the next window.

    ``buffer`` and ``logs`` are scratch memory.
    """
    n = _gather_distances(pairs, squares, offset, length, starts_at_zero, buffer)
    sigma, guess = median_root(buffer, n, guess)
    if as_image:
        to_log_distance(buffer, logs, n, sigma)
        _place_image(logs, length, ZERO, out)
        return sigma, guess
    at = 0
    for lag in range(1, pairs.shape[0] + 1):
        to_log_distance(buffer[at:], out[lag - 1], length, sigma)
        out[lag - 1, length - lag :] = ZERO
        at += length - lag
    return sigma, guess


@njit(cache=True, nogil=True)
def cosines(
    pairs: NDArray[np.float32],
    inverse: NDArray[np.float32],
    offset: int,
    length: int,
    starts_at_zero: bool,
    as_image: bool,
    buffer: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None:
    """Write one window's similarities to ``out``; ``inverse`` are 1 / the norms of the steps."""
    n = 0
    for lag in range(1, min(pairs.shape[0], length - 1) + 1):
        row = pairs[lag - 1, offset : offset + length - lag]
        target = buffer[n : n + length - lag] if as_image else out[lag - 1, : length - lag]
        here = inverse[offset : offset + length - lag]
        there = inverse[offset + lag : offset + length]
        for t in range(length - lag):
            target[t] = similarity(row[t], here[t], there[t])
        if starts_at_zero:
            target[0] = HALF
        if not as_image:
            out[lag - 1, length - lag :] = ZERO
        n += length - lag
    if as_image:
        _place_image(buffer, length, ONE, out)


@njit(cache=True, nogil=True)
def _gather_distances(
    pairs: NDArray[np.float32],
    squares: NDArray[np.float32],
    offset: int,
    length: int,
    starts_at_zero: bool,
    buffer: NDArray[np.float32],
) -> int:
    """Copy one window's squared distances, lag by lag, into ``buffer``; return their number.

    In the difference sequences the window's first step is 0 by definition, so that distances to it
    are the squared norms of the other steps.
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
def _place_image(
    buffer: NDArray[np.float32], length: int, diagonal: np.float32, out: NDArray[np.float32]
) -> None:
    """Copy one window's pairs into a symmetric image ``out`` (L, L)."""
    for t in range(length):
        out[t, t] = diagonal
    at = 0
    for lag in range(1, length):
        for t in range(length - lag):
            out[t, t + lag] = buffer[at + t]
            out[t + lag, t] = buffer[at + t]
        at += length - lag


@njit(cache=True, nogil=True)
def to_log_distance(
    squares: NDArray[np.float32], out: NDArray[np.float32], n: int, sigma: float
) -> None:
    """Set out[i] to log(1 + D_i / (2 sigma^2)) for n squares D_i; 0 if sigma is 0."""
    if sigma == 0.0:
        out[:n] = ZERO
        return
    factor = np.float32(min(1.0 / (2.0 * sigma * sigma), 3.0e38))
    for i in range(n):
        out[i] = _log(ONE + min(squares[i] * factor, MAX_FINITE))


@njit(cache=True, nogil=True, inline="always")
def _log(y: np.float32) -> np.float32:
    """Return log(y) for 1 <= y <= MAX_FINITE in float32; log(1) is exactly 0."""
    bits = np.float32(y).view(np.int32)
    exponent = np.int32(np.int32(bits - SQRT_HALF_BITS) >> MANTISSA_BITS)
    mantissa = np.int32(bits - (exponent << MANTISSA_BITS))
    x = np.int32(mantissa).view(np.float32) - ONE
    e = np.float32(exponent)
    p = ((((((((P0 * x + P1) * x + P2) * x + P3) * x + P4) * x + P5) * x + P6) * x + P7) * x) + P8
    xx = x * x
    return x + (p * x * xx + e * LOG_2_LOW - HALF * xx) + e * LOG_2_HIGH


@njit(cache=True, nogil=True, inline="always")
def similarity(product: np.float32, inverse_a: np.float32, inverse_b: np.float32) -> np.float32:
    """Return (1 + cosine) / 2, in [0, 1]; 1/2 for a zero vector, whose inverse norm is 0."""
    return min(max(HALF + HALF * (product * inverse_a * inverse_b), ZERO), ONE)


@njit(cache=True, nogil=True)
def invert_roots(squares: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    """Set ``out`` to inverse norms, given squared norms; 0 for 0."""
    for t in range(squares.size):
        root = np.sqrt(squares[t])
        out[t] = ONE / root if root > ZERO else ZERO
