"""Distances of windows to the references that can be among their nearest, on a GPU.

In: the two largest products of every group, with an error bound. Out: mean cosine distances to the
K nearest references. This module needs Triton, which GPU builds of torch include.
"""

import triton
import triton.language as tl
from torch import Tensor

# Product with a missing reference: below every real product, and finite, because a position is
# written into its last bits.
NOTHING = tl.constexpr(-1.0e30)

# Numbers read at once: as many as fit into registers.
LARGEST_READ = 8192

# Adjacent groups that the first pass treats as one.
BUNDLE = tl.constexpr(8)

# Bundles whose groups are examined at once.
BUNDLES = tl.constexpr(32)

# Groups per tile: the references of a tile are assigned to them in turn, so that a group's columns
# are this far apart. On Hopper one thread then holds a whole group and finds its maximum alone.
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
    """Set ``out`` (b,) to mean cosine distances, ``is_open`` (b,) to whether they are left unset.

    ``maxima`` (2, >= b, groups) are each group's largest and second largest product; the last bits
    of the largest are its position in the group. ``slack`` (b,) is twice the largest error of a
    product. At least ``neighbours`` bundles of groups must not be empty. ``places`` (>= b, 2 m)
    int32 and ``measured`` (>= b, m) float32 are scratch memory; a window that needs more is left
    open. ``group_size`` and ``tile`` are references per group and per tile, ``rows`` those measured
    at once (fewer if they are wide).
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

    The first half of ``places`` (b, 2 MOST) holds bundles, the second half codes, which are group
    times SIZE plus position. Codes of the groups' largest products grow from the front of that
    half; codes of groups whose second largest product counts too grow from its end. ``measured``
    (b, MOST) holds distances.
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
        # If there are too many for ``measured``, entries may overwrite one another; the window is
        # then left open and nothing is measured.
        if n_more > 0:
            place = n_shared + tl.cumsum(is_shared.to(tl.int32)) - 1
            tl.store(shared - place, codes, mask=is_shared & (place < MOST))
        n_shared += n_more
    # Fewer than k are near if the window contains NaN.
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
    """Return a threshold that k to k + 2 of x (SIZE,) reach, found by bisection.

    More may reach it if there are ties, since the bisection stops after 40 steps.
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
    """Return the row of the reference with this code (group times SIZE plus position)."""
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
    """Return (ROWS,) cosine distances of one window to references; 4 where ``is_one`` is false.

    No cosine distance is larger than 2.
    """
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
    """Return the mean of the k smallest of n distances, by bisection over their bit patterns."""
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
