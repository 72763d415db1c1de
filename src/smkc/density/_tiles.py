"""Tiles: a few queries times many references, all sums in the processor's registers.

In: rows of 32-bit items, those of the references packed in blocks. Out: what is made of their dot
products. An item is four bytes, or one float32. Written for Numba in LLVM's words, since compilers
find neither the byte instruction (x86 processors with AVX-512 VNNI) nor such tiles by themselves.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, types
from numba.core.registry import cpu_target
from numba.extending import intrinsic
from numpy.typing import NDArray

from smkc.kernel._vectors import (
    BYTE_PRODUCTS,
    FETCH,
    FLOATS,
    FUSED,
    INT,
    INTS,
    LANES,
    LOWERING,
    SIZE,
    Items,
    declared,
    spread_over,
)

__all__ = [
    "BLOCK",
    "GROUPS",
    "TILE_QUERIES",
    "bound_many",
    "bound_one",
    "fetch_row",
    "has_tiles",
    "in_large_pages",
    "multiply_many",
    "multiply_one",
    "packed_blocks",
    "product_sums",
]

# Queries and references of a tile: 16 sums of 16 lanes stay in registers. One query alone takes
# the same blocks of references.
TILE_QUERIES, BLOCK = 4, 64

# References so many places apart form a group; see bound_many.
GROUPS = 256

LARGE_PAGE = 2**21

SETTINGS: Any = config  # Numba's insides carry no types


@cache
def has_tiles() -> bool:
    """Whether Numba compiles for a processor that has the byte instruction.

    This asks Numba rather than the processor: it may have been told to compile for another.
    """
    if SETTINGS.DISABLE_JIT:
        return False
    _, _, features = cpu_target.target_context.codegen().magic_tuple()
    return "+avx512vnni" in features.split(",")


def packed_blocks(items: NDArray[Any]) -> NDArray[Any]:
    """(N, f) 32-bit items of references, N a multiple of BLOCK -> (N / BLOCK, f, BLOCK)."""
    n, n_items = items.shape
    by_block = items.reshape(n // BLOCK, BLOCK, n_items)
    return in_large_pages(by_block.transpose(0, 2, 1))


def in_large_pages(array: NDArray[Any]) -> NDArray[Any]:
    """Copy an array into memory with large pages, where the system has them.

    One product with all of it would otherwise look up as many pages as there is work to do: after
    other work, when nothing is at hand, that doubles its time. NumPy asks the system for large
    pages for arrays of 4 MiB and more.
    """
    size = -(-array.nbytes // LARGE_PAGE) * LARGE_PAGE
    room = np.empty(max(size, LARGE_PAGE) + LARGE_PAGE, np.uint8)
    first = -room.ctypes.data % LARGE_PAGE
    copy = room[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[:] = array
    return copy


def _bound(n_queries: int) -> Callable[..., Any]:
    """Return ``bound(queries, first, references, block, facts, about, bounds, farthest)``.

    For jitted loops. It bounds from above the distances of some queries to the references of a
    block: ``queries`` (Q, f) int32, signed bytes by fours, from the ``first`` on; ``references``
    (N / BLOCK, f, BLOCK) int32, unsigned bytes; ``facts`` (Q, 3 or more) float32: a byte's unit,
    the width of doubt, and what to start the sum of products with; ``about`` (3, N) float32: the
    references' units, lengths and offsets. ``bounds`` (Q, N + ...) float32 receives offset - unit *
    unit * sum + width * length, and ``farthest`` (Q, GROUPS) is lowered to the least of each group.
    """

    def bound(
        typing: Any,
        queries: Any,
        first: Any,
        references: Any,
        block: Any,
        facts: Any,
        about: Any,
        bounds: Any,
        farthest: Any,
    ) -> tuple[Any, Callable[..., Any]]:
        size = types.intp
        signature = types.void(queries, size, references, size, facts, about, bounds, farthest)

        def write(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            rows = [builder.add(args[1], SIZE(at)) for at in range(n_queries)]
            column = builder.mul(args[3], SIZE(BLOCK))
            known = Items(context, builder, signature, args, 4)
            units, widths, starts = (
                [spread_over(builder, builder.load(known.at(row, SIZE(which)))) for row in rows]
                for which in range(3)
            )
            starts = [builder.fptosi(start, INTS) for start in starts]
            sums = product_sums(context, builder, signature, args, rows, INTS, starts)
            of = Items(context, builder, signature, args, 5)
            out = Items(context, builder, signature, args, 6)
            least = Items(context, builder, signature, args, 7)
            fused = declared(builder, FUSED, FLOATS)
            group = builder.urem(column, SIZE(GROUPS))
            for lane in range(0, BLOCK, LANES):
                here = builder.add(column, SIZE(lane))
                unit, length, offset = (of.vector(SIZE(which), here) for which in range(3))
                there = builder.add(group, SIZE(lane))
                for at, row in enumerate(rows):
                    product = builder.sitofp(sums[at][lane // LANES], FLOATS)
                    scale = builder.fneg(builder.fmul(units[at], unit))
                    far = builder.call(fused, [scale, product, offset])
                    far = builder.call(fused, [widths[at], length, far])
                    out.store(far, row, here)
                    before = least.vector(row, there)
                    is_less = builder.fcmp_ordered("<", far, before)
                    least.store(builder.select(is_less, far, before), row, there)
            return context.get_dummy_value()

        return signature, write

    made: Callable[..., Any] = intrinsic(bound)
    return made


def _multiply(n_queries: int) -> Callable[..., Any]:
    """Return ``multiply(queries, first, references, block, out, items)``, for jitted loops.

    It sets part of ``out`` (Q, N) float32 to products of ``queries`` (Q, F) float32, from the
    ``first`` on, with a block of ``references`` (N / BLOCK, f, BLOCK) float32. ``items`` (f,) int64
    are the numbers of the queries' items that are multiplied; the others count as zero. Each
    product is summed in the order of the items, whatever is computed beside it.
    """

    def multiply(
        typing: Any, queries: Any, first: Any, references: Any, block: Any, out: Any, items: Any
    ) -> tuple[Any, Callable[..., Any]]:
        signature = types.void(queries, types.intp, references, types.intp, out, items)

        def write(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            rows = [builder.add(args[1], SIZE(at)) for at in range(n_queries)]
            zeros = [ir.Constant(FLOATS, [0.0] * LANES)] * n_queries
            items = Items(context, builder, signature, args, 5)
            sums = product_sums(context, builder, signature, args, rows, FLOATS, zeros, items)
            target = Items(context, builder, signature, args, 4)
            for row, totals in zip(rows, sums, strict=True):
                for at, total in enumerate(totals):
                    here = builder.add(builder.mul(args[3], SIZE(BLOCK)), SIZE(LANES * at))
                    target.store(total, row, here)
            return context.get_dummy_value()

        return signature, write

    made: Callable[..., Any] = intrinsic(multiply)
    return made


def _fetch(typing: Any, rows: Any, row: Any) -> tuple[Any, Callable[..., Any]]:
    """Have a row of ``rows`` (n, d) 32-bit items brought near the processor, and do not wait."""
    signature = types.void(rows, types.intp)

    def write(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = Items(context, builder, signature, args, 0)
        byte = ir.IntType(8).as_pointer()
        parameters = ir.FunctionType(ir.VoidType(), [byte, INT, INT, INT])
        fetch = LOWERING.get_or_insert_function(builder.module, parameters, FETCH)
        with LOWERING.for_range_slice(builder, SIZE(0), array.width, SIZE(LANES), SIZE) as (at, _):
            place = builder.bitcast(array.at(args[1], at), byte)
            builder.call(fetch, [place, INT(0), INT(3), INT(1)])  # data to read, to keep nearest
        return context.get_dummy_value()

    return signature, write


def product_sums(
    context: Any,
    builder: Any,
    signature: Any,
    args: Any,
    rows: list[Any],
    kind: Any,
    starts: list[Any],
    items: "Items | None" = None,
) -> list[list[Any]]:
    """Write the loop over the items; return the sums, by row and by LANES references.

    The items are all those of the queries, or those of given numbers.
    """
    queries = Items(context, builder, signature, args, 0)
    references = Items(context, builder, signature, args, 2)
    instruction = declared(builder, BYTE_PRODUCTS if kind is INTS else FUSED, kind)
    before = builder.block
    loop, done = builder.append_basic_block("items"), builder.append_basic_block("done")
    builder.branch(loop)
    builder.position_at_end(loop)
    item = builder.phi(SIZE)
    item.add_incoming(SIZE(0), before)
    totals = [[builder.phi(kind) for _ in range(BLOCK // LANES)] for _ in rows]
    n_items = queries.width if items is None else items.width
    column = item if items is None else builder.load(items.flat(item))
    base = builder.mul(builder.add(builder.mul(args[3], n_items), item), SIZE(BLOCK))
    loaded = [
        references.flat_vector(builder.add(base, SIZE(lane)), kind)
        for lane in range(0, BLOCK, LANES)
    ]
    sums: list[list[Any]] = []
    for row, start, row_totals in zip(rows, starts, totals, strict=True):
        spread = spread_over(builder, builder.load(queries.at(row, column)))
        sums.append([])
        for vector, total in zip(loaded, row_totals, strict=True):
            terms = [total, vector, spread] if kind is INTS else [spread, vector, total]
            added = builder.call(instruction, terms)
            total.add_incoming(start, before)
            total.add_incoming(added, loop)
            sums[-1].append(added)
    after = builder.add(item, SIZE(1))
    item.add_incoming(after, loop)
    builder.cbranch(builder.icmp_signed("<", after, n_items), loop, done)
    builder.position_at_end(done)
    return sums


bound_many, bound_one = _bound(TILE_QUERIES), _bound(1)
multiply_many, multiply_one = _multiply(TILE_QUERIES), _multiply(1)
fetch_row: Callable[..., Any] = intrinsic(_fetch)
