"""Distances of windows to those references that can be among their nearest, on a GPU.

In: every group's two largest products, with a bound of their error. Out: mean cosine distances to
the K nearest references. This module needs Triton, which torch brings along on a GPU.
"""

import triton
import triton.language as tl
from torch import Tensor

__all__ = ["BUNDLE", "COLUMNS", "NOTHING", "measure_nearest"]

# Stands for a reference that is not there: below every product, and finite, since a position is
# written into its last bits.
NOTHING = tl.constexpr(-1.0e30)

# Numbers that are read in one go: as many as registers hold.
LARGEST_READ = 8192

# Adjacent groups that are looked at as one, at first.
BUNDLE = tl.constexpr(8)

# Bundles whose groups are looked at in one go.
BUNDLES = tl.constexpr(32)

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
        how many to average over; so many bundles of groups at least are not empty.
    places, measured
        (>= b, 2 m) int32, (>= b, m) float32, to work in; a window that needs more is left open.
    group_size, tile
        references a group, and a tile of them.
    rows, warps
        references measured in one go, if they are not too wide, and warps of the program.
    """
    n_queries, width = queries.shape
    n_groups = maxima.shape[2]
    padded_width = triton.next_power_of_2(width)
    rows = min(rows, LARGEST_READ // padded_width)
    _measure[(n_queries,)](
        *(maxima[0], maxima[1], slack, queries, references, places, measured, out, is_open),
        *(len(references), n_groups, neighbours),
        width=width,
        N_BUNDLES=triton.next_power_of_2(n_groups) // BUNDLE.value,
        WIDTH=padded_width,
        SIZE=group_size,
        TILE=tile,
        ROWS=rows,
        MOST=measured.shape[1],
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
    k,
    width: tl.constexpr,
    N_BUNDLES: tl.constexpr,
    WIDTH: tl.constexpr,
    SIZE: tl.constexpr,
    TILE: tl.constexpr,
    ROWS: tl.constexpr,
    MOST: tl.constexpr,
):
    """Choose the references that may be among one window's k nearest, and measure them.

    ``places`` (b, 2 MOST) holds bundles, then codes, which are group times SIZE plus position: from
    the front, of the groups' largest products; from the end, of those groups whose second largest
    counts too. ``measured`` (b, MOST) holds distances.
    """
    query = tl.program_id(0).to(tl.int64)
    bundles = places + query * 2 * MOST
    near = bundles + MOST
    shared = near + MOST - 1
    measured += query * MOST
    maxima += query * n_groups
    seconds += query * n_groups
    members = tl.arange(0, BUNDLE)
    numbers = tl.arange(0, N_BUNDLES)
    every = numbers[:, None] * BUNDLE + members[None, :]
    best = tl.max(tl.load(maxima + every, mask=every < n_groups, other=NOTHING), axis=1)
    limit = _reached(best, k, N_BUNDLES) - tl.load(slack + query)
    is_bundle = (best >= limit) & (best > 0.5 * NOTHING)
    n_bundles = tl.sum(is_bundle.to(tl.int32))
    tl.store(bundles + tl.cumsum(is_bundle.to(tl.int32)) - 1, numbers, mask=is_bundle)
    tl.debug_barrier()
    n_near = 0
    n_shared = 0
    for first in range(0, n_bundles, BUNDLES):
        which = first + tl.arange(0, BUNDLES)
        number = tl.load(bundles + which, mask=which < n_bundles, other=N_BUNDLES)
        groups = tl.reshape(number[:, None] * BUNDLE + members[None, :], (BUNDLES * BUNDLE,))
        largest = tl.load(maxima + groups, mask=groups < n_groups, other=NOTHING)
        second = tl.load(seconds + groups, mask=groups < n_groups, other=NOTHING)
        codes = groups * SIZE + (largest.to(tl.int32, bitcast=True) & (SIZE - 1))
        is_near = (largest >= limit) & (largest > 0.5 * NOTHING)
        place = n_near + tl.cumsum(is_near.to(tl.int32)) - 1
        tl.store(near + place, codes, mask=is_near & (place < MOST))
        n_near += tl.sum(is_near.to(tl.int32))
        is_shared = is_near & (second >= limit)
        n_more = tl.sum(is_shared.to(tl.int32))
        # Too many for ``measured`` may overwrite one another: then nothing is measured.
        if n_more > 0:
            place = n_shared + tl.cumsum(is_shared.to(tl.int32)) - 1
            tl.store(shared - place, codes, mask=is_shared & (place < MOST))
        n_shared += n_more
    # Fewer than k are near if the window is not a number.
    n_measured = n_near + n_shared * SIZE
    is_closed = (n_near >= k) & (n_measured <= MOST)
    tl.store(is_open + query, is_closed == 0)
    tl.debug_barrier()
    if is_closed:
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
                position = first + steps
                other = (code // SIZE) * SIZE + position
                is_one = (other != code) & (_row(other, SIZE, TILE) < n_references)
                is_one = is_one & (position < SIZE)
                far = _distances(q, references, other, is_one, width, WIDTH, SIZE, TILE)
                at = measured + n_near + place * SIZE + position
                tl.store(at, far, mask=position < SIZE)
        tl.debug_barrier()
        if n_measured <= 128:
            tl.store(out + query, _mean_of_smallest(measured, n_measured, k, 128))
        else:
            tl.store(out + query, _mean_of_smallest(measured, n_measured, k, MOST))


@triton.jit
def _reached(x, k, SIZE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return a number that k of x (SIZE,) reach, or a few more: by halving.

    It may end early on equal ones; then more of them do.
    """
    low = tl.min(tl.where(x > 0.5 * NOTHING, x, -NOTHING))
    high = tl.max(x)
    n_low = SIZE
    tries = 0
    while (tries < 40) & (n_low > k + 2):
        middle = 0.5 * (low + high)
        n_middle = tl.sum((x >= middle).to(tl.int32))
        is_below = n_middle >= k
        low = tl.where(is_below, middle, low)
        n_low = tl.where(is_below, n_middle, n_low)
        high = tl.where(is_below, high, middle)
        tries += 1
    return low


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
    width: tl.constexpr,
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
