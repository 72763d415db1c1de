"""A row's dictionary, read by compiled code: its values, in the order of the names asked for.

In: a dictionary and the names. Out: the values. Read in Python, a row of 1,000 names takes a third
of a push's time. Python's own functions, which the compiled loop calls by their names, do the same
in a third of that. They are part of what Python keeps stable.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from smkc.kernel._vectors import INT, LOWERING, SIZE

__all__ = ["read_row"]

FLOAT, OBJECT = ir.DoubleType(), ir.IntType(8).as_pointer()
NOTHING = ir.Constant(OBJECT, None)


def _call(builder: Any, name: str, result: Any, args: list[Any]) -> Any:
    """Call one of Python's functions."""
    kind = ir.FunctionType(result, [arg.type for arg in args])
    return builder.call(LOWERING.get_or_insert_function(builder.module, kind, name), args)


def _write_next_item(typing: Any, row: Any, cursor: Any) -> Any:
    """Move ``cursor`` (3,) int64, that is place, name and value, on; 0 behind the last item."""

    def write(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[1])(context, builder, args[1])
        places = [builder.gep(array.data, [SIZE(at)]) for at in range(3)]
        row = builder.inttoptr(args[0], OBJECT)
        return _call(builder, "PyDict_Next", INT, [row, *places])

    return types.int32(types.intp, cursor), write


def _write_place_of(typing: Any, places: Any, name: Any) -> Any:
    """Return what a dictionary of whole numbers has for the name; -1 if it lacks it."""

    def write(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        found = _call(
            builder, "PyDict_GetItem", OBJECT, [builder.inttoptr(arg, OBJECT) for arg in args]
        )
        place = LOWERING.alloca_once_value(builder, SIZE(-1))
        with builder.if_then(builder.icmp_unsigned("!=", found, NOTHING)):
            builder.store(_call(builder, "PyLong_AsSsize_t", SIZE, [found]), place)
        return builder.load(place)

    return types.intp(types.intp, types.intp), write


def _write_as_float(typing: Any, value: Any) -> Any:
    """Return an object as a float; -1 if it is none, and then :func:`_failed` is true."""

    def write(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _call(builder, "PyFloat_AsDouble", FLOAT, [builder.inttoptr(args[0], OBJECT)])

    return types.float64(types.intp), write


def _write_failed(typing: Any) -> Any:
    """Whether Python has an error at hand, which is then forgotten."""

    def write(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        error = _call(builder, "PyErr_Occurred", OBJECT, [])
        is_error = builder.icmp_unsigned("!=", error, NOTHING)
        with builder.if_then(is_error):
            _call(builder, "PyErr_Clear", ir.VoidType(), [])
        return is_error

    return types.boolean(), write


_next_item: Callable[..., Any] = intrinsic(_write_next_item)
_place_of: Callable[..., Any] = intrinsic(_write_place_of)
_as_float: Callable[..., Any] = intrinsic(_write_as_float)
_failed: Callable[..., Any] = intrinsic(_write_failed)


@njit(cache=True)  # and Python's lock is kept: its objects are read
def read_row(
    row: int,
    place_of: int,
    names: NDArray[np.int64],
    none: int,
    limit: float,
    out: NDArray[np.float32],
) -> bool:
    """Set ``out`` (n,) to the row's values of ``names`` (n,), NaN where it has none.

    False if the row has another name, a value that is no number, or a finite one from the
    ``limit`` on. Objects are given by their identities, as of ``id``: a dictionary of values, one
    of the names' places, the names that are its keys, in that order, and None.
    """
    out[:] = np.float32(np.nan)
    cursor = np.zeros(3, np.int64)
    at = 0
    while _next_item(row, cursor):
        name, value = cursor[1], cursor[2]
        if at < names.size and names[at] != name:
            at += 1  # names mostly come in this order, one or the other missing
        if at >= names.size or names[at] != name:
            at = _place_of(place_of, name)
            if at < 0:
                return False
        if value != none:
            number = _as_float(value)
            if number == -1.0 and _failed():
                return False
            if limit <= abs(number) < np.inf:
                return False
            out[at] = np.float32(number)
        at += 1
    return True
