"""Observations of windows -> their states on a GPU, only the buckets that occur.

In: a recording's observations on the device and start rows. Out: for every window the columns of
its state matrix that are not zero throughout, side by side. This module needs Triton.
"""

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from smkc.sketch import PRESENCE_SLOPE, STATE_LIMIT, Sketch
from smkc.sketch._loops import HEADROOM

__all__ = ["MOST_BUCKETS", "Columns", "Observed", "compact_columns"]

SLOPE = tl.constexpr(PRESENCE_SLOPE)
LIMIT = tl.constexpr(float(STATE_LIMIT))
ROOM = tl.constexpr(float(HEADROOM))

# Most buckets a stream: which ones occur is kept in words of 32 bits, and every one costs time.
MOST_BUCKETS = 256

# Observations of a row, and columns, that a program looks at together.
ACROSS, TOGETHER = 4, 16


class Observed(NamedTuple):
    """A recording's observations by row, and its variables' hashes, on the device.

    ``indptr`` (T + 1,) int64, ``codes`` (N,) int32, ``values`` (N,) float32; buckets int32 and
    signs float32, one a variable.
    """

    indptr: Tensor
    codes: Tensor
    values: Tensor
    value_bucket: Tensor
    value_sign: Tensor
    presence_bucket: Tensor
    presence_sign: Tensor


class Columns(NamedTuple):
    """States of B windows: the first ``counts[b]`` of ``values[b]`` (2m, L) are a window's own."""

    values: Tensor
    counts: Tensor


def compact_columns(observed: Observed, starts: Tensor, window: int, sketch: Sketch) -> Columns:
    """Return the columns of B windows that begin at ``starts`` (B,) int64.

    Room is made for all 2m columns of a window; only those that occur are written and read.
    """
    values = torch.empty((len(starts), sketch.width, window), device=starts.device)
    counts = torch.empty(len(starts), dtype=torch.int32, device=starts.device)
    _fill[(len(starts),)](
        *observed,
        starts,
        values,
        counts,
        window,
        triton.next_power_of_2(window),
        sketch.buckets,
        triton.next_power_of_2(triton.cdiv(sketch.buckets, 32)),
        ACROSS,
        TOGETHER,
        sketch.presence,
        sketch.saturate,
        sketch.normalise,
        num_warps=4 if window > 32 else 2,
    )
    return Columns(values, counts)


@triton.jit
def _fill(  # type: ignore[no-untyped-def]
    indptr,
    codes,
    values,
    value_bucket,
    value_sign,
    presence_bucket,
    presence_sign,
    starts,
    columns,
    counts,
    length,
    ROWS: tl.constexpr,
    BUCKETS: tl.constexpr,
    WORDS: tl.constexpr,
    ACROSS: tl.constexpr,
    TOGETHER: tl.constexpr,
    PRESENCE: tl.constexpr,
    SATURATE: tl.constexpr,
    NORMALISE: tl.constexpr,
):
    """Fill one window's columns: those of the value stream, then those of the presence stream."""
    window = tl.program_id(0).to(tl.int64)
    steps = tl.arange(0, ROWS)
    row = tl.load(starts + window) + steps
    begin = tl.load(indptr + row, mask=steps < length, other=0)
    n = (tl.load(indptr + row + 1, mask=steps < length, other=0) - begin).to(tl.int32)

    # In double precision, as on the processor; one number a row, so it costs nothing.
    observed = n.to(tl.float64)
    scale = tl.full((ROWS,), 1.0, tl.float32)
    if NORMALISE:
        scale = (1.0 / tl.sqrt(tl.maximum(observed, 1.0))).to(tl.float32)
    scale = scale * ROOM
    weight = observed * SLOPE
    if SATURATE:
        weight = tl.minimum(weight, 1.0)
    mark = (weight * scale.to(tl.float64)).to(tl.float32)

    own = columns + window * (2 * BUCKETS) * length
    n_columns = _fill_stream(
        *(own, length, codes, values, value_bucket, value_sign, begin, n, scale),
        *(True, ROWS, WORDS, ACROSS, TOGETHER),
    )
    if PRESENCE:
        own += n_columns * length
        n_columns += _fill_stream(
            *(own, length, codes, values, presence_bucket, presence_sign, begin, n, mark),
            *(False, ROWS, WORDS, ACROSS, TOGETHER),
        )
    tl.store(counts + window, n_columns)


