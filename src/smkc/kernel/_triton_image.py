"""Columns of windows -> kernel images on a GPU, each window in one go.

In: compacted columns. Out: float32 channels and the scale sigma(g). Pairs of time steps are
compared, their median found and their logarithms taken in registers: nothing but the image is
written. This module needs Triton.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from smkc.kernel._triton_channels import cosine, logarithm, places
from smkc.kernel._triton_columns import Columns
from smkc.kernel._triton_median import median_of_image
from smkc.kernel.representation import Representation

__all__ = ["LONGEST", "SHORTEST", "fill_images"]

# Windows whose image fits one program's registers, and is worth one.
SHORTEST, LONGEST = 16, 128


def fill_images(columns: Columns, representation: Representation, out: Tensor) -> Tensor:
    """Fill ``out`` (B, K, L, L) with the channels of all pairs; return (B,) float64 sigma(g)."""
    n_windows, width, length = columns.values.shape
    sigma = torch.full((n_windows,), torch.nan, dtype=torch.float64, device=out.device)
    side = triton.next_power_of_2(length)
    _image[(n_windows,)](
        columns.values,
        columns.counts,
        out,
        sigma,
        width,
        length,
        len(representation.channels),
        *places(representation),
        side // 2,
        num_warps=max(1, side * side // 1024),
    )
    return sigma


@triton.jit
def _image(  # type: ignore[no-untyped-def]
    columns,
    counts,
    out,
    sigmas,
    width,
    LENGTH: tl.constexpr,
    N_CHANNELS: tl.constexpr,
    COS_G: tl.constexpr,
    COS_DELTA: tl.constexpr,
    COS_SIZE: tl.constexpr,
    LOG_G: tl.constexpr,
    LOG_DELTA: tl.constexpr,
    LOG_SIZE: tl.constexpr,
    HALF: tl.constexpr,
):
    """Make one window's image: of its states, then of their differences.

    Three tiles of pairs are compared: early with early time steps, early with late, late with late;
    the fourth mirrors the second. A tile has four axes, so that a thread's pairs share few rows and
    columns: of both the last few lie in a warp, the others in a thread and over warps.
    """
    window = tl.program_id(0).to(tl.int64)
    n_columns = tl.load(counts + window)
    column = columns + window * width * LENGTH
    to = out + window * N_CHANNELS * LENGTH * LENGTH
    rows = 4 * tl.arange(0, HALF // 4)[None, :, None, None] + tl.arange(0, 4)[None, None, :, None]
    others = 8 * tl.arange(0, HALF // 8)[:, None, None, None] + tl.arange(0, 8)[None, None, None, :]
    zero = tl.zeros((HALF // 8, HALF // 4, 4, 8), tl.float32)
    none = tl.zeros((1, HALF // 4, 4, 1), tl.float32)
    other_none = tl.zeros((HALF // 8, 1, 1, 8), tl.float32)
    if (COS_G >= 0) | (LOG_G >= 0):
        like_1, like_2, like_3, far_1, far_2, far_3 = zero, zero, zero, zero, zero, zero
        square_1, square_2, other_1, other_2 = none, none, other_none, other_none
        for k in range(n_columns):
            early, late, other_early, other_late = _states(
                column + k * LENGTH, rows, others, LENGTH, HALF
            )
            if COS_G >= 0:
                like_1 += early * other_early
                like_2 += early * other_late
                like_3 += late * other_late
                square_1 += early * early
                square_2 += late * late
                other_1 += other_early * other_early
                other_2 += other_late * other_late
            if LOG_G >= 0:
                far_1 += (early - other_early) * (early - other_early)
                far_2 += (early - other_late) * (early - other_late)
                far_3 += (late - other_late) * (late - other_late)
        if COS_G >= 0:
            like_1 = cosine(like_1, square_1, other_1)
            like_2 = cosine(like_2, square_1, other_2)
            like_3 = cosine(like_3, square_2, other_2)
            _write(to, COS_G, like_1, like_2, like_3, 1.0, rows, others, LENGTH, HALF)
        if LOG_G >= 0:
            sigma = _write_logarithms(to, LOG_G, far_1, far_2, far_3, rows, others, LENGTH, HALF)
            tl.store(sigmas + window, sigma)
    if (COS_DELTA >= 0) | (COS_SIZE >= 0):
        like_1, like_2, like_3, size_1, size_2, size_3 = zero, zero, zero, zero, zero, zero
        square_1, square_2, other_1, other_2 = none, none, other_none, other_none
        for k in range(n_columns):
            early, late, other_early, other_late = _differences(
                column + k * LENGTH, rows, others, LENGTH, HALF
            )
            square_1 += early * early
            square_2 += late * late
            other_1 += other_early * other_early
            other_2 += other_late * other_late
            like_1 += early * other_early
            like_2 += early * other_late
            like_3 += late * other_late
            size_1 += tl.abs(early) * tl.abs(other_early)
            size_2 += tl.abs(early) * tl.abs(other_late)
            size_3 += tl.abs(late) * tl.abs(other_late)
        if COS_DELTA >= 0:
            like_1 = cosine(like_1, square_1, other_1)
            like_2 = cosine(like_2, square_1, other_2)
            like_3 = cosine(like_3, square_2, other_2)
            _write(to, COS_DELTA, like_1, like_2, like_3, 1.0, rows, others, LENGTH, HALF)
        if COS_SIZE >= 0:
            size_1 = cosine(size_1, square_1, other_1)
            size_2 = cosine(size_2, square_1, other_2)
            size_3 = cosine(size_3, square_2, other_2)
            _write(to, COS_SIZE, size_1, size_2, size_3, 1.0, rows, others, LENGTH, HALF)
    if (LOG_DELTA >= 0) | (LOG_SIZE >= 0):
        far_1, far_2, far_3, size_1, size_2, size_3 = zero, zero, zero, zero, zero, zero
        for k in range(n_columns):
            early, late, other_early, other_late = _differences(
                column + k * LENGTH, rows, others, LENGTH, HALF
            )
            far_1 += (early - other_early) * (early - other_early)
            far_2 += (early - other_late) * (early - other_late)
            far_3 += (late - other_late) * (late - other_late)
            early, late = tl.abs(early), tl.abs(late)
            other_early, other_late = tl.abs(other_early), tl.abs(other_late)
            size_1 += (early - other_early) * (early - other_early)
            size_2 += (early - other_late) * (early - other_late)
            size_3 += (late - other_late) * (late - other_late)
        if LOG_DELTA >= 0:
            _write_logarithms(to, LOG_DELTA, far_1, far_2, far_3, rows, others, LENGTH, HALF)
        if LOG_SIZE >= 0:
            _write_logarithms(to, LOG_SIZE, size_1, size_2, size_3, rows, others, LENGTH, HALF)


@triton.jit
def _states(  # type: ignore[no-untyped-def]
    column, rows, others, LENGTH: tl.constexpr, HALF: tl.constexpr
):
    """Return a column at early and late time steps, as rows and as columns; 0 past the end."""
    return (
        _at(column, rows, LENGTH, HALF),
        _at(column, rows + HALF, LENGTH, 2 * HALF),
        _at(column, others, LENGTH, HALF),
        _at(column, others + HALF, LENGTH, 2 * HALF),
    )


@triton.jit
def _differences(  # type: ignore[no-untyped-def]
    column, rows, others, LENGTH: tl.constexpr, HALF: tl.constexpr
):
    """Return how much more they are than a step before; 0 at the first and past the end."""
    return (
        _at(column, rows, LENGTH, HALF) - _at(column, tl.maximum(rows - 1, 0), LENGTH, HALF),
        _at(column, rows + HALF, LENGTH, 2 * HALF)
        - tl.where(rows + HALF < LENGTH, _at(column, rows + HALF - 1, LENGTH, 2 * HALF), 0.0),
        _at(column, others, LENGTH, HALF) - _at(column, tl.maximum(others - 1, 0), LENGTH, HALF),
        _at(column, others + HALF, LENGTH, 2 * HALF)
        - tl.where(others + HALF < LENGTH, _at(column, others + HALF - 1, LENGTH, 2 * HALF), 0.0),
    )


@triton.jit
def _at(column, steps, LENGTH: tl.constexpr, END: tl.constexpr):  # type: ignore[no-untyped-def]
    """Numbers at steps before END; 0 for those past the window's end, if there are any."""
    if LENGTH >= END:
        return tl.load(column + steps)
    else:
        return tl.load(column + steps, mask=steps < LENGTH, other=0.0)


