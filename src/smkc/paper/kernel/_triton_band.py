"""Columns of windows -> bands of their kernel images on a GPU, each window in one go.

In: compacted columns. Out: float32 channels and the scale sigma(g). This module needs Triton.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from smkc.paper.kernel._cuda_columns import Columns
from smkc.paper.kernel._triton_channels import cosine, logarithm
from smkc.paper.kernel._triton_median import median
from smkc.paper.kernel.representation import Representation

__all__ = ["MOST_PAIRS", "fill_bands"]

# Pairs of the largest band that fits one program's registers.
MOST_PAIRS = 8192


def fill_bands(columns: Columns, representation: Representation, out: Tensor) -> Tensor:
    """Fill ``out`` (B, K, w, L) with the channels of pairs of w lags; return (B,) sigma(g)."""
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
    """Compare each time step of one window with the N_LAGS that follow it."""
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
        like = tl.where(is_pair, cosine(like_g, step_g, later_g), 0.0)
        tl.store(to + COS_G * plane, like, mask=is_place)
    if COS_DELTA >= 0:
        like = tl.where(is_pair, cosine(like_delta, step_delta, later_delta), 0.0)
        tl.store(to + COS_DELTA * plane, like, mask=is_place)
    if COS_SIZE >= 0:
        like = tl.where(is_pair, cosine(like_size, step_delta, later_delta), 0.0)
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
    """Write log distances of squares, 0 where there is no pair; return the median distance."""
    n = N_LAGS * LENGTH - N_LAGS * (N_LAGS + 1) // 2
    sigma = median(tl.where(is_pair, far, float("inf")), n)
    tl.store(to, tl.where(is_pair, logarithm(far, sigma), 0.0), mask=is_place)
    return sigma
