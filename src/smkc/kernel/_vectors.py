"""Vectors in LLVM's words: sixteen 32-bit numbers at a time, for intrinsics of jitted loops.

In: arrays as Numba hands them to an intrinsic. Out: vectors read from them, spread, stored.
"""

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils

__all__ = [
    "BYTE_PRODUCTS",
    "FETCH",
    "FLOATS",
    "FUSED",
    "INT",
    "INTS",
    "LANES",
    "LOWERING",
    "SIZE",
    "Items",
    "absolute",
    "declared",
    "multiply_add",
    "spread_over",
]

LANES = 16

# Numba's insides carry no types.
LOWERING: Any = cgutils

INT, FLOAT, SIZE = ir.IntType(32), ir.FloatType(), ir.IntType(64)
INTS, FLOATS = ir.VectorType(INT, LANES), ir.VectorType(FLOAT, LANES)
BYTE_PRODUCTS, FUSED = "llvm.x86.avx512.vpdpbusd.512", "llvm.fma.v16f32"
FETCH, ABSOLUTE = "llvm.prefetch", "llvm.fabs.v16f32"

# A multiplication and an addition may be one instruction, where there is one.
FUSIBLE = ("contract",)


class Items:
    """The items of an array that a tile was handed, by row and column; nothing is checked."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any, at: int) -> None:
        array_type = signature.args[at]
        array = context.make_array(array_type)(context, builder, args[at])
        self._builder = builder
        self._data = array.data
        shape = LOWERING.unpack_tuple(builder, array.shape, array_type.ndim)
        self.height, self.width = shape[0], shape[-1]

    def at(self, row: Any, column: Any) -> Any:
        place = self._builder.add(self._builder.mul(row, self.width), column)
        return self._builder.gep(self._data, [place])

    def vector(self, row: Any, column: Any) -> Any:
        return self._load(self.at(row, column), FLOATS)

    def flat(self, place: Any) -> Any:
        return self._builder.gep(self._data, [place])

    def flat_vector(self, place: Any, kind: Any) -> Any:
        return self._load(self.flat(place), kind)

    def store(self, vector: Any, row: Any, column: Any) -> None:
        self._store(vector, self.at(row, column))

    def store_at(self, vector: Any, place: Any) -> None:
        self._store(vector, self.flat(place))

    def _store(self, vector: Any, pointer: Any) -> None:
        place = self._builder.bitcast(pointer, vector.type.as_pointer())
        self._builder.store(vector, place, align=4)

    def _load(self, pointer: Any, kind: Any) -> Any:
        return self._builder.load(self._builder.bitcast(pointer, kind.as_pointer()), align=4)


def spread_over(builder: Any, value: Any) -> Any:
    """Return a vector with the value in every lane."""
    nothing = ir.Constant(ir.VectorType(value.type, LANES), ir.Undefined)
    first = builder.insert_element(nothing, value, INT(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(INTS, [0] * LANES))


def declared(builder: Any, name: str, kind: Any) -> Any:
    return LOWERING.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind] * 3), name)


def multiply_add(builder: Any, a: Any, b: Any, more: Any) -> Any:
    """Return a * b + more, rounded once or twice as the processor has it."""
    return builder.fadd(more, builder.fmul(a, b, flags=FUSIBLE), flags=FUSIBLE)


def absolute(builder: Any, vector: Any) -> Any:
    """Return a vector of the numbers' sizes."""
    kind = ir.FunctionType(FLOATS, [FLOATS])
    return builder.call(LOWERING.get_or_insert_function(builder.module, kind, ABSOLUTE), [vector])
