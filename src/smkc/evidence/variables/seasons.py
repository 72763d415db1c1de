"""Seasons: the usual value of each column by time of the day or of the week.

In: reference rows of scaled values and their times. Out: the distance of a value from the usual
value at its time, for the columns whose season the last part of the reference confirms.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.settings import SETTINGS
from smkc.evidence.variables._season_loops import slot_medians
from smkc.evidence.variables.calendar import DAY, UTC_CALENDAR, WEEK, Calendar

# Most slots of a period, to limit memory: 5 minutes of a week.
MAX_SLOTS = 2_016


@dataclass(frozen=True, kw_only=True)
class Usual:
    """The usual value of a column at a time: ``middle``, plus or minus ``spread``.

    ``when`` names the times that it holds for, such as "on Mondays at 09:00"; empty for always.
    """

    middle: float
    spread: float
    when: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Seasons:
    """The seasons of S columns.

    Parameters
    ----------
    columns
        (S,) numbers of the columns that have a season.
    period
        (S,) length of the period, in seconds for dates, else in units of the recording's times.
    n_slots
        (S,) number of slots that the period is divided into.
    usual
        (S, K) median of the reference's values in each slot; NaN past the last slot.
    calendar
        the clock and the holidays that days and weeks are counted by.

    Examples
    --------
    >>> hours = np.arange(24.0 * 14)
    >>> values = np.sin(2 * np.pi * hours / 24)[:, None].astype(np.float32)
    >>> seasons, _ = Seasons.fit(values, 3600 * hours, np.array([True]), has_dates=True)
    >>> seasons.period.tolist(), seasons.subtract(values[:1], hours[6:7] * 3600).round(2).tolist()
    ([86400.0], [[-1.0]])
    """

    columns: NDArray[np.int64]
    period: NDArray[np.float64]
    n_slots: NDArray[np.int64]
    usual: NDArray[np.float32]
    calendar: Calendar = UTC_CALENDAR

    @classmethod
    def fit(
        cls,
        values: NDArray[np.float32],
        clocks: NDArray[np.float64],
        is_asked: NDArray[np.bool_],
        *,
        has_dates: bool,
        calendar: Calendar = UTC_CALENDAR,
    ) -> "tuple[Seasons, NDArray[np.float32]]":
        """Fit seasons to reference rows; also return (n, S) the distances of these rows.

        The distance of a row in an even period is measured from the usual values in odd periods,
        and the reverse, so that no row affects its own usual value.

        Parameters
        ----------
        values
            (n, C) scaled values, NaN where not observed.
        clocks
            (n,) times, increasing.
        is_asked
            (C,) whether each column may have a season.
        has_dates
            whether clocks are seconds since 1970, so that days and weeks are tried.
        calendar
            the clock and the holidays that days and weeks are counted by.
        """
        left = np.where(is_asked, SETTINGS.nearly_all, -np.inf)
        chosen = np.zeros(values.shape[1])
        slots_of = {}
        for period in _candidates(values[:, is_asked], clocks, has_dates=has_dates):
            n_slots = _n_slots(clocks, period)
            if n_slots < 2:
                continue
            slots = _slots(calendar.clocks(clocks, period), period, n_slots)
            slots_of[period] = n_slots, slots
            share = _share_left(values, clocks, period, n_slots, slots)
            is_better = share < left
            left, chosen = np.where(is_better, share, left), np.where(is_better, period, chosen)
        columns = np.flatnonzero(chosen)
        n_slots_of = np.array([slots_of[chosen[column]][0] for column in columns], np.int64)
        usual = np.full((len(columns), int(n_slots_of.max(initial=0))), np.nan, np.float32)
        distances = np.empty((len(values), len(columns)), np.float32)
        for period in np.unique(chosen[columns]):
            of_period = np.flatnonzero(chosen[columns] == period)
            some = values[:, columns[of_period]]
            n_slots, slots = slots_of[period]
            usual[of_period, :n_slots] = _medians(some, slots, n_slots).T
            is_odd = np.floor(clocks / period) % 2 == 1
            distances[:, of_period] = _distances_from_others(some, slots, n_slots, is_odd)
        seasons = cls(
            columns=columns,
            period=chosen[columns],
            n_slots=n_slots_of,
            usual=usual,
            calendar=calendar,
        )
        return seasons, distances

    def subtract(
        self, values: NDArray[np.float32], clocks: NDArray[np.float64]
    ) -> NDArray[np.float32]:
        """Return (n, S) the (n, C) values minus the usual values at their times ``clocks`` (n,)."""
        out = np.empty((len(values), len(self.columns)), np.float32)
        for numbers in self._by_period:
            slots = self._slots_at(numbers[0], clocks)
            usual = self.usual[numbers[:, None], slots]
            out[:, numbers] = values[:, self.columns[numbers]] - usual.T
        return out

    def adjusted(
        self, rows: NDArray[np.float32], distances: NDArray[np.float32], n_variables: int
    ) -> NDArray[np.float32]:
        """Return (n, C) rows in which distances (n, S) replace the values of seasonal variables.

        The first ``n_variables`` columns are the same in the rows and among the columns that
        seasons were sought for; only these are replaced, within the limits of the rows.
        """
        some = np.flatnonzero(self.columns < n_variables)
        if not len(some):
            return rows
        out = rows.copy()
        out[:, self.columns[some]] = np.clip(distances[:, some], -SETTINGS.clip, SETTINGS.clip)
        return out

    @cached_property
    def _by_period(self) -> list[NDArray[np.int64]]:
        """Numbers of the seasons of each period."""
        return [np.flatnonzero(self.period == period) for period in np.unique(self.period)]

    def _slots_at(self, number: int, clocks: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return (n,) the slots that season ``number`` has for (n,) times."""
        period, n_slots = float(self.period[number]), int(self.n_slots[number])
        return _slots(self.calendar.clocks(clocks, period), period, n_slots)

    def middle_at(self, number: int, clock: float) -> float:
        """Return the usual value at a time according to season ``number``."""
        return float(self.usual[number, self._slots_at(number, np.array([clock]))[0]])

    def when(self, number: int, clock: float) -> str:
        """Describe the times that season ``number`` compares a time with, by the local clock.

        Examples
        --------
        >>> none = np.empty((3, 0), np.float32)
        >>> periods = np.array([DAY, WEEK, 600.0])
        >>> seasons = Seasons(columns=np.arange(3), period=periods, n_slots=none, usual=none)
        >>> [seasons.when(number, 1e9) for number in range(3)]
        ['at 01:46', 'on Sundays at 01:46', 'at this point of its period of 600']
        """
        period = float(self.period[number])
        if period not in (DAY, WEEK):
            return f"at this point of its period of {period:g}"
        of_day, of_week = (self.calendar.clocks(np.array([clock]), p)[0] for p in (DAY, WEEK))
        time = datetime.fromtimestamp(float(of_week), UTC)
        if period == DAY:
            return f"at {time:%H:%M}"
        holidays = " and holidays" if of_week != of_day else ""
        return f"on {time:%A}s{holidays} at {time:%H:%M}"