@triton.jit
def _fill_stream(  # type: ignore[no-untyped-def]
    own,
    length,
    codes,
    values,
    buckets,
    signs,
    begin,
    n,
    scale,
    HAS_VALUES: tl.constexpr,
    ROWS: tl.constexpr,
    WORDS: tl.constexpr,
    ACROSS: tl.constexpr,
    TOGETHER: tl.constexpr,
):
    """Write the columns of one stream, in the order of their buckets; return how many there are.

    Every column looks at every observation: nothing is added at the same time, so sums have one
    order.
    """
    most = tl.max(n, 0)
    word = tl.arange(0, WORDS)
    occurs = tl.zeros((WORDS,), tl.int32)
    for first in range(0, most, ACROSS):
        which = first + tl.arange(0, ACROSS)[:, None]
        is_there = which < n[None, :]
        code = tl.load(codes + begin[None, :] + which, mask=is_there, other=0)
        bucket = tl.load(buckets + code, mask=is_there, other=0)
        bit = tl.where(is_there, 1 << (bucket & 31), 0)
        for k in tl.static_range(WORDS):
            some = tl.where(bucket >> 5 == k, bit, 0)
            some = tl.reduce(tl.reshape(some, (ACROSS * ROWS,), can_reorder=True), 0, _either)
            occurs |= tl.where(word == k, some, 0)
    n_columns = tl.sum(_n_bits(occurs), 0)

    steps = tl.arange(0, ROWS)
    for first_column in range(0, n_columns, TOGETHER):
        wanted = first_column + tl.arange(0, TOGETHER)
        sums = tl.zeros((ROWS, TOGETHER), tl.float32)
        for first in range(0, most, ACROSS):
            which = first + tl.arange(0, ACROSS)[:, None]
            is_there = which < n[None, :]
            code = tl.load(codes + begin[None, :] + which, mask=is_there, other=0)
            amount = tl.load(signs + code, mask=is_there, other=0.0)
            if HAS_VALUES:
                at = begin[None, :] + which
                amount *= tl.load(values + at, mask=is_there, other=0.0) * scale[None, :]
            else:
                amount *= scale[None, :]
            bucket = tl.load(buckets + code, mask=is_there, other=0)
            # The column of a bucket is how many occur before it.
            column = tl.zeros((ACROSS, ROWS), tl.int32)
            for k in tl.static_range(WORDS):
                here = tl.sum(tl.where(word == k, occurs, 0), 0)
                before = tl.where(bucket >> 5 == k, (1 << (bucket & 31)) - 1, -1)
                column += tl.where(bucket >> 5 >= k, _n_bits(here & before), 0)
            is_mine = column[:, :, None] == wanted[None, None, :]
            sums += tl.sum(tl.where(is_mine, amount[:, :, None], 0.0), 0)
        sums = tl.minimum(tl.maximum(sums / ROOM, -LIMIT), LIMIT)
        to = own + wanted[None, :] * length + steps[:, None]
        tl.store(to, sums, mask=(wanted[None, :] < n_columns) & (steps[:, None] < length))
    return n_columns


@triton.jit
def _either(a, b):  # type: ignore[no-untyped-def]
    return a | b


@triton.jit
def _n_bits(word):  # type: ignore[no-untyped-def]
    """How many bits are set in each word of 32."""
    word = word.to(tl.uint32, bitcast=True)
    word = word - ((word >> 1) & 0x55555555)
    word = (word & 0x33333333) + ((word >> 2) & 0x33333333)
    word = (word + (word >> 4)) & 0x0F0F0F0F
    return ((word * 0x01010101) >> 24).to(tl.int32)
