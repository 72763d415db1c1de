"""Time stamps: a time column of a file or a frame -> the times of a recording.

In: Arrow arrays of datetimes, dates, ISO text or numbers. Out: datetime64[ns] in UTC, int64 or
float64; the unit of numbers is decided once, for the whole source.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from smkc.errors import InputError, ReadError, SettingError
from smkc.recording.columns import Where, kind_of, plain
from smkc.recording.times import as_times

TimeUnit = Literal["auto", "s", "ms", "us", "ns", "step"]

OTHER_FORMAT = ", or say how times are written with time_format='%m/%d/%Y %H:%M'"

NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}

EPOCH_RANGES = {
    "s": (1e8, 1e11),
    "ms": (1e11, 1e14),
    "us": (1e14, 1e17),
    "ns": (1e17, 9.2e18),
}
"""Range of numbers read as time since 1970 in each unit; each range begins in March 1973."""


def check_time_unit(unit: str) -> None:
    """Raise SettingError unless the unit is one of ``TimeUnit``."""
    if unit not in get_args(TimeUnit):
        raise SettingError(
            f"time_unit={unit!r} is unknown; say 'auto', 's', 'ms', 'us', 'ns' or 'step'"
        )


def column_times(array: pa.Array, where: Where, time_format: str | None = None) -> NDArray[Any]:
    """Read an array as datetimes, int64 or float64; the unit of numbers is not decided yet.

    ``time_format`` is the format of text, as in ``datetime.strptime``.
    """
    array = plain(array)
    kind = kind_of(array.type)
    if kind not in ("text", "time", "number", "nothing") or pa.types.is_boolean(array.type):
        raise ReadError(
            f"{where(0)} is of type {array.type}, which is no time; "
            "name another column with time='...'"
        )
    if kind == "text":
        array = pc.utf8_trim_whitespace(array)
        array = pc.if_else(pc.equal(array, ""), pa.scalar(None, pa.string()), array)
    if array.null_count:
        raise _no_time(where, int(pc.index(array.is_null(), True).as_py()))
    if kind == "text":
        if time_format is None:
            return _parsed(array, where)
        return _parsed_by_format(array, where, time_format)
    if kind == "time":
        try:
            return _as_datetimes(array.cast(pa.timestamp("ns", getattr(array.type, "tz", None))))
        except pa.ArrowInvalid as error:
            raise ReadError(
                f"{where(0)} or a row after it is outside the years 1678 to 2262 that nanoseconds "
                f"can count ({error}); correct it, or give times as plain numbers"
            ) from None
    if pa.types.is_integer(array.type):
        try:
            return array.cast(pa.int64()).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
        except pa.ArrowInvalid as error:
            raise ReadError(f"{where(0)} or a row after it is no usable time: {error}") from None
    return _require_finite(array.cast(pa.float64(), safe=False), where)


def looks_like_dates(array: pa.Array) -> bool:
    """Return whether an array holds dates, or text that can be parsed as dates."""
    if kind_of(array.type) == "text" and len(array):
        try:
            return column_times(array, lambda _: "").dtype.kind == "M"
        except ReadError:
            return False
    return kind_of(array.type) == "time"


def settled(pieces: Sequence[NDArray[Any]], unit: TimeUnit) -> NDArray[Any]:
    """Join the pieces of a time column; convert numbers to dates if they count since 1970."""
    kinds = {piece.dtype.kind for piece in pieces}
    if "M" in kinds and len(kinds) > 1:
        raise ReadError(
            "times are dates in one part of the source and numbers in another; "
            "read the parts one by one, or write the times alike"
        )
    times = np.concatenate(pieces)
    if "M" in kinds and np.isnat(times).any():
        raise ReadError("a time is the lowest number that 64 bits can hold; the source is damaged")
    if times.dtype.kind == "M" or unit == "step":
        return times
    if unit == "auto":
        return _since_epoch(times, found) if (found := _epoch_unit(times)) else times
    return _since_epoch(times, unit)


def _epoch_unit(times: NDArray[Any]) -> str | None:
    first, last = times.min(), times.max()
    for unit, (low, high) in EPOCH_RANGES.items():
        if low <= first and last < high:
            return unit
    return None


def _since_epoch(times: NDArray[Any], unit: str) -> NDArray[Any]:
    factor = NANOSECONDS[unit]
    limit = np.iinfo(np.int64).max // factor
    outside = np.flatnonzero((times > limit) | (times < -limit))
    if len(outside):
        raise ReadError(
            f"time {times[outside[0]]} is outside the years 1678 to 2262 when read as {unit} "
            "since 1970; say what it counts with time_unit='s', 'ms', 'us', 'ns' or 'step'"
        )
    if times.dtype.kind == "f":
        # Seconds since 1970 as float64 resolve 0.25 microseconds: more digits are noise.
        microseconds = np.rint(times * (factor / 1e3))
        return (microseconds.astype(np.int64) * 1000).view("datetime64[ns]")
    return (times.astype(np.int64) * factor).view("datetime64[ns]")


def _parsed(array: pa.Array, where: Where) -> NDArray[Any]:
    """Parse text without missing values: try integers, then floats, then ISO 8601."""
    try:
        return array.cast(pa.int64()).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
    except pa.ArrowInvalid:
        pass
    try:
        floats = array.cast(pa.float64())
    except pa.ArrowInvalid:
        pass
    else:
        return _require_finite(floats, where)
    for zone in (None, "UTC"):
        try:
            return _as_datetimes(array.cast(pa.timestamp("ns", zone)))
        except pa.ArrowInvalid:
            continue
    return _each(array, where, lambda text: as_times([text])[0], OTHER_FORMAT)


def _parsed_by_format(array: pa.Array, where: Where, time_format: str) -> NDArray[Any]:
    """Parse text by ``time_format``; a time without a time zone is taken as UTC."""

    def instant(text: str) -> Any:
        try:
            moment: Any = datetime.strptime(text, time_format)
            return as_times([moment])[0]
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{error}; correct the time, or time_format={time_format!r}") from None

    return _each(array, where, instant, "")


def _each(
    array: pa.Array, where: Where, instant: Callable[[str], Any], remedy: str
) -> NDArray[Any]:
    """Parse each distinct text once."""
    encoded = array.dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    instants = []
    for code, text in enumerate(encoded.dictionary.to_pylist()):
        try:
            instants.append(instant(text))
        except InputError as error:
            at = int(np.flatnonzero(codes == code)[0])
            raise ReadError(f"{where(at)}: {error}{remedy}") from None
    times: NDArray[Any] = np.array(instants, "datetime64[ns]")[codes]
    return times


def _as_datetimes(array: pa.Array) -> NDArray[Any]:
    nanoseconds = array.cast(pa.int64()).to_numpy(zero_copy_only=False)
    datetimes: NDArray[Any] = nanoseconds.view("datetime64[ns]")
    return datetimes


def _require_finite(floats: pa.Array, where: Where) -> NDArray[Any]:
    values: NDArray[np.float64] = floats.to_numpy(zero_copy_only=False)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise _no_time(where, int(bad[0]))
    return values


def _no_time(where: Where, at: int) -> ReadError:
    return ReadError(f"{where(at)} holds no time; give the row one or leave the row out")
