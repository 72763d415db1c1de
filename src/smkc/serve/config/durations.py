"""Durations: conversion of text such as 15s, 6h and 7d to and from milliseconds.

In: text in the format of a recording's step, or milliseconds. Out: the other of the two.
"""

from smkc.errors import SettingError
from smkc.recording.grid import DURATION, NANOSECONDS

MILLISECOND = NANOSECONDS["ms"]
MAX_DURATION = 100 * 365 * 86_400_000  # milliseconds; a longer duration is probably a mistake


def duration(text: object) -> int:
    """Parse a duration to milliseconds; the number 0 needs no unit.

    Examples
    --------
    >>> duration("15s"), duration("6h"), duration("1.5m"), duration(0)
    (15000, 21600000, 90000, 0)
    """
    if text == 0 and not isinstance(text, bool):
        return 0
    found = DURATION.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise SettingError(
            f"{text!r} is not a duration; write it like '15s', '500ms', '6h' or '7d'"
        )
    exact = float(found[1]) * NANOSECONDS[found[2]] / MILLISECOND
    if exact > MAX_DURATION:
        raise SettingError(f"{text!r} is longer than a century; choose a shorter duration")
    if exact != int(exact):
        raise SettingError(f"{text!r} is not a whole number of milliseconds; round it")
    return int(exact)


def show_duration(milliseconds: int) -> str:
    """Format milliseconds in the longest unit that divides them.

    Examples
    --------
    >>> show_duration(15_000), show_duration(90_000), show_duration(21_600_000), show_duration(0)
    ('15s', '90s', '6h', '0s')
    """
    if milliseconds == 0:
        return "0s"
    for unit in ("d", "h", "m", "s"):
        length = NANOSECONDS[unit] // MILLISECOND
        if milliseconds % length == 0:
            return f"{milliseconds // length}{unit}"
    return f"{milliseconds}ms"
