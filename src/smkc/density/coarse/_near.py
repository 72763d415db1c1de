"""Near ones: which references may be among the nearest, and how alike they are to a window.

In: bounds of distances; unit vectors. Out: numbers of references; cosines. Written for Numba in
LLVM's words for processors with AVX-512, like the tiles: compilers write a list of places one by
one, and a dot product so that most of its time goes into adding up its lanes.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from smkc.kernel._vectors import (
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

__all__ = ["MEASURED", "alike_four", "within"]

# How many references are measured together: four sums are added up in one go.
MEASURED = 4

COMPRESS = "llvm.x86.avx512.mask.compress.v16i32"
MASK = ir.VectorType(ir.IntType(1), LANES)


def _within(
    typing: Any, bounds: Any, row: Any, about: Any, width: Any, limit: Any, which: Any
) -> tuple[Any, Callable[..., Any]]:
    """Write to ``which`` the references that may be within a limit; return how many.

    ``bounds`` (Q, N + ...) float32, ``about`` (3, N) with the references' lengths second, ``which``
    (N + LANES,) int32. A reference's least possible distance, its bound less ``width`` times its
    length, is within the limit. Places ascend; up to LANES places behind the last are overwritten.
    """
    signature = types.intp(bounds, types.intp, about, types.float32, types.float32, which)

    def write(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        above = Items(context, builder, signature, args, 0)
        of = Items(context, builder, signature, args, 2)
        out = Items(context, builder, signature, args, 5)
        compress = LOWERING.get_or_insert_function(
            builder.module, ir.FunctionType(INTS, [INTS, INTS, MASK]), COMPRESS
        )
        fused = declared(builder, FUSED, FLOATS)
        count_bits = LOWERING.get_or_insert_function(
            builder.module, ir.FunctionType(ir.IntType(16), [ir.IntType(16)]), "llvm.ctpop.i16"
        )
        less, most = spread_over(builder, builder.fneg(args[3])), spread_over(builder, args[4])
        lanes, none = ir.Constant(INTS, list(range(LANES))), ir.Constant(INTS, [0] * LANES)
        n_found = LOWERING.alloca_once_value(builder, SIZE(0))
        with LOWERING.for_range_slice(builder, SIZE(0), of.width, SIZE(LANES), SIZE) as (at, _):
            length, bound = of.vector(SIZE(1), at), above.vector(args[1], at)
            least = builder.call(fused, [less, length, bound])
            is_near = builder.fcmp_ordered("<=", least, most)
            here = builder.add(spread_over(builder, builder.trunc(at, INT)), lanes)
            found = builder.load(n_found)
            out.store_at(builder.call(compress, [here, none, is_near]), found)
            n_here = builder.call(count_bits, [builder.bitcast(is_near, ir.IntType(16))])
            builder.store(builder.add(found, builder.zext(n_here, SIZE)), n_found)
        return builder.load(n_found)

    return signature, write


def _alike_four(
    typing: Any, vectors: Any, row: Any, references: Any, which: Any, at: Any, out: Any
) -> tuple[Any, Callable[..., Any]]:
    """Set ``out[at : at + 4]`` to a vector's products with the references ``which[at : at + 4]``.

    ``vectors`` (B, d), ``references`` (n, d) and ``out`` float32, ``which`` int32. Of the d numbers
    those up to a multiple of LANES are multiplied.
    """
    signature = types.void(vectors, types.intp, references, which, types.intp, out)

    def write(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        mine = Items(context, builder, signature, args, 0)
        others = Items(context, builder, signature, args, 2)
        places = Items(context, builder, signature, args, 3)
        target = Items(context, builder, signature, args, 5)
        fused = declared(builder, FUSED, FLOATS)
        rows = [
            builder.sext(builder.load(places.flat(builder.add(args[4], SIZE(lane)))), SIZE)
            for lane in range(MEASURED)
        ]
        zero = ir.Constant(FLOATS, [0.0] * LANES)
        sums = [LOWERING.alloca_once_value(builder, zero) for _ in rows]
        whole = builder.and_(mine.width, SIZE(-LANES))
        with LOWERING.for_range_slice(builder, SIZE(0), whole, SIZE(LANES), SIZE) as (item, _):
            vector = mine.vector(args[1], item)
            for total, other in zip(sums, rows, strict=True):
                terms = [vector, others.vector(other, item), builder.load(total)]
                builder.store(builder.call(fused, terms), total)
        target.store_at(_added_up(builder, [builder.load(total) for total in sums]), args[4])
        return context.get_dummy_value()

    return signature, write


def _added_up(builder: Any, vectors: list[Any]) -> Any:
    """Return the sums of four vectors' lanes, as one vector of four."""
    lanes = LANES
    while lanes > MEASURED:
        lanes //= 2
        vectors = [
            builder.fadd(
                _chosen(builder, vector, vector, range(lanes)),
                _chosen(builder, vector, vector, range(lanes, 2 * lanes)),
            )
            for vector in vectors
        ]
    first, second = (
        builder.fadd(
            _chosen(builder, one, other, [0, 1, 4, 5]), _chosen(builder, one, other, [2, 3, 6, 7])
        )
        for one, other in (vectors[:2], vectors[2:])
    )
    return builder.fadd(
        _chosen(builder, first, second, [0, 2, 4, 6]), _chosen(builder, first, second, [1, 3, 5, 7])
    )


def _chosen(builder: Any, one: Any, other: Any, lanes: Any) -> Any:
    """Return some lanes of two vectors, counted through both."""
    chosen = list(lanes)
    return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(INT, len(chosen)), chosen))


alike_four: Callable[..., Any] = intrinsic(_alike_four)
within: Callable[..., Any] = intrinsic(_within)