@triton.jit
def _write_logarithms(  # type: ignore[no-untyped-def]
    to,
    PLACE: tl.constexpr,
    far_1,
    far_2,
    far_3,
    rows,
    others,
    LENGTH: tl.constexpr,
    HALF: tl.constexpr,
):
    """Write log distances of squares; return the median distance."""
    if LENGTH < 2 * HALF:
        is_late = (rows + HALF < LENGTH) & (others + HALF < LENGTH)
        far_2 = tl.where(others + HALF < LENGTH, far_2, float("inf"))
        far_3 = tl.where(is_late, far_3, float("inf"))
    sigma = median_of_image(far_1, far_2, far_3, LENGTH)
    far_1, far_2 = logarithm(far_1, sigma), logarithm(far_2, sigma)
    far_3 = logarithm(far_3, sigma)
    _write(to, PLACE, far_1, far_2, far_3, 0.0, rows, others, LENGTH, HALF)
    return sigma


@triton.jit
def _write(  # type: ignore[no-untyped-def]
    to,
    PLACE: tl.constexpr,
    first,
    second,
    third,
    OWN: tl.constexpr,
    rows,
    others,
    LENGTH: tl.constexpr,
    HALF: tl.constexpr,
):
    """Write a channel's tiles, with OWN on the diagonal; the second one also mirrored."""
    to += PLACE * LENGTH * LENGTH
    late, other_late = rows + HALF, others + HALF
    is_own = rows == others
    tl.store(to + rows * LENGTH + others, tl.where(is_own, OWN, first))
    tl.store(to + rows * LENGTH + other_late, second, mask=other_late < LENGTH)
    tl.store(to + other_late * LENGTH + rows, second, mask=other_late < LENGTH)
    is_late = (late < LENGTH) & (other_late < LENGTH)
    tl.store(to + late * LENGTH + other_late, tl.where(is_own, OWN, third), mask=is_late)
