"""A row of a stream: its time and its values, checked.

In: what a caller pushes. Out: a time after the row before, and numbers.
"""

import struct
from collections.abc import Mapping
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError
from smkc.recording.times import as_times, moment, show_time

__all__ = ["next_time", "row_values"]

# Whole numbers below this are numbers to NumPy, too.
LARGEST_WHOLE = 2**63


def next_time(time: Any, last_time: Any) -> Any:
    """Return a row's time, which comes after that of the row before; None if there was none."""
    if last_time is None:
        stamp = as_times([time])[0]
        moment(stamp, as_times([time]).dtype)
        return stamp
    stamp = moment(time, last_time.dtype)
    if not stamp > last_time:
        raise InputError(
            f"time {show_time(stamp)} is not after {show_time(last_time)}, the row "
            "before; push rows in order of time, each time once"
        )
    return stamp


def row_values(observations: Mapping[str, float | None]) -> NDArray[np.float64]:
    """(n,) a row's values; NaN, like None, for what was not observed.

    A value is whatever says which float it is, a Decimal as well; whole numbers stop at 2^63.
    """
    if not isinstance(observations, Mapping):
        raise _not_numbers(observations)
    listed: list[Any] = list(observations.values())
    try:
        values = _floats(listed)
    except struct.error:
        try:
            values = _floats([nan if value is None else value for value in listed])
        except struct.error:
            raise _not_numbers(observations) from None
    for at in np.flatnonzero(np.abs(values) >= LARGEST_WHOLE).tolist():
        if isinstance(listed[at], int):
            raise _not_numbers(observations)
    return values


def _floats(values: list[Any]) -> NDArray[np.float64]:
    """(n,) the values; twice as quick as asking NumPy what they are."""
    return np.frombuffer(struct.pack(f"{len(values)}d", *values))


def _not_numbers(observations: Any) -> InputError:
    """Say which value of a row is not a number."""
    if not isinstance(observations, Mapping):
        return InputError(
            f"a row is a mapping of variables to numbers, not {type(observations).__name__}"
        )
    for name, value in observations.items():
        if value is not None and not _is_number(value):
            return InputError(
                f"the value of {name!r} is {value!r:.60}; give a number, or leave the variable out"
            )
    return InputError("a row's values must be numbers, each a single one")


def _is_number(value: Any) -> bool:
    if isinstance(value, int):
        return abs(value) < LARGEST_WHOLE
    try:
        _floats([value])
    except struct.error:
        return False
    return True
