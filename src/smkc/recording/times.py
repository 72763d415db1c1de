"""Times: dates, ISO 8601 text or numbers -> datetime64[ns] in UTC, int64 or float64.

In: arrays or single values. Out: one of these three dtypes, without missing values.
"""

import re
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smkc.errors import InputError

# datetime64[ns] counts in 64 bits; these are the whole seconds that fit.
EARLIEST, LATEST = np.datetime64("1677-09-21T00:12:44", "s"), np.datetime64("2262-04-11T23:47:16")
PAST_MICROSECONDS = re.compile(r"[.,]\d{6}(\d{1,3})")


def as_times(times: ArrayLike) -> NDArray[Any]:
    """Convert (T,) times to datetime64[ns] in UTC, int64 or float64; numbers stay numbers.

    Examples
    --------
    >>> as_times(["2026-01-31T12:00:00+02:00"])
    array(['2026-01-31T10:00:00.000000000'], dtype='datetime64[ns]')
    >>> as_times([1, 2, 3])
    array([1, 2, 3])
    """
    values: Any = times if isinstance(times, np.ndarray) else list(times)  # type: ignore[arg-type]
    if isinstance(values, np.ndarray) and values.dtype.kind not in "OU":
        array = values
    elif len(values) and all(isinstance(value, date | str | np.datetime64) for value in values):
        array = np.array([_instant(value) for value in values], "datetime64[ns]")
    else:
        array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "Miuf":
        raise InputError(
            f"times of type {array.dtype} and shape {array.shape} cannot be used; "
            "give one datetime, ISO string or number per row"
        )
    bad = ~np.isfinite(array)
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise InputError(f"row {at} has no time ({array[at]}); leave the row out or give it one")
    if array.dtype.kind == "M":
        return _nanoseconds(array)
    if array.dtype.kind == "f":
        return array.astype(np.float64)
    if array.dtype.kind == "u" and array.size and int(array.max()) > np.iinfo(np.int64).max:
        raise InputError(f"time {array.max()} does not fit 64 bits; count from a later start")
    return array.astype(np.int64)


def moment(time: Any, dtype: np.dtype[Any]) -> Any:
    """Convert one time to a scalar comparable with times of ``dtype``."""
    if dtype.kind == "M":
        if isinstance(time, date | str | np.datetime64):
            instant = _instant(time)
            if not np.isnat(instant):
                return instant
        raise InputError(
            f"time {time!r} is not a date, but the recording's times are; "
            "give a datetime or an ISO string such as 2026-01-31T12:00:00"
        )
    if isinstance(time, int | np.integer):
        return dtype.type(time)
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
    """Format one time of a recording: ISO 8601 without trailing zeros, or a number.

    Examples
    --------
    >>> show_time(np.datetime64("2026-01-31T12:00:00.250", "ns"))
    '2026-01-31T12:00:00.25Z'
    """
    if isinstance(time, np.datetime64):
        text = str(time.astype("datetime64[ns]"))
        if "." in text:
            text = text.rstrip("0").rstrip(".")
        return text + "Z"
    return f"{time.item():.15g}" if isinstance(time, np.floating) else str(time)


def _instant(value: Any) -> Any:
    """Return one moment in UTC; a time without a time zone is taken as UTC."""
    extra = 0  # nanoseconds that datetime cannot hold
    if isinstance(value, str):
        text = value.strip()
        try:
            value = datetime.fromisoformat(text)
        except ValueError:
            raise InputError(
                f"time {text!r} is not ISO 8601; write it like 2026-01-31T12:00:00Z"
            ) from None
        digits = PAST_MICROSECONDS.search(text)
        extra = int(digits[1].ljust(3, "0")) if digits else 0
    elif value != value:  # the NaT of numpy or pandas
        return np.datetime64("NaT", "ns")
    elif isinstance(value, datetime):
        extra = getattr(value, "nanosecond", 0)  # of a pandas Timestamp
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    if not isinstance(value, np.datetime64):
        value = np.datetime64(value, "us") if isinstance(value, datetime) else np.datetime64(value)
    return _nanoseconds(np.array([value]))[0] + np.timedelta64(extra, "ns")


def _nanoseconds(array: NDArray[Any]) -> NDArray[Any]:
    """Cast datetimes to nanoseconds; raise InputError where NumPy would wrap around silently."""
    seconds = array.astype("datetime64[s]")
    outside = (seconds < EARLIEST) | (seconds > LATEST)
    if outside.any():
        raise InputError(
            f"time {array[np.flatnonzero(outside)[0]]} is outside the years 1678 to 2262 that "
            "nanoseconds can count; correct it, or give times as plain numbers"
        )
    return array.astype("datetime64[ns]")
