"""Numbers, times and names as short text for readers.

In: plain values. Out: short strings, not escaped for HTML.
"""

from typing import Any

import numpy as np


def in_full(number: float) -> str:
    """Format a whole number in full, any other with 4 significant digits.

    Examples
    --------
    >>> in_full(12345), in_full(0.123456), in_full(3.0)
    ('12,345', '0.1235', '3')
    """
    if float(number).is_integer() and abs(number) < 1e15:
        return f"{int(number):,}"
    return f"{number:.4g}"


def percent(share: float) -> str:
    """Format a share as a percentage, with one decimal from 0.1% to 10%.

    Examples
    --------
    >>> percent(0.001), percent(0.034), percent(0.5), percent(0.00001)
    ('0.1%', '3.4%', '50%', '0.001%')
    """
    value = 100 * share
    if value >= 10 or value == 0:
        return f"{value:.0f}%"
    return f"{value:.1f}%" if value >= 0.1 else f"{value:.1g}%"


# Smallest p-value that is shown; references are too short to support smaller ones.
RAREST = 1e-6


def odds(p_value: float) -> str:
    """Describe how rare a score is among normal time steps.

    Examples
    --------
    >>> odds(0.0004)
    'at most 1 normal time step in 2,500 scores this high'
    >>> odds(float("nan"))
    'too little reference data to say how rare this is'
    """
    if not np.isfinite(p_value):
        return "too little reference data to say how rare this is"
    if p_value >= 0.5:
        return "most normal time steps score this high"
    times = 1 / max(p_value, RAREST)
    rounded = round(times, 1 - int(np.floor(np.log10(times)))) if times >= 100 else round(times)
    return f"at most 1 normal time step in {int(rounded):,} scores this high"


def clock(time: Any) -> str:
    """Format a time: date and time of day without trailing zeros, or the number.

    Examples
    --------
    >>> clock(np.datetime64("2026-03-02T04:05:00", "ns")), clock(np.int64(7))
    ('2026-03-02 04:05', '7')
    """
    if isinstance(time, np.datetime64):
        text = str(time.astype("datetime64[ms]")).replace("T", " ")
        for needless in (".000", ":00"):
            text = text.removesuffix(needless) if len(text) > len("2026-03-02 04:05") else text
        return text
    return in_full(float(time))


def span(start: Any, end: Any) -> str:
    """Format an interval; the date is given only once if it is the same.

    Examples
    --------
    >>> at = np.datetime64("2026-03-02T04:00:00", "ns")
    >>> span(at, at + np.timedelta64(90, "m"))
    '2026-03-02 04:00 to 05:30'
    """
    first, last = clock(start), clock(end)
    if isinstance(start, np.datetime64) and first[:11] == last[:11]:
        last = last[11:]
    return f"{first} to {last}"


def duration(start: Any, end: Any) -> str:
    """Format the time from start to end.

    Examples
    --------
    >>> at = np.datetime64("2026-03-02T04:00:00", "ns")
    >>> duration(at, at + np.timedelta64(90, "m")), duration(3, 10), duration(at, at)
    ('1 h 30 min', '7', '1 row')
    """
    if start == end:
        return "1 row"
    if not isinstance(start, np.datetime64):
        return in_full(float(end) - float(start))
    seconds = float((end - start) / np.timedelta64(1, "ms")) / 1000
    if seconds < 60:
        return f"{in_full(seconds)} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{hours // 24} d {hours % 24} h" if hours % 24 else f"{hours // 24} d"


def short_name(name: str, limit: int = 48) -> str:
    """Shorten the name of a variable by cutting out its middle.

    Examples
    --------
    >>> short_name("cpu_usage_of_a_pod", 11)
    'cpu_u...pod'
    """
    flat = " ".join(name.split())
    if len(flat) <= limit:
        return flat
    tail = (limit - 3) // 2 - 1
    return f"{flat[: limit - 3 - tail]}...{flat[len(flat) - tail :]}"
