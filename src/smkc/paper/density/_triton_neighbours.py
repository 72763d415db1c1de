"""Exact nearest references on a GPU: half-precision products select the few candidates.

In: unit vectors of references and of windows. Out: mean cosine distances to the K nearest, and
which windows are left open. This module needs Triton, which GPU builds of torch include.
"""

from dataclasses import dataclass, replace

import torch
import triton
import triton.language as tl
from torch import Tensor

from smkc.paper.density._triton_measure import BUNDLE, COLUMNS, NOTHING, measure_nearest
from smkc.paper.density.torch_neighbours import RoundedReferences

# Largest width at which a tile of windows stays in shared memory, and largest supported width.
RESIDENT_WIDTH, MOST_WIDTH = 256, 1024

# Largest number of references measured for one window, for any group size: as many as fit into
# registers.
LARGEST_MEASURED = 4096

# Device memory for the groups' maxima and the scratch arrays of one block of windows.
BLOCK_BYTES = 640 * 2**20

# Components per step if a tile of windows does not stay in shared memory.
STEP = tl.constexpr(64)


@dataclass(frozen=True, kw_only=True)
class Tiles:
    """Sizes into which the GPU work is divided; they do not affect the result.

    Parameters
    ----------
    windows, references
        size of a tile of products, both powers of 2; at least 16 references.
    warps, stages
        warps and pipeline stages of the program that multiplies.
    most_groups
        largest number of groups of references, before padding.
    rows, measuring_warps
        references measured at once by the program that measures, and its warps.
    most_measured
        largest number of references measured for one window, unless 4 groups have more; a window
        that needs more is left open.
    """

    windows: int = 256
    references: int = 64
    warps: int = 8
    stages: int = 3
    most_groups: int = 4096
    rows: int = 32
    measuring_warps: int = 4
    most_measured: int = 1024


DEFAULT_TILES = Tiles()


