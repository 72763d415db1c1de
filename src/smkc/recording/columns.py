"""Columns: one Arrow array -> numbers, or texts with codes.

In: an Arrow array as a file or a frame holds it. Out: NumPy arrays, or a ReadError that names
the row, the column and the value.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from smkc.errors import ReadError

__all__ = [
    *("Kind", "Where", "holds_no_number", "holds_numbers", "kind_of"),
    *("numbers", "plain", "texts"),
]

Kind = Literal["number", "text", "time", "nothing", "other"]
Where = Callable[[int], str]
"""Function that describes, for messages, where position i of an array comes from."""

MISSING_TEXTS = pa.array(["", "-", "na", "n/a", "nan", "nil", "none", "null", "<na>"])
"""Lower-case texts that mean a missing number."""

TRUTH_VALUES = {"true": 1.0, "false": 0.0}

TYPE_TESTS: dict[Kind, list[Callable[[pa.DataType], bool]]] = {
    "number": [
        pa.types.is_integer,
        pa.types.is_floating,
        pa.types.is_decimal,
        pa.types.is_boolean,
    ],
    "text": [
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_string_view,
        pa.types.is_binary,
        pa.types.is_large_binary,
    ],
    "time": [pa.types.is_timestamp, pa.types.is_date],
    "nothing": [pa.types.is_null],
}


def kind_of(column_type: pa.DataType) -> Kind:
    """Return what a column of this Arrow type can be read as."""
    if isinstance(column_type, pa.BaseExtensionType):
        return kind_of(column_type.storage_type)
    if pa.types.is_dictionary(column_type) or pa.types.is_run_end_encoded(column_type):
        return kind_of(column_type.value_type)
    for kind, tests in TYPE_TESTS.items():
        if any(test(column_type) for test in tests):
            return kind
    return "other"


def plain(array: pa.Array) -> pa.Array:
    """Decode dictionary, run-end and extension types to an array of the values themselves."""
    if isinstance(array.type, pa.BaseExtensionType):
        return plain(array.storage)
    if pa.types.is_dictionary(array.type):
        return plain(array.dictionary_decode())
    if pa.types.is_run_end_encoded(array.type):
        return plain(pc.run_end_decode(array))
    if kind_of(array.type) == "text" and array.type != pa.string():
        return array.cast(pa.string())
    return array


def numbers(array: pa.Array, where: Where) -> NDArray[np.float64]:
    """Read an array as numbers, NaN where missing; text must be parsable as numbers."""
    array = plain(array)
    kind = kind_of(array.type)
    if kind == "text":
        values, bad = _parsed(array)
        if bad is not None:
            raise ReadError(
                f"{where(bad)} holds the text {array[bad].as_py()!r} where a number belongs; "
                "correct it, or leave the column out with ignore=[...]"
            )
        return values
    if kind == "nothing":
        return np.full(len(array), np.nan)
    if kind != "number":
        raise ReadError(
            f"{where(0)} is of type {array.type}, which is not a number; "
            "convert the column, or leave it out with ignore=[...]"
        )
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.uint8())
    floats = array.cast(pa.float64(), safe=False)
    if floats.null_count:
        floats = floats.fill_null(float("nan"))
    result: NDArray[np.float64] = floats.to_numpy(zero_copy_only=False)
    return result


def holds_numbers(array: pa.Array) -> bool:
    """Return whether a column is numeric, or text of which every value present is a number.

    False for text without any value.
    """
    array = plain(array)
    if kind_of(array.type) != "text":
        return kind_of(array.type) == "number"
    values, bad = _parsed(array)
    return bad is None and not bool(np.isnan(values).all())


def holds_no_number(array: pa.Array) -> bool:
    """Return whether an array of text has values, and none of them is a number."""
    distinct = plain(array).unique().drop_null()
    trimmed = pc.utf8_lower(pc.utf8_trim_whitespace(distinct))
    said = trimmed.filter(pc.invert(pc.is_in(trimmed, value_set=MISSING_TEXTS)))
    return len(said) > 0 and all(_one(text) is None for text in said.to_pylist())


def texts(array: pa.Array) -> tuple[NDArray[np.int64], list[str]]:
    """Read an array as texts: (n,) codes, -1 for null or empty, and the texts they index."""
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    if not pa.types.is_dictionary(array.type):
        array = plain(array)
        if kind_of(array.type) != "text":
            array = array.cast(pa.string())
        array = array.dictionary_encode()
    distinct = plain(array.dictionary)
    if kind_of(distinct.type) != "text":
        distinct = distinct.cast(pa.string())
    codes = array.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    found = distinct.to_pylist()
    is_blank = np.array([not text for text in found] + [True])  # the last stands for code -1
    if is_blank[:-1].any():
        codes = np.where(is_blank[codes], -1, codes)
    return codes, [text or "" for text in found]


def _parsed(array: pa.Array) -> tuple[NDArray[np.float64], int | None]:
    """Parse text as numbers; also return the position of the first that is none, or None."""
    try:
        floats = array.cast(pa.float64())
    except pa.ArrowInvalid:
        return _parsed_with_care(array)
    if floats.null_count:
        floats = floats.fill_null(float("nan"))
    return floats.to_numpy(zero_copy_only=False), None


def _parsed_with_care(array: pa.Array) -> tuple[NDArray[np.float64], int | None]:
    """Parse text that may have blanks around numbers, words for missing ones, true and false."""
    trimmed = pc.utf8_lower(pc.utf8_trim_whitespace(array))
    missing = pc.is_in(trimmed, value_set=MISSING_TEXTS)
    trimmed = pc.if_else(missing, pa.scalar(None, pa.string()), trimmed)
    try:
        floats = trimmed.cast(pa.float64())
    except pa.ArrowInvalid:
        encoded = trimmed.dictionary_encode()
        parsed = [_one(text) for text in encoded.dictionary.to_pylist()]
        codes = encoded.indices.fill_null(len(parsed)).to_numpy(zero_copy_only=False)
        is_bad = np.array([number is None for number in parsed] + [False])[codes]
        if is_bad.any():
            return np.empty(0), int(np.flatnonzero(is_bad)[0])
        values: Any = np.array([*parsed, np.nan], np.float64)[codes]
        return values, None
    return floats.fill_null(float("nan")).to_numpy(zero_copy_only=False), None


def _one(text: str) -> float | None:
    try:
        return TRUTH_VALUES[text] if text in TRUTH_VALUES else pa.scalar(text).cast("f8").as_py()
    except pa.ArrowInvalid:
        return None
