"""All pairs of time steps of a window on a GPU, in one pass: products and squared distances.

In: states. Out: for states, differences and absolute differences, how every two time steps compare.
This module needs Triton, which torch brings along on a GPU.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["compare_pairs"]

# Time steps a side of the tile that one program compares.
TILES = (16, 32, 64)


def compare_pairs(states: Tensor) -> Tensor:
    """(B, 6, L, L) float32: products, then squared distances, of the three sequences' time steps.

    Sequences are states (B, L, d), their differences and the absolute values of those; the first
    difference is 0. Distances are summed differences: a Gram matrix would lose small ones.

    Notes
    -----
    Paper, section 3.2.2. A tile of pairs stays in registers while the d numbers of its time steps
    pass by once, for all six results. Tiles below the diagonal are mirrored.
    """
    n_windows, length, width = states.shape
    columns = states.float().transpose(1, 2).contiguous()
    out = torch.empty((n_windows, 6, length, length), device=states.device)
    tile = next((size for size in TILES if size >= length), TILES[-1])
    n_tiles = triton.cdiv(length, tile)
    _compare[(n_windows, n_tiles, n_tiles)](
        columns, out, length, width, tile, num_warps=8 if tile == TILES[-1] else 4
    )
    return out


@triton.jit
def _compare(  # type: ignore[no-untyped-def]
    columns, out, length: tl.constexpr, width: tl.constexpr, TILE: tl.constexpr
):
    """Compare one tile of pairs of one window; ``columns`` is (B, d, L), ``out`` (B, 6, L, L)."""
    window = tl.program_id(0).to(tl.int64)
    first = tl.program_id(1)
    second = tl.program_id(2)
    if first > second:
        return
    rows = first * TILE + tl.arange(0, TILE)
    others = second * TILE + tl.arange(0, TILE)
    has_row = rows < length
    has_other = others < length
    product_g = tl.zeros((TILE, TILE), tl.float32)
    product_delta = tl.zeros((TILE, TILE), tl.float32)
    product_abs = tl.zeros((TILE, TILE), tl.float32)
    far_g = tl.zeros((TILE, TILE), tl.float32)
    far_delta = tl.zeros((TILE, TILE), tl.float32)
    far_abs = tl.zeros((TILE, TILE), tl.float32)
    column = columns + window * width * length
    for _ in range(width):
        a = tl.load(column + rows, mask=has_row, other=0.0)
        b = tl.load(column + others, mask=has_other, other=0.0)
        before_a = tl.load(column + rows - 1, mask=has_row & (rows > 0), other=0.0)
        before_b = tl.load(column + others - 1, mask=has_other & (others > 0), other=0.0)
        delta_a = tl.where(rows > 0, a - before_a, 0.0)
        delta_b = tl.where(others > 0, b - before_b, 0.0)
        abs_a = tl.abs(delta_a)
        abs_b = tl.abs(delta_b)
        product_g += a[:, None] * b[None, :]
        product_delta += delta_a[:, None] * delta_b[None, :]
        product_abs += abs_a[:, None] * abs_b[None, :]
        apart = a[:, None] - b[None, :]
        far_g += apart * apart
        apart = delta_a[:, None] - delta_b[None, :]
        far_delta += apart * apart
        apart = abs_a[:, None] - abs_b[None, :]
        far_abs += apart * apart
        column += length
    plane = length * length
    here = rows[:, None] * length + others[None, :]
    mirrored = others[None, :] * length + rows[:, None]
    is_pair = has_row[:, None] & has_other[None, :]
    to = out + window * 6 * plane
    tl.store(to + here, product_g, mask=is_pair)
    tl.store(to + plane + here, product_delta, mask=is_pair)
    tl.store(to + 2 * plane + here, product_abs, mask=is_pair)
    tl.store(to + 3 * plane + here, far_g, mask=is_pair)
    tl.store(to + 4 * plane + here, far_delta, mask=is_pair)
    tl.store(to + 5 * plane + here, far_abs, mask=is_pair)
    if first < second:
        tl.store(to + mirrored, product_g, mask=is_pair)
        tl.store(to + plane + mirrored, product_delta, mask=is_pair)
        tl.store(to + 2 * plane + mirrored, product_abs, mask=is_pair)
        tl.store(to + 3 * plane + mirrored, far_g, mask=is_pair)
        tl.store(to + 4 * plane + mirrored, far_delta, mask=is_pair)
        tl.store(to + 5 * plane + mirrored, far_abs, mask=is_pair)
