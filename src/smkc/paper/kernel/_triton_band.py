"""Columns of windows -> bands of their kernel images on a GPU, one program per window.

In: compacted columns. Out: float32 channels and the scale sigma(g). This module needs Triton.

The median of distances is selected without sorting: a bracket around the wanted number is narrowed
by counting how many numbers are at or below a probe, until the wanted number is the first or the
last in the bracket. Non-negative floats are ordered like their bit patterns.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from smkc.paper.kernel._cuda_columns import Columns
from smkc.paper.kernel.representation import Representation

# Pairs of the largest band that fits into one program's registers.
MOST_PAIRS = 8192

# A little below the largest float32; see ``smkc.paper.kernel._channels``.
LARGEST = tl.constexpr(3.0e38)

LOG_2 = tl.constexpr(0.6931471805599453)

# Bit pattern of infinity, which marks places without a pair.
INFINITE = tl.constexpr(0x7F800000)

# Every 4th probe halves the bracket; the others interpolate, as if numbers were evenly spaced.
HALVE_EVERY = tl.constexpr(4)


def fill_bands(columns: Columns, representation: Representation, out: Tensor) -> Tensor:
    """Fill ``out`` (B, K, w, L) with the channels of w lags; return (B,) float64 sigma(g)."""
    n_windows, width, length = columns.values.shape
    sigma = torch.full((n_windows,), torch.nan, dtype=torch.float64, device=out.device)
    lags = triton.next_power_of_2(representation.size)
    side = triton.next_power_of_2(length)
    _band[(n_windows,)](
        columns.values,
        columns.counts,
        out,
        sigma,
        width,
        length,
        representation.size,
        len(representation.channels),
        *representation.places,
        lags,
        side,
        num_warps=max(1, min(8, lags * side // 512)),
    )
    return sigma


@triton.jit
def _band(  # type: ignore[no-untyped-def]
    columns,
    counts,
    out,
    sigmas,
    width,
    LENGTH: tl.constexpr,
    N_LAGS: tl.constexpr,
    N_CHANNELS: tl.constexpr,
    COS_G: tl.constexpr,
    COS_DELTA: tl.constexpr,
    COS_SIZE: tl.constexpr,
    LOG_G: tl.constexpr,
    LOG_DELTA: tl.constexpr,
    LOG_SIZE: tl.constexpr,
    LAGS: tl.constexpr,
    SIDE: tl.constexpr,
):
    """Compare each time step of one window with the N_LAGS steps that follow it."""
    window = tl.program_id(0).to(tl.int64)
    n_columns = tl.load(counts + window)
    column = columns + window * width * LENGTH
    lags = tl.arange(0, LAGS)[:, None]
    steps = tl.arange(0, SIDE)[None, :]
    later = steps + lags + 1
    is_pair = (later < LENGTH) & (lags < N_LAGS)
    has_step = steps < LENGTH
    zero = tl.zeros((LAGS, SIDE), tl.float32)
    like_g, like_delta, like_size = zero, zero, zero
    far_g, far_delta, far_size = zero, zero, zero
    later_g, later_delta = zero, zero
    none = tl.zeros((1, SIDE), tl.float32)
    step_g, step_delta = none, none
    for _ in range(n_columns):
        a = tl.load(column + steps, mask=has_step, other=0.0)
        b = tl.load(column + later, mask=is_pair, other=0.0)
        if (COS_DELTA >= 0) | (COS_SIZE >= 0) | (LOG_DELTA >= 0) | (LOG_SIZE >= 0):
            before = tl.load(column + tl.maximum(steps - 1, 0), mask=has_step, other=0.0)
            delta_a = a - before
            delta_b = b - tl.load(column + later - 1, mask=is_pair, other=0.0)
        if COS_G >= 0:
            like_g += a * b
            step_g += a * a
            later_g += b * b
        if LOG_G >= 0:
            far_g += (a - b) * (a - b)
        if COS_DELTA >= 0:
            like_delta += delta_a * delta_b
        if LOG_DELTA >= 0:
            far_delta += (delta_a - delta_b) * (delta_a - delta_b)
        if (COS_DELTA >= 0) | (COS_SIZE >= 0):
            step_delta += delta_a * delta_a
            later_delta += delta_b * delta_b
        if COS_SIZE >= 0:
            like_size += tl.abs(delta_a) * tl.abs(delta_b)
        if LOG_SIZE >= 0:
            apart = tl.abs(delta_a) - tl.abs(delta_b)
            far_size += apart * apart
        column += LENGTH

    plane: tl.constexpr = LENGTH * N_LAGS
    to = out + window * N_CHANNELS * plane + lags * LENGTH + steps
    is_place = has_step & (lags < N_LAGS)
    if COS_G >= 0:
        like = tl.where(is_pair, _cosine(like_g, step_g, later_g), 0.0)
        tl.store(to + COS_G * plane, like, mask=is_place)
    if COS_DELTA >= 0:
        like = tl.where(is_pair, _cosine(like_delta, step_delta, later_delta), 0.0)
        tl.store(to + COS_DELTA * plane, like, mask=is_place)
    if COS_SIZE >= 0:
        like = tl.where(is_pair, _cosine(like_size, step_delta, later_delta), 0.0)
        tl.store(to + COS_SIZE * plane, like, mask=is_place)
    if LOG_G >= 0:
        sigma = _band_plane(to + LOG_G * plane, far_g, is_pair, is_place, LENGTH, N_LAGS)
        tl.store(sigmas + window, sigma)
    if LOG_DELTA >= 0:
        _band_plane(to + LOG_DELTA * plane, far_delta, is_pair, is_place, LENGTH, N_LAGS)
    if LOG_SIZE >= 0:
        _band_plane(to + LOG_SIZE * plane, far_size, is_pair, is_place, LENGTH, N_LAGS)


@triton.jit
def _band_plane(  # type: ignore[no-untyped-def]
    to, far, is_pair, is_place, LENGTH: tl.constexpr, N_LAGS: tl.constexpr
):
    """Write the log distances of squares, 0 where there is no pair; return the median distance."""
    n = N_LAGS * LENGTH - N_LAGS * (N_LAGS + 1) // 2
    sigma = _median(tl.where(is_pair, far, float("inf")), n)
    tl.store(to, tl.where(is_pair, _logarithm(far, sigma), 0.0), mask=is_place)
    return sigma


# ---------------------------------------------------------------------- channels


@triton.jit
def _cosine(products, squares, other_squares):  # type: ignore[no-untyped-def]
    """Return (1 + cosine) / 2, in [0, 1]; 1/2 if either vector is zero."""
    like = 0.5 + 0.5 * (products * _inverse_root(squares) * _inverse_root(other_squares))
    return tl.minimum(tl.maximum(like, 0.0), 1.0)


@triton.jit
def _inverse_root(squares):  # type: ignore[no-untyped-def]
    """Return 1 / sqrt(squares), and 0 for 0."""
    is_zero = squares == 0
    return tl.where(is_zero, 0.0, 1.0 / tl.sqrt_rn(tl.where(is_zero, 1.0, squares)))


@triton.jit
def _logarithm(squares, sigma):  # type: ignore[no-untyped-def]
    """Return log(1 + d^2 / (2 sigma^2)); 0 if sigma is 0."""
    is_zero = sigma == 0
    factor = tl.where(is_zero, 0.0, 0.5 / tl.where(is_zero, 1.0, sigma * sigma))
    factor = tl.minimum(factor, LARGEST).to(tl.float32)
    x = tl.minimum(squares * factor, LARGEST)
    # Near 0 use the series: 1 + x would lose digits of x.
    series = x * (1.0 + x * (-0.5 + x * (1.0 / 3 - x * (1.0 / 4))))
    return tl.where(x < 0.015625, series, LOG_2 * tl.log2(1.0 + x))


# ---------------------------------------------------------------------- median


@triton.jit
def _median(squares, n):  # type: ignore[no-untyped-def]
    """Return the float64 median of n distances, given their squares; infinite ones are ignored.

    For even n it is the mean of the two middle distances. If it is 0, return the median of the
    positive distances, or 0 if there are none.
    """
    # The order does not matter, so each thread keeps its own numbers.
    bits = tl.reshape(squares, (squares.numel,), can_reorder=True).to(tl.int32, bitcast=True)
    is_finite = bits < INFINITE
    n_zero, most, minus_least = tl.reduce(
        ((bits == 0).to(tl.int32), tl.where(is_finite, bits, 0), _minus(bits, 0)),
        0,
        _sum_and_largest,
    )
    first, second = _ranks(n_zero, n)

    # ``below`` numbers, fewer than ``first``, are at or below lo; ``upto``, at least ``first``, are
    # at or below hi.
    is_zero = n_zero >= first
    lo = tl.where(is_zero, -1, -minus_least - 1)
    hi = tl.where(is_zero, 0, most)
    below = tl.where(is_zero, 0, n_zero)
    upto = tl.where(is_zero, n_zero, n)
    step = 0
    while (upto != first) & (below != first - 1) & (hi - lo > 1):
        share = (first - below).to(tl.float32) / (upto - below).to(tl.float32)
        share = tl.minimum(tl.maximum(share, 1.0 / 64), 1.0 - 1.0 / 64)
        share = tl.where(step % HALVE_EVERY == HALVE_EVERY - 1, 0.5, share)
        at = lo + ((hi - lo).to(tl.float32) * share).to(tl.int32)
        at = tl.maximum(tl.minimum(at, hi - 1), lo + 1)
        count = tl.sum((bits <= at).to(tl.int32), 0)
        is_high = count >= first
        lo, below = tl.where(is_high, lo, at), tl.where(is_high, below, count)
        hi, upto = tl.where(is_high, at, hi), tl.where(is_high, count, upto)
        step += 1

    # The lower middle number is the largest up to hi, or the smallest above lo.
    if upto == first:
        one = tl.max(tl.where(bits <= hi, bits, -1), 0)
    else:
        one = -tl.max(_minus(bits, lo), 0)
    count, minus_next = tl.reduce(
        ((bits <= one).to(tl.int32), _minus(bits, one)), 0, _sum_and_larger
    )
    other = tl.where(count >= second, one, -minus_next)
    lower = tl.sqrt_rn(one.to(tl.float32, bitcast=True)).to(tl.float64)
    upper = tl.sqrt_rn(other.to(tl.float32, bitcast=True)).to(tl.float64)
    return tl.where(first == 0, 0.0, 0.5 * (lower + upper))


@triton.jit
def _ranks(n_zero, n):  # type: ignore[no-untyped-def]
    """Return the ranks (from 1) of the two middle numbers of n.

    If both numbers are 0, the ranks are those of the middle positive numbers; 0 if there are none.
    """
    first, second = (n + 1) // 2, n // 2 + 1
    is_zero = n_zero >= second
    first = tl.where(is_zero, n_zero + (n - n_zero + 1) // 2, first)
    second = tl.where(is_zero, n_zero + (n - n_zero) // 2 + 1, second)
    is_none = n_zero >= n
    return tl.where(is_none, 0, first), tl.where(is_none, 0, second)


@triton.jit
def _minus(bits, lo):  # type: ignore[no-untyped-def]
    """Negate the numbers above lo, so that their maximum gives the smallest of them."""
    return tl.where(bits > lo, -bits, -INFINITE)


@triton.jit
def _sum_and_largest(a, b, c, d, e, f):  # type: ignore[no-untyped-def]
    return a + d, tl.maximum(b, e), tl.maximum(c, f)


@triton.jit
def _sum_and_larger(a, b, c, d):  # type: ignore[no-untyped-def]
    return a + c, tl.maximum(b, d)
