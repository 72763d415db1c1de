"""Distances of windows to those references that can be among their nearest, on a GPU.

In: every group's two largest products, with a bound of their error. Out: mean cosine distances to
the K nearest references. This module needs Triton, which torch brings along on a GPU.
"""

import triton
import triton.language as tl
from torch import Tensor

__all__ = ["COLUMNS", "NOTHING", "measure_nearest"]

# Stands for a reference that is not there: below every product, and finite, since a position is
# written into its last bits.
NOTHING = tl.constexpr(-1.0e30)

# Numbers that are read in one go: as many as registers hold.
LARGEST_READ = 8192

# Groups that the references of a tile fall into, in turn. A group's columns lie so far apart: on
# Hopper one thread holds them all, and finds the largest by itself.
COLUMNS = tl.constexpr(8)


def measure_nearest(
    maxima: Tensor,
    slack: Tensor,
    queries: Tensor,
    references: Tensor,
    neighbours: int,
    places: Tensor,
    measured: Tensor,
    out: Tensor,
    is_open: Tensor,
    *,
    group_size: int,
    tile: int,
    rows: int,
    warps: int,
) -> None:
    """Set ``out`` (b,) to mean cosine distances to the nearest, ``is_open`` (b,) where it is not.

    Parameters
    ----------
    maxima
        (2, >= b, groups) float32, each group's largest product and its second; the last bits of
        the largest are its position in the group.
    slack
        (b,) float32, twice the largest error of a product.
    queries, references
        (b, d) and (n, d) float32.
    neighbours
        how many to average over; so many groups at least are not empty.
    places, measured
        (>= b, m) int32 and float32, to work in; a window that needs more is left open.
    group_size, tile
        references a group, and a tile of them.
    rows, warps
        references measured in one go, if they are not too wide, and warps of the program.
    """
    n_queries, width = queries.shape
    n_groups = maxima.shape[2]
    padded_width = triton.next_power_of_2(width)
    rows = max(1, min(rows, group_size, LARGEST_READ // padded_width))
    _measure[(n_queries,)](
        *(maxima[0], maxima[1], slack, queries, references, places, measured, out, is_open),
        *(len(references), n_groups, width, neighbours),
        GROUPS=triton.next_power_of_2(n_groups),
        WIDTH=padded_width,
        SIZE=group_size,
        TILE=tile,
        ROWS=rows,
        MOST=places.shape[1],
        num_warps=warps,
    )


@triton.jit
def _measure(  # type: ignore[no-untyped-def]
    maxima,
    seconds,
    slack,
    queries,
    references,
    places,
    measured,
    out,
    is_open,
    n_references,
    n_groups,
    width,
    k,
    GROUPS: tl.constexpr,
    WIDTH: tl.constexpr,
    SIZE: tl.constexpr,
    TILE: tl.constexpr,
    ROWS: tl.constexpr,
    MOST: tl.constexpr,
):
    """Choose the references that may be among one window's k nearest, and measure them.

    ``places`` (b, MOST) holds codes, group times SIZE plus position: from its front, of the groups'
    largest products; from its end, of those groups whose second largest counts too. ``measured``
    (b, MOST) holds distances.
    """
    query = tl.program_id(0).to(tl.int64)
    near = places + query * MOST
    shared = near + MOST - 1
    measured += query * MOST
    groups = tl.arange(0, GROUPS)
    best = tl.load(maxima + query * n_groups + groups, mask=groups < n_groups, other=NOTHING)
    # t: k groups or a few more reach it. Halving may end early on equal maxima: then more do.
    low = tl.min(tl.where(best > 0.5 * NOTHING, best, -NOTHING))
    high = tl.max(best)
    n_low = GROUPS
    tries = 0
    while (tries < 40) & (n_low > k + 2):
        middle = 0.5 * (low + high)
        n_middle = tl.sum((best >= middle).to(tl.int32))
        is_below = n_middle >= k
        low = tl.where(is_below, middle, low)
        n_low = tl.where(is_below, n_middle, n_low)
        high = tl.where(is_below, high, middle)
        tries += 1
    limit = low - tl.load(slack + query)
    is_near = (best >= limit) & (best > 0.5 * NOTHING)
    n_near = tl.sum(is_near.to(tl.int32))
    second = tl.load(seconds + query * n_groups + groups, mask=is_near, other=NOTHING)
    is_shared = is_near & (second >= limit)
    n_shared = tl.sum(is_shared.to(tl.int32))
    # Not many enough: the window is not a number.
    is_closed = (n_near >= k) & (n_near + n_shared * SIZE <= MOST)
    tl.store(is_open + query, is_closed == 0)
    if is_closed:
        codes = groups * SIZE + (best.to(tl.int32, bitcast=True) & (SIZE - 1))
        tl.store(near + tl.cumsum(is_near.to(tl.int32)) - 1, codes, mask=is_near)
        if n_shared > 0:
            tl.store(shared - (tl.cumsum(is_shared.to(tl.int32)) - 1), codes, mask=is_shared)
        tl.debug_barrier()
        columns = tl.arange(0, WIDTH)
        q = tl.load(queries + query * width + columns, mask=columns < width, other=0.0)
        steps = tl.arange(0, ROWS)
        for first in range(0, n_near, ROWS):
            which = first + steps
            is_one = which < n_near
            code = tl.load(near + which, mask=is_one, other=0)
            far = _distances(q, references, code, is_one, width, WIDTH, SIZE, TILE)
            tl.store(measured + which, far, mask=is_one)
        for place in range(0, n_shared):
            code = tl.load(shared - place)
            for first in range(0, SIZE, ROWS):
                other = (code // SIZE) * SIZE + first + steps
                is_one = (other != code) & (_row(other, SIZE, TILE) < n_references)
                far = _distances(q, references, other, is_one, width, WIDTH, SIZE, TILE)
                tl.store(measured + n_near + place * SIZE + first + steps, far)
        tl.debug_barrier()
        n_measured = n_near + n_shared * SIZE
        if n_measured <= 128:
            tl.store(out + query, _mean_of_smallest(measured, n_measured, k, 128))
        else:
            tl.store(out + query, _mean_of_smallest(measured, n_measured, k, MOST))


@triton.jit
def _row(code, SIZE: tl.constexpr, TILE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return the row of the reference at a position of a group."""
    SHARED: tl.constexpr = TILE // COLUMNS
    group = code // SIZE
    position = code % SIZE
    tile = (group // COLUMNS) * (SIZE // SHARED) + position // SHARED
    return tile * TILE + (position % SHARED) * COLUMNS + group % COLUMNS


@triton.jit
def _distances(  # type: ignore[no-untyped-def]
    q,
    references,
    code,
    is_one,
    width,
    WIDTH: tl.constexpr,
    SIZE: tl.constexpr,
    TILE: tl.constexpr,
):
    """(ROWS,) cosine distances of one window to references; 4, which none has, for the others."""
    columns = tl.arange(0, WIDTH)
    row = _row(code, SIZE, TILE).to(tl.int64)
    r = tl.load(
        references + row[:, None] * width + columns[None, :],
        mask=is_one[:, None] & (columns < width)[None, :],
        other=0.0,
    )
    far = tl.maximum(1.0 - tl.sum(r * q[None, :], axis=1), 0.0)
    return tl.where(is_one, far, 4.0)


@triton.jit
def _mean_of_smallest(measured, n, k, MOST: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return the mean of the k smallest of n distances, by halving between their bits."""
    which = tl.arange(0, MOST)
    far = tl.load(measured + which, mask=which < n, other=4.0)
    bits = far.to(tl.int32, bitcast=True)
    low = tl.min(bits) - 1
    high = tl.max(bits)
    n_high = MOST
    while (high - low > 1) & (n_high != k):
        middle = low + (high - low) // 2
        n_middle = tl.sum((bits <= middle).to(tl.int32))
        is_above = n_middle >= k
        high = tl.where(is_above, middle, high)
        n_high = tl.where(is_above, n_middle, n_high)
        low = tl.where(is_above, low, middle)
    is_below = bits < high
    total = tl.sum(tl.where(is_below, far, 0.0))
    n_below = tl.sum(is_below.to(tl.int32))
    return (total + (k - n_below).to(tl.float32) * high.to(tl.float32, bitcast=True)) / k