def find_period(values: NDArray[np.float32]) -> float:
    """Return the period of (n, C) values in rows, or 0 if there is none.

    It is found in the autocorrelation, the median over columns.

    Examples
    --------
    >>> rows = np.sin(2 * np.pi * np.arange(400) / 24.5)[:, None].astype(np.float32)
    >>> round(find_period(rows), 1)
    24.5
    """
    correlation = _autocorrelation(values)
    below = np.flatnonzero(correlation < 0)
    if not len(below):
        return 0.0  # only neighbouring rows are alike
    first = int(below[0])
    best = float(correlation[first:].max(initial=0.0))
    if best < SETTINGS.majority:
        return 0.0
    is_close = np.append(correlation[first:] >= SETTINGS.nearly_all * best, False)
    start = int(np.argmax(is_close))
    end = start + int(np.argmin(is_close[start:]))
    lag = first + start + int(np.argmax(correlation[first + start : first + end]))
    multiple = 1
    reach = lag // 8 + 1
    while 2 * lag + reach < len(correlation):  # a longer lag gives the period more exactly
        nearby = np.arange(2 * lag - reach, 2 * lag + reach + 1)
        lag, multiple = int(nearby[np.argmax(correlation[nearby])]), 2 * multiple
    return 0.0 if multiple == 1 and lag == len(correlation) - 1 else lag / multiple


def _candidates(
    values: NDArray[np.float32], clocks: NDArray[np.float64], *, has_dates: bool
) -> list[float]:
    """Return the periods to try: days and weeks if the reference is long enough, and one found.

    One that is a number of days, but for ``same_share`` of it, is left to the days and weeks.
    """
    if len(clocks) < 2:
        return []
    step = float(np.median(np.diff(clocks)))
    span = float(clocks[-1] - clocks[0]) + step
    by_date = [
        period for period in (DAY, WEEK) if has_dates and span >= SETTINGS.min_periods * period
    ]
    found = find_period(values) * step
    n_days = round(found / DAY) if by_date else 0
    if not found or (n_days and abs(found / (n_days * DAY) - 1.0) < SETTINGS.same_share):
        return by_date
    return [*by_date, found]


