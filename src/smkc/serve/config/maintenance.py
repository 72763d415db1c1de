"""Maintenance: times at which work on a watched system is planned, and marks of deploys.

In: a start and an end, or a weekly time in a time zone. Out: the spans that overlap a time range.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from datetime import time as time_of_day
from zoneinfo import ZoneInfo

from smkc.errors import SettingError
from smkc.serve.rows import LATEST_TIME

PLANNED = ("maintenance", "deploy")  # kinds of spans that a configuration may hold

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
WEEKLY = re.compile(rf"({'|'.join(DAYS)}) (\d\d:\d\d)-(\d\d:\d\d)")

# Largest number of weeks looked back over: a range that is given by mistake may be centuries long.
MAX_WEEKS = 520


@dataclass(frozen=True, kw_only=True)
class MaintenanceConfig:
    """Planned maintenance of a watch, or a mark of a deploy: once, or every week.

    Parameters
    ----------
    kind
        ``maintenance``, or ``deploy``, which is only shown.
    start, end
        milliseconds since 1970; in the file ISO 8601 times, in UTC if they name no time zone. A
        deploy without an end is a moment.
    weekly
        instead of these, a day of the week with a start and an end, such as
        ``Sun 02:00-04:00``; an end that is not after the start is on the next day.
    time_zone
        time zone of ``weekly``, such as ``Europe/Berlin``.
    entity
        the lane that it concerns; empty for the whole watch.
    note
        shown on the dashboard.

    Examples
    --------
    >>> weekly = MaintenanceConfig(weekly="Sun 23:30-00:30", time_zone="UTC")
    >>> sunday = 1_772_928_000_000  # 2026-03-08
    >>> [(start - sunday, end - sunday) for start, end in weekly.between(sunday, sunday + 10**8)]
    [(84600000, 88200000)]
    """

    kind: str = "maintenance"
    start: int | None = None
    end: int | None = None
    weekly: str = ""
    time_zone: str = "UTC"
    entity: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if self.kind not in PLANNED:
            raise SettingError(f"kind={self.kind!r}: choose {' or '.join(map(repr, PLANNED))}")
        is_moment = self.kind == "deploy" and self.start is not None and self.end is None
        if is_moment:
            object.__setattr__(self, "end", self.start)
        is_once = self.start is not None and self.end is not None
        is_partly = self.start is not None or self.end is not None
        if bool(self.weekly) == is_partly or (is_partly and not is_once):
            raise SettingError("give start and end, or weekly = 'Sun 02:00-04:00'")
        start, end = self.start, self.end
        if start is not None and end is not None and end <= start and not is_moment:
            raise SettingError("end is not after start; exchange them")
        if self.weekly:
            self._week()
        self._zone()

    def between(self, since: int, until: int) -> list[tuple[int, int]]:
        """Return the start and end of each occurrence that overlaps a range, newest first."""
        if self.start is not None and self.end is not None:
            return [(self.start, self.end)] if self.start <= until and self.end >= since else []
        day, begin, end = self._week()
        until = min(until, LATEST_TIME)
        # A time zone may be a day ahead of UTC.
        last = datetime.fromtimestamp(until // 1000, UTC).date() + timedelta(days=1)
        last -= timedelta(days=(last.weekday() - day) % 7)
        found = []
        for week in range(MAX_WEEKS):
            on = last - timedelta(weeks=week)
            start, stop = self._at(on, begin), self._at(on + timedelta(days=end <= begin), end)
            if stop < max(since, 0):
                break
            if start <= until:
                found.append((start, stop))
        return found

    def _at(self, on: date, at: time_of_day) -> int:
        return round(1000 * datetime.combine(on, at, self._zone()).timestamp())

    def _week(self) -> tuple[int, time_of_day, time_of_day]:
        """Return the day of the week, and the start and end on it."""
        found = WEEKLY.fullmatch(self.weekly)
        try:
            if found is None:
                raise ValueError
            begin, end = time_of_day.fromisoformat(found[2]), time_of_day.fromisoformat(found[3])
        except ValueError:
            raise SettingError(
                f"weekly={self.weekly!r}: write it like 'Sun 02:00-04:00', with a day of "
                f"{', '.join(DAYS)}"
            ) from None
        return DAYS.index(found[1]), begin, end

    def _zone(self) -> tzinfo:
        if self.time_zone == "UTC":  # known even where no time zones are installed
            return UTC
        try:
            return ZoneInfo(self.time_zone)
        except (KeyError, OSError, ValueError):  # ZoneInfoNotFoundError is a KeyError
            raise SettingError(
                f"time_zone={self.time_zone!r} is not known here; write it like 'Europe/Berlin', "
                "or install the system's time zones (tzdata)"
            ) from None
