"""A row of a stream: its time and its values, checked.

In: what a caller pushes. Out: a time after the row before, and numbers.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError
from smkc.recording.times import as_times, moment, show_time

__all__ = ["next_time", "row_values"]

# Whole numbers up to this are numbers to NumPy.
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


def row_values(observations: Mapping[str, float | None]) -> NDArray[Any]:
    """(n,) a row's values; NaN, like None, for what was not observed."""
    if not isinstance(observations, Mapping):
        raise _not_numbers(observations)
    listed: list[Any] = list(observations.values())
    try:
        values = np.array(listed, None if listed else float)
        if values.dtype.kind == "O":
            values = np.array([np.nan if value is None else value for value in listed])
    except (ValueError, OverflowError):
        raise _not_numbers(observations) from None
    if values.dtype.kind not in "fiub" or values.ndim != 1:
        raise _not_numbers(observations)
    return values


def _not_numbers(observations: Any) -> InputError:
    """Say which value of a row is not a number."""
    if not isinstance(observations, Mapping):
        return InputError(
            f"a row is a mapping of variables to numbers, not {type(observations).__name__}"
        )
    for name, value in observations.items():
        is_whole = isinstance(value, int) and abs(value) < LARGEST_WHOLE
        if value is not None and not is_whole and not isinstance(value, float | np.number):
            return InputError(
                f"the value of {name!r} is {value!r:.60}; give a number, or leave the variable out"
            )
    return InputError("a row's values must be numbers, each a single one")