@dataclass(frozen=True, kw_only=True)
class GroupedReferences:
    """References in float32 and in half precision, in groups.

    Parameters
    ----------
    vectors
        (n, d) float32.
    rounded
        the same in half precision, padded to whole tiles.
    tiles_per_group
        consecutive tiles of references that share their groups.
    tiles
        sizes into which the work is divided.

    Notes
    -----
    Half-precision products have an error of at most e. The largest and second largest product of
    each group are kept. If K groups have a maximum of at least t, the K nearest references have
    products of at least t - 2 e: only those are measured in float32, selected by the maxima. The
    result does not depend on the order of references, but the search is faster if similar ones are
    not next to each other.
    """

    vectors: Tensor
    rounded: RoundedReferences
    tiles_per_group: int
    tiles: Tiles

    @classmethod
    def of(cls, vectors: Tensor, tiles: Tiles = DEFAULT_TILES) -> "GroupedReferences":
        """Prepare (n, d) float32 unit vectors; d is at most MOST_WIDTH."""
        n, width = vectors.shape
        tiles_per_group = 1
        while n * COLUMNS.value > tiles.most_groups * tiles_per_group * tiles.references:
            tiles_per_group *= 2
        # The number of groups is a multiple of 16, so that they can be read 16 bytes at a time.
        n_padded = _multiple(n, tiles_per_group * tiles.references * 16 // int(COLUMNS.value))
        rounded = RoundedReferences.of(vectors)
        residuals = rounded.residuals.new_zeros((n_padded, _padded_width(width)))
        residuals[:n, :width] = rounded.residuals
        offsets = rounded.offsets.new_full((n_padded,), NOTHING.value)
        offsets[:n] = rounded.offsets
        return cls(
            vectors=vectors.contiguous(),
            rounded=replace(rounded, residuals=residuals, offsets=offsets),
            tiles_per_group=tiles_per_group,
            tiles=tiles,
        )

    @property
    def group_size(self) -> int:
        """Number of references per group, a power of 2."""
        return self.tiles.references * self.tiles_per_group // int(COLUMNS.value)

    @property
    def n_groups(self) -> int:
        """Number of groups; the last ones may be empty."""
        return len(self.rounded.residuals) // self.group_size

    @property
    def most_measured(self) -> int:
        """Largest number of references measured for one window, a power of 2."""
        return max(self.tiles.most_measured, min(4 * self.group_size, LARGEST_MEASURED))

    @property
    def most_neighbours(self) -> int:
        """Largest number of neighbours that can be searched for."""
        n_bundles = len(self.vectors) // (self.group_size * int(BUNDLE.value))
        return min(n_bundles, self.most_measured // 8)

    def mean_distance(self, queries: Tensor, neighbours: int) -> tuple[Tensor, Tensor]:
        """Return (B,) float32 mean cosine distances of (B, d) unit vectors, and (B,) is_open.

        A window is left open, its distance unset, if too many references may be among its nearest
        or if it contains NaN.
        """
        n_queries = len(queries)
        distances = queries.new_empty(n_queries)
        is_open = torch.empty_like(distances, dtype=torch.bool)
        size = min(self._block_size(), max(n_queries, 1))
        maxima = queries.new_empty((2, size, self.n_groups))
        measured = queries.new_empty((size, self.most_measured))
        places = torch.empty(
            (size, 2 * self.most_measured), dtype=torch.int32, device=queries.device
        )
        for first in range(0, n_queries, size):
            part = slice(first, first + size)
            block = queries[part].contiguous()
            rounded, error = self.rounded.rounded(block, self.group_size.bit_length() - 1)
            self._find_maxima(rounded, maxima)
            measure_nearest(
                *(maxima, 2 * error, block, self.vectors, neighbours, places, measured),
                *(distances[part], is_open[part]),
                group_size=self.group_size,
                tile=self.tiles.references,
                rows=self.tiles.rows,
                warps=self.tiles.measuring_warps,
            )
        return distances, is_open

    def _find_maxima(self, rounded: Tensor, maxima: Tensor) -> None:
        """Fill ``maxima`` (2, b, groups) with the two largest products of every group."""
        tiles = self.tiles
        n_queries, width = rounded.shape
        if self.rounded.residuals.shape[1] > width:
            width = self.rounded.residuals.shape[1]
            rounded = torch.nn.functional.pad(rounded, (0, width - rounded.shape[1]))
        n_tiles = triton.cdiv(n_queries, tiles.windows)
        n_steps = len(self.rounded.residuals) // (self.tiles_per_group * tiles.references)
        # Every multiprocessor keeps one tile of windows and loops over the references, all at the
        # same pace, so that references are read from the L2 cache. If there are fewer tiles of
        # windows than multiprocessors, the references are divided among those of a tile.
        n_parts = min(max(_processors(rounded.device) // n_tiles, 1), n_steps)
        _multiply[(n_tiles, n_parts)](
            *(rounded, self.rounded.residuals, self.rounded.offsets, maxima[0], maxima[1]),
            *(n_queries, self.n_groups, n_steps, triton.cdiv(n_steps, n_parts)),
            WIDTH=width,
            WINDOWS=tiles.windows,
            TILE=tiles.references,
            TILES_A_GROUP=self.tiles_per_group,
            IS_RESIDENT=width <= RESIDENT_WIDTH,
            num_warps=tiles.warps,
            num_stages=tiles.stages,
        )

    def _block_size(self) -> int:
        """Return the number of windows per block, chosen so that all multiprocessors have work.

        If memory allows, each multiprocessor has one tile of windows; otherwise 2 or more
        multiprocessors share a tile.
        """
        tile, n_processors = self.tiles.windows, _processors(self.vectors.device)
        bytes_per_tile = 4 * tile * (2 * self.n_groups + 3 * self.most_measured)
        n_shares = int(triton.cdiv(n_processors, max(1, BLOCK_BYTES // bytes_per_tile)))
        return tile * (n_processors // n_shares)


def _multiple(n: int, of: int) -> int:
    """Return the smallest multiple of ``of`` that is at least n."""
    return -(-n // of) * of


def _padded_width(width: int) -> int:
    """Return the padded width of half-precision rows: a power of 2, or if large, whole steps."""
    if width <= RESIDENT_WIDTH:
        return max(16, int(triton.next_power_of_2(width)))
    return _multiple(width, STEP.value)


def _processors(device: torch.device) -> int:
    if device.type != "cuda":
        return 1
    return int(torch.cuda.get_device_properties(device).multi_processor_count)


# ---------------------------------------------------------------------- maxima of groups


@triton.jit
def _multiply(  # type: ignore[no-untyped-def]
    queries,
    references,
    offsets,
    maxima,
    seconds,
    n_queries,
    n_groups,
    n_steps,
    steps_per_part,
    WIDTH: tl.constexpr,
    WINDOWS: tl.constexpr,
    TILE: tl.constexpr,
    TILES_A_GROUP: tl.constexpr,
    IS_RESIDENT: tl.constexpr,
):
    """Multiply one tile of windows with a part of the references; keep 2 products per group.

    The last bits of a product hold the position in its group of the reference it belongs to.
    """
    SHARED: tl.constexpr = TILE // COLUMNS
    LAST: tl.constexpr = SHARED * TILES_A_GROUP - 1
    rows = tl.program_id(0) * WINDOWS + tl.arange(0, WINDOWS)
    is_row = rows < n_queries
    rows = rows.to(tl.int64)
    members = tl.arange(0, TILE).to(tl.int64)
    positions = tl.arange(0, SHARED)[None, :, None]
    here = rows[:, None] * n_groups + tl.arange(0, COLUMNS)[None, :]
    if IS_RESIDENT:
        components = tl.arange(0, WIDTH)
        q = tl.load(
            queries + rows[:, None] * WIDTH + components[None, :], mask=is_row[:, None], other=0.0
        )
    first_step = tl.program_id(1) * steps_per_part
    end = tl.minimum(first_step + steps_per_part, n_steps)
    largest = tl.full((WINDOWS, COLUMNS), NOTHING, tl.float32)
    next_largest = largest
    for number in range(first_step * TILES_A_GROUP, end * TILES_A_GROUP):
        tile = number * TILE + members
        if IS_RESIDENT:
            r = tl.load(references + tile[None, :] * WIDTH + components[:, None])
            products = tl.dot(q, r)
        else:
            products = tl.zeros((WINDOWS, TILE), tl.float32)
            for start in range(0, WIDTH, STEP):
                components = start + tl.arange(0, STEP)
                q = tl.load(
                    queries + rows[:, None] * WIDTH + components[None, :],
                    mask=is_row[:, None],
                    other=0.0,
                )
                r = tl.load(references + tile[None, :] * WIDTH + components[:, None])
                products = tl.dot(q, r, products)
        products += tl.load(offsets + tile)[None, :]
        bits = tl.reshape(products, (WINDOWS, SHARED, COLUMNS)).to(tl.int32, bitcast=True)
        bits = (bits & ~LAST) | positions
        high, low = _largest_two(bits.to(tl.float32, bitcast=True), WINDOWS, SHARED)
        turn = number % TILES_A_GROUP
        if TILES_A_GROUP > 1:
            bits = high.to(tl.int32, bitcast=True) | (turn * SHARED)
            high = bits.to(tl.float32, bitcast=True)
            is_first = turn == 0
            largest = tl.where(is_first, NOTHING, largest)
            next_largest = tl.where(is_first, NOTHING, next_largest)
            low = tl.maximum(tl.maximum(low, next_largest), tl.minimum(high, largest))
            high = tl.maximum(high, largest)
            largest = high
            next_largest = low
        if turn == TILES_A_GROUP - 1:
            at = here + (number // TILES_A_GROUP) * COLUMNS
            tl.store(maxima + at, high, mask=is_row[:, None])
            tl.store(seconds + at, low, mask=is_row[:, None])


@triton.jit
def _largest_two(x, ROWS: tl.constexpr, SHARED: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return the largest and second largest of x (ROWS, SHARED, COLUMNS) along its middle axis."""
    a, b = _halves(x, ROWS, SHARED // 2)
    high = tl.maximum(a, b)
    low = tl.minimum(a, b)
    if SHARED >= 32:
        high, low = _merged_halves(high, low, ROWS, 8)
    if SHARED >= 16:
        high, low = _merged_halves(high, low, ROWS, 4)
    if SHARED >= 8:
        high, low = _merged_halves(high, low, ROWS, 2)
    if SHARED >= 4:
        high, low = _merged_halves(high, low, ROWS, 1)
    return tl.reshape(high, (ROWS, COLUMNS)), tl.reshape(low, (ROWS, COLUMNS))


@triton.jit
def _merged_halves(high, low, ROWS: tl.constexpr, HALF: tl.constexpr):  # type: ignore[no-untyped-def]
    high_a, high_b = _halves(high, ROWS, HALF)
    low_a, low_b = _halves(low, ROWS, HALF)
    low = tl.maximum(tl.minimum(high_a, high_b), tl.maximum(low_a, low_b))
    return tl.maximum(high_a, high_b), low


@triton.jit
def _halves(x, ROWS: tl.constexpr, HALF: tl.constexpr):  # type: ignore[no-untyped-def]
    """Split x (ROWS, 2 HALF, COLUMNS) into two of (ROWS, HALF, COLUMNS)."""
    return tl.split(tl.permute(tl.reshape(x, (ROWS, 2, HALF, COLUMNS)), (0, 2, 3, 1)))