def _autocorrelation(values: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return (L,) the autocorrelation at lags below L, the median over columns; may be empty."""
    n = len(values)
    filled = np.nan_to_num(np.clip(values, -10.0, 10.0).astype(np.float64))
    filled = filled - filled.mean(axis=0)
    moving = filled[:, filled.std(axis=0) > 1e-6]
    if n < 4 * SETTINGS.min_periods or not moving.shape[1]:
        return np.empty(0)
    spectrum = np.abs(np.fft.rfft(moving, 1 << (2 * n).bit_length(), axis=0)) ** 2
    covariance = np.fft.irfft(spectrum, axis=0)[: n // SETTINGS.min_periods + 1]
    counted = n / (n - np.arange(len(covariance)))  # a longer lag has fewer products
    correlation: NDArray[np.float64] = np.median(covariance / covariance[0], axis=1) * counted
    return correlation


def _n_slots(clocks: NDArray[np.float64], period: float) -> int:
    """Return the number of slots of a period, such that each has enough reference rows."""
    step = float(np.median(np.diff(clocks)))
    rows_per_period = period / step
    n_periods = max(len(clocks) / rows_per_period, 1.0)
    width = max(1.0, SETTINGS.min_periods / n_periods, rows_per_period / MAX_SLOTS)
    return int(rows_per_period / np.ceil(width) + 1e-6)


def _slots(clocks: NDArray[np.float64], period: float, n_slots: int) -> NDArray[np.int64]:
    """Return (n,) the slot whose middle is nearest to each time."""
    phase = np.floor(np.mod(clocks, period) / period * n_slots + 0.5).astype(np.int64)
    return phase % n_slots


def _medians(
    values: NDArray[np.float32], slots: NDArray[np.int64], n_slots: int
) -> NDArray[np.float32]:
    """Return (K, C) the median of each slot, or that of all rows for slots without any."""
    out = np.empty((n_slots, values.shape[1]), np.float32)
    slot_medians(values, slots, n_slots, out)
    return out


def _share_left(
    values: NDArray[np.float32],
    clocks: NDArray[np.float64],
    period: float,
    n_slots: int,
    slots: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return (C,) the share of the last part's deviation left by the first part's season."""
    cut = int(np.searchsorted(clocks, clocks[-1] - max(period / 2.0, _last_part(clocks))))
    early = values[:cut]
    middle = _medians(early, np.zeros(cut, np.int64), 1)
    usual = _medians(early, slots[:cut], n_slots)
    late = values[cut:].astype(np.float64)
    is_seen = ~np.isnan(late)
    deviations = [
        np.where(is_seen, np.abs(late - some), 0.0).sum(axis=0)
        for some in (middle, usual[slots[cut:]])
    ]
    with np.errstate(invalid="ignore", divide="ignore"):
        share: NDArray[np.float64] = deviations[1] / deviations[0]
    return np.nan_to_num(share, nan=np.inf, posinf=np.inf)


def _last_part(clocks: NDArray[np.float64]) -> float:
    return (1.0 - SETTINGS.fitted_share) * float(clocks[-1] - clocks[0])


def _distances_from_others(
    values: NDArray[np.float32],
    slots: NDArray[np.int64],
    n_slots: int,
    is_odd: NDArray[np.bool_],
) -> NDArray[np.float32]:
    """Return (n, C) distances of even periods from the medians of odd ones, and the reverse."""
    out = np.empty_like(values)
    for some in (is_odd, ~is_odd):
        usual = _medians(values[~some], slots[~some], n_slots)
        out[some] = values[some] - usual[slots[some]]
    return out


def describe_seasons(seasons: Mapping[str, float], time_zone: str = "UTC") -> str:
    """Return the number of variables per period, in words, and a time zone other than UTC.

    Examples
    --------
    >>> describe_seasons({"cpu": 86_400.0, "load": 86_400.0, "backup": 604_800.0, "tick": 600.0})
    '2 daily, 1 weekly, 1 every 600'
    >>> describe_seasons({"cpu": 86_400.0}, "Asia/Kolkata")
    '1 daily, by the clock of Asia/Kolkata'
    """
    named = {DAY: "daily", WEEK: "weekly"}
    counts = Counter(named.get(period, f"every {period:g}") for period in seasons.values())
    counted = [f"{count:,} {name}" for name, count in counts.most_common()]
    clock = [f"by the clock of {time_zone}"] if counted and time_zone != "UTC" else []
    return ", ".join(counted + clock)
