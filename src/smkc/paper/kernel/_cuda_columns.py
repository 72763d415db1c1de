"""Observations of windows -> their states on a GPU, for the buckets that occur.

In: a recording's observations on the device and start rows. Out: for every window the columns of
its state matrix whose bucket occurs, without gaps. See ``cuda/columns.cu``.
"""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smkc.paper.kernel._nvrtc import compiled
from smkc.paper.sketch import PRESENCE_SLOPE, STATE_LIMIT, Hashed, Sketch
from smkc.paper.sketch._loops import HEADROOM

# Largest number of buckets per stream: a variable's 2 buckets and signs are packed into 32 bits.
MOST_BUCKETS = 256

# Largest number of rows that a block of threads processes at a time.
MAX_BLOCK_ROWS = 256


class Observed(NamedTuple):
    """A recording's observations by row, and its variables' hashes, on the device.

    ``indptr`` (T + 1,) int64, ``codes`` (N,) int32, ``values`` (N,) float32; ``hashes`` (V,) int32
    as :func:`packed` makes them.
    """

    indptr: Tensor
    codes: Tensor
    values: Tensor
    hashes: Tensor


class Columns(NamedTuple):
    """States of B windows: the first ``counts[b]`` columns of ``values[b]`` (2m, L) are in use."""

    values: Tensor
    counts: Tensor


def packed(hashed: Hashed) -> NDArray[np.int32]:
    """Return (V,) packed hashes: value bucket and sign in the lower 16 bits, presence above."""
    value = hashed.value_bucket | (hashed.value_sign < 0).astype(np.uint32) << 8
    presence = hashed.presence_bucket | (hashed.presence_sign < 0).astype(np.uint32) << 8
    return (value | presence << 16).astype(np.int32)


def compact_columns(observed: Observed, starts: Tensor, window: int, sketch: Sketch) -> Columns:
    """Return the columns of B windows that begin at ``starts`` (B,) int64.

    Memory is allocated for all 2m columns of a window; only those that occur are written and read.
    """
    values = torch.empty((len(starts), sketch.width, window), device=starts.device)
    counts = torch.empty(len(starts), dtype=torch.int32, device=starts.device)
    rows = min(MAX_BLOCK_ROWS, -(-window // 32) * 32)
    kernel = compiled(
        "columns",
        starts.device,
        LENGTH=window,
        ROWS=rows,
        BUCKETS=sketch.buckets,
        PRESENCE=int(sketch.presence),
        SATURATE=int(sketch.saturate),
        NORMALISE=int(sketch.normalise),
        SLOPE=PRESENCE_SLOPE,
        LIMIT=f"{float(STATE_LIMIT)!r}f",
        ROOM=f"{float(HEADROOM)!r}f",
    )
    if len(starts):
        n_threads = (2 if sketch.presence else 1) * rows
        kernel(len(starts), n_threads, *observed, starts, values, counts)
    return Columns(values, counts)
