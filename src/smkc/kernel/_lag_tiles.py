"""Tiles of lags: sixteen time steps compared with those some lags later, sums in registers.

In: states bucket by bucket. Out: squared distances or products of the steps, summed over the
buckets. Written for Numba in LLVM's words: compilers keep no sums of several lags in registers, and
ask at the start of every short loop whether its arrays overlap.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from smkc.kernel._vectors import FLOATS, LANES, LOWERING, SIZE, Items, absolute, multiply_add

__all__ = ["LAGS", "LAGS_TWICE", "tile_distances", "tile_distances_twice", "tile_products"]

# Lags of a tile, and of one with two sums for each.
LAGS, LAGS_TWICE = 8, 4

Compare = Callable[[Any, Any, Any], list[tuple[Any, Any]]]


def _write(n_lags: int, compare: Compare) -> Callable[..., Any]:
    """Return what writes the code of a tile with so many lags.

    Its arguments are ``z`` (n_columns, ...), a step t, a lag, the last lag that is wanted, and the
    outputs (..., ...): it sets ``out[lag - 1 + k, t : t + LANES]`` of each, k below ``n_lags``, to
    sums over the columns of z, in ascending order. What is summed up is the product of the two
    vectors that ``compare`` makes, one pair an output, of a column's steps at t and at t + lag + k.
    """

    def write(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        z, (t, lag, last) = Items(context, builder, signature, args, 0), args[1:4]
        outputs = [Items(context, builder, signature, args, at) for at in range(4, len(args))]
        zero = ir.Constant(FLOATS, [0.0] * LANES)
        sums = [[LOWERING.alloca_once(builder, FLOATS) for _ in outputs] for _ in range(n_lags)]
        for place in [place for places in sums for place in places]:
            builder.store(zero, place)
        later = builder.add(t, lag)
        with LOWERING.for_range(builder, z.height, intp=SIZE) as column:
            here = z.vector(column.index, t)
            for k, places in enumerate(sums):
                there = z.vector(column.index, builder.add(later, SIZE(k)))
                for place, (a, b) in zip(places, compare(builder, here, there), strict=True):
                    builder.store(multiply_add(builder, a, b, builder.load(place)), place)
        for k, places in enumerate(sums):
            row = builder.add(lag, SIZE(k - 1))
            with builder.if_then(builder.icmp_signed("<", row, last)):
                for out, place in zip(outputs, places, strict=True):
                    out.store(builder.load(place), row, t)
        return context.get_dummy_value()

    return write


def _distance(builder: Any, here: Any, there: Any) -> list[tuple[Any, Any]]:
    difference = builder.fsub(there, here)
    return [(difference, difference)]


def _two_distances(builder: Any, here: Any, there: Any) -> list[tuple[Any, Any]]:
    sizes = absolute(builder, here), absolute(builder, there)
    return _distance(builder, here, there) + _distance(builder, *sizes)


def _product(builder: Any, here: Any, there: Any) -> list[tuple[Any, Any]]:
    return [(here, there)]


def _one(compare: Compare) -> Callable[..., Any]:
    def tile(typing: Any, z: Any, t: Any, lag: Any, last: Any, out: Any) -> tuple[Any, Any]:
        size = types.intp
        return types.void(z, size, size, size, out), _write(LAGS, compare)

    made: Callable[..., Any] = intrinsic(tile)
    return made


def _two(compare: Compare) -> Callable[..., Any]:
    def tile(
        typing: Any, z: Any, t: Any, lag: Any, last: Any, out: Any, other: Any
    ) -> tuple[Any, Any]:
        size = types.intp
        return types.void(z, size, size, size, out, other), _write(LAGS_TWICE, compare)

    made: Callable[..., Any] = intrinsic(tile)
    return made


tile_distances, tile_products = _one(_distance), _one(_product)
tile_distances_twice = _two(_two_distances)
