"""Calendar: the local clock and the holidays by which daily and weekly seasons are counted.

In: the name of a time zone, dates of holidays, and times in UTC. Out: the same times as a clock on
the wall shows them, and for weeks with every holiday moved to a Sunday.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from difflib import get_close_matches
from functools import cached_property, lru_cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

import numpy as np
from numpy.typing import NDArray

from smkc.errors import SettingError

DAY, WEEK = 86_400.0, 604_800.0  # seconds

# Days of one table of offsets from UTC, and tables that are kept.
TABLE_DAYS, MAX_TABLES = 365, 1_024

EPOCH, SECOND = datetime(1970, 1, 1), timedelta(seconds=1)


@dataclass(frozen=True, kw_only=True)
class Calendar:
    """The clock of a time zone, and the holidays observed there.

    Parameters
    ----------
    time_zone
        its name in the IANA time zone database.
    holidays
        local dates, such as ``2026-12-25``, that are like Sundays.

    Examples
    --------
    >>> calendar = Calendar(time_zone="Europe/Berlin", holidays=["2026-12-25"])  # a Friday
    >>> noon = np.array(["2026-07-01T12", "2026-12-25T12"], "M8[s]").astype(np.float64)
    >>> calendar.clocks(noon, WEEK).astype("M8[s]").astype(str).tolist()
    ['2026-07-01T14:00:00', '2026-12-27T13:00:00']
    """

    time_zone: str = "UTC"
    holidays: Sequence[str] = ()

    def __post_init__(self) -> None:
        if isinstance(self.holidays, str) or not isinstance(self.holidays, Sequence):
            raise SettingError(
                f"holidays={self.holidays!r}: give a list of dates, such as ['2026-12-25']"
            )
        self.__dict__["holidays"] = tuple(self.holidays)
        _check_zone(self.time_zone)
        _ = self._holiday_numbers  # checks them

    def check(self, times: NDArray[Any]) -> None:
        """Raise SettingError if a calendar is given for a reference whose times are no dates."""
        if (self.time_zone != "UTC" or self.holidays) and times.dtype.kind != "M":
            raise SettingError(
                f"time_zone={self.time_zone!r} and {len(self.holidays)} holidays need dates, but "
                "the reference's times are numbers; read them as dates (time_unit), or leave both "
                "settings out"
            )

    def clocks(self, clocks: NDArray[np.float64], period: float) -> NDArray[np.float64]:
        """Return (n,) the times that the slots of a period are counted by, in seconds.

        For a day or a week it is the local time; in a week, that of the next Sunday on holidays.
        Other periods do not follow the calendar: their times are returned unchanged.

        Parameters
        ----------
        clocks
            (n,) times, in seconds since 1970 in UTC if the period is a day or a week.
        period
            its length in seconds.
        """
        if period not in (DAY, WEEK):
            return clocks
        local = clocks if self.time_zone == "UTC" else clocks + _offsets(self.time_zone, clocks)
        if period == DAY or not self.holidays:
            return local
        days = (local // DAY).astype(np.int64)
        to_sunday = (3 - days) % 7 * DAY  # day 0, 1970-01-01, was a Thursday
        return np.where(np.isin(days, self._holiday_numbers), local + to_sunday, local)

    @cached_property
    def _holiday_numbers(self) -> NDArray[np.int64]:
        """The holidays as days since 1970."""
        return np.array([_day_number(one) for one in self.holidays], np.int64)


def _check_zone(name: object) -> None:
    """Raise SettingError unless there is such a time zone; suggest the one that was meant."""
    if name == "UTC":  # needs no database
        return
    hint = "give a name of the IANA database, such as 'Europe/Berlin', or leave it out for UTC"
    if isinstance(name, str):
        try:
            ZoneInfo(name)
            return
        except (LookupError, ValueError, OSError):  # unknown, malformed, or the name of a folder
            known = {one.lower(): one for one in sorted(available_timezones())}
        near = [repr(known[one]) for one in get_close_matches(name.lower(), known)]
        if near:
            hint = f"did you mean {' or '.join(near)}?"
        elif not known:
            hint = "this system has no time zone database; install Python's: pip install tzdata"
    raise SettingError(f"time_zone={name!r} is not known; {hint}")


def _day_number(text: object) -> int:
    try:
        return (date.fromisoformat(text) - EPOCH.date()).days  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise SettingError(
            f"holidays: {text!r} is not text like '2026-12-25'; write year, month and day in quotes"
        ) from None


def _offsets(time_zone: str, clocks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (n,) the seconds by which local clocks are ahead of UTC at (n,) times."""
    if not len(clocks):
        return clocks
    numbers = np.unique(clocks // (TABLE_DAYS * DAY)).astype(np.int64)
    tables = [_offset_table(time_zone, number) for number in numbers.tolist()]
    starts, offsets = np.concatenate(tables, axis=1)
    found: NDArray[np.float64] = offsets[np.searchsorted(starts, clocks, side="right") - 1]
    return found


@lru_cache(MAX_TABLES)
def _offset_table(time_zone: str, number: int) -> NDArray[np.float64]:
    """Return (2, k) the times at which offsets begin within a span of days, and the offsets.

    The offset is looked up once per day, and changes are located by bisection. No zone of the
    database changes its offset twice within four days.
    """
    zone, day = ZoneInfo(time_zone), int(DAY)
    start = number * TABLE_DAYS * day
    table = [(start, _offset(zone, start))]
    for midnight in range(start + day, start + (TABLE_DAYS + 1) * day, day):
        offset = _offset(zone, midnight)
        if offset == table[-1][1]:
            continue
        before, since = midnight - day, midnight
        while since - before > 1:
            middle = (before + since) // 2
            before, since = (before, middle) if _offset(zone, middle) == offset else (middle, since)
        table.append((since, offset))
    return np.array(table, np.float64).T


def _offset(zone: ZoneInfo, second: int) -> int:
    utc = EPOCH + second * SECOND
    local = zone.fromutc(utc.replace(tzinfo=zone)).replace(tzinfo=None)
    return (local - utc) // SECOND


# The default: days begin at midnight in UTC, and there are no holidays.
UTC_CALENDAR = Calendar()
