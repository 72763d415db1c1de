"""Times: anything that names a moment -> datetime64[ns] in UTC, int64 or float64.

In: arrays or single values as people have them. Out: one of three dtypes.
"""

from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smkc.errors import InputError

__all__ = ["as_times", "moment", "show_time"]


def as_times(times: ArrayLike) -> NDArray[Any]:
    """Turn (T,) times into datetime64[ns] in UTC, int64 or float64; no epoch is guessed here."""
    values: Any = times if isinstance(times, np.ndarray) else list(times)  # type: ignore[arg-type]
    if isinstance(values, np.ndarray) and values.dtype.kind != "O":
        array = values
    elif len(values) and all(isinstance(value, date | str | np.datetime64) for value in values):
        array = np.array([_instant(value) for value in values], "datetime64[ns]")
    else:
        array = np.asarray(values)
    if array.dtype.kind == "M":
        return array.astype("datetime64[ns]")
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    if array.dtype.kind == "f":
        return array.astype(np.float64)
    if array.dtype.kind == "U":
        return np.array([_instant(str(value)) for value in array], "datetime64[ns]")
    raise InputError(
        f"times of type {array.dtype} cannot be used; give datetimes, ISO strings or numbers"
    )


def moment(time: Any, dtype: np.dtype[Any]) -> Any:
    """Turn one time into a scalar comparable with times of ``dtype``."""
    if dtype.kind == "M":
        if isinstance(time, date | str | np.datetime64):
            return _instant(time)
        raise InputError(
            f"time {time!r} is not a date, but the recording's times are; "
            "give a datetime or an ISO string such as 2026-01-31T12:00:00"
        )
    try:
        number = float(time)
    except (TypeError, ValueError):
        number = float("nan")
    if not np.isfinite(number):
        raise InputError(
            f"time {time!r} is not a number, but the recording's times are; give a number"
        )
    return dtype.type(number) if dtype.kind == "f" or number.is_integer() else number


def show_time(time: Any) -> str:
    """Write one time of a recording for people: ISO 8601 without needless digits, or a number."""
    if isinstance(time, np.datetime64):
        text = str(time.astype("datetime64[ns]"))
        if "." in text:
            text = text.rstrip("0").rstrip(".")
        return text + "Z"
    return f"{time.item():g}" if isinstance(time, np.floating) else str(time)


def _instant(value: Any) -> Any:
    """One moment in UTC; a time without a zone is taken as UTC."""
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[ns]")
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            raise InputError(
                f"time {value!r} is not ISO 8601; write it like 2026-01-31T12:00:00Z"
            ) from None
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = (value - value.utcoffset()).replace(tzinfo=None)  # type: ignore[operator]
    return np.datetime64(value, "ns")
