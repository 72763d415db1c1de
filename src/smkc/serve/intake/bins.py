"""Bins: samples as they arrive -> rows of a grid, each closed once and in order.

In: samples in any order, and the time up to which rows may be closed. Out: rows that hold, for each
variable, its last value within the step. What waits is bounded; what is left out is counted.
"""

from collections.abc import Container

import numpy as np
from numpy.typing import NDArray

from smkc.errors import SettingError
from smkc.serve.intake.grouping import Readings, ends_of, group, is_possible, keep_last
from smkc.serve.intake.samples import Samples
from smkc.serve.rows import LATEST_TIME, Row

__all__ = ["Bins", "rows_of"]

AHEAD_MS = 600_000
"""A sample further ahead of the clock than this (and 16 steps) was stamped by a wrong clock."""

STEPS_AHEAD = 16

MAX_OPEN_ROWS = 65_536
"""Rows that may wait: eleven days of 15 s steps, should somebody push history."""

LEAST_ROOM = 1 << 20
ROWS_OF_ROOM = 64
"""Readings that may wait: so many full rows, and a million (32 bytes each) where rows are small."""

LEAST_NAMES = 4096  # a table of names below this is not worth tidying


class Bins:
    """Gathers one lane's samples into rows.

    A row closes ``lateness`` after its end. One that was due before its first sample came (a sender
    that was cut off catches up) waits as long again from then, so that it is not closed half full;
    rows after it wait for it. A sample for a row at or before the last one closed is late.

    Parameters
    ----------
    step, lateness
        milliseconds.
    after
        the time of the last row that the lane has; None if it has none.
    max_series
        variables a row takes; known ones first, then by name.
    known
        variables that come first beside those of the row before.

    Attributes
    ----------
    late, duplicates, refused, infinite, gaps
        counts: samples for closed rows; samples of a variable and a time that came before, the
        later being kept; samples at impossible times, too far ahead or past the limits; infinite
        values, which are left out; steps between two rows
        in which nothing was observed.
    infinite_name
        the variable of the latest infinite value; empty if there was none.

    Examples
    --------
    >>> bins = Bins(1000, 500, None, 100)
    >>> arrived = {"codes": np.array([0, 1, 0]), "values": np.array([1.0, 2.0, 3.0])}
    >>> bins.take(Samples(names=("a", "b"), times=np.array([900, 700, 400]), **arrived))
    >>> bins.close_until(1499)
    []
    >>> [(row.time, row.names, row.values.tolist()) for row in bins.close_until(1500)]
    [(1000, ('a', 'b'), [1.0, 2.0])]
    """

    def __init__(
        self,
        step: int,
        lateness: int,
        after: int | None,
        max_series: int,
        *,
        known: Container[str] = (),
    ) -> None:
        for name, value, least in (
            ("step", step, 1),
            ("lateness", lateness, 0),
            ("max_series", max_series, 1),
        ):
            if not least <= value <= LATEST_TIME:
                raise SettingError(f"{name}={value!r} makes no sense; give {least} or more")
        self._step, self._lateness, self._max_series = step, lateness, max_series
        self._known = known
        self._room = max(LEAST_ROOM, ROWS_OF_ROOM * max_series)
        self._closed = self._last = after
        self._previous: tuple[str, ...] = ()
        self._clock: int | None = None  # the latest word on what time it is
        self._latest_clock: int | None = None  # the same, but never stepping back
        self._names: list[str] = []
        self._codes: dict[str, int] = {}
        self._most_names = LEAST_NAMES
        self._waiting: list[Readings] = []
        self._due: dict[int, int] = {}  # an open row's end -> when it may close
        self.late = self.duplicates = self.refused = self.infinite = self.gaps = 0
        self.infinite_name = ""

    @property
    def oldest_open(self) -> int | None:
        """Time of the first row that waits; None if none does."""
        return min(self._due, default=None)

    @property
    def n_pending(self) -> int:
        """How many readings wait."""
        return sum(len(part.ends) for part in self._waiting)

    @property
    def is_filling(self) -> bool:
        """Whether more than half of the room is taken: better let rows close before more comes."""
        return 2 * self.n_pending > self._room or 2 * len(self._due) > MAX_OPEN_ROWS

    def take(self, samples: Samples) -> None:
        """Add samples; nothing is closed by that."""
        ends = ends_of(samples.times, self._step)
        is_late = np.zeros(len(ends), np.bool_) if self._closed is None else ends <= self._closed
        is_wrong = ~is_possible(samples.times, ends)
        if self._latest_clock is not None:
            is_wrong |= ends > self._latest_clock + self._ahead
        is_late &= ~is_wrong
        chosen = ~(is_late | is_wrong)
        self.late += int(is_late.sum())
        self.refused += int(is_wrong.sum())
        if not chosen.any():
            return
        kept = Readings(ends, self._coded(samples), samples.times, samples.values).take(chosen)
        self._waiting.append(kept)
        for end in np.unique(kept.ends).tolist():
            self._due.setdefault(end, self._due_time(end))
        if self.n_pending > self._room or len(self._due) > MAX_OPEN_ROWS:
            self._make_room()

    def hear(self, time: int) -> None:
        """Learn what time it is, before samples are taken that came up to then."""
        if self._clock is not None and time < self._clock:  # the clock stepped back
            for end, due in self._due.items():
                self._due[end] = min(due, max(end, time) + self._lateness)
        self._clock = time
        if self._latest_clock is None or time > self._latest_clock:
            self._latest_clock = time
            if self._due and max(self._due) > time + self._ahead:
                self._forget(self._merged().ends > time + self._ahead)

    def close_until(self, time: int) -> list[Row]:
        """Return the rows that may close now, in order; rows with nothing observed are left out."""
        self.hear(time)
        ready = None
        for end in sorted(self._due):
            if self._due[end] > time:
                break
            ready = end
        return [] if ready is None else self._close(ready)

    # ------------------------------------------------------------------ inside

    @property
    def _ahead(self) -> int:
        return max(AHEAD_MS, STEPS_AHEAD * self._step)

    def _due_time(self, end: int) -> int:
        """Return when a row may close whose first sample comes now."""
        due = end + self._lateness
        return due if self._clock is None or self._clock < due else self._clock + self._lateness

    def _coded(self, samples: Samples) -> NDArray[np.int64]:
        """(N,) codes of the samples in this object's own table of names."""
        codes, names = self._codes, self._names
        own = []
        for name in samples.names:
            code = codes.get(name)
            if code is None:
                code = codes[name] = len(names)
                names.append(name)
            own.append(code)
        return np.array(own, np.int64)[samples.codes]

    def _merged(self) -> Readings:
        if len(self._waiting) != 1:
            self._waiting = [Readings.joined(self._waiting)]
        return self._waiting[0]

    def _close(self, ready: int) -> list[Row]:
        waiting = self._merged()
        is_ready = waiting.ends <= ready
        grouped = group(
            waiting.take(is_ready), self._names, self._max_series, self._known, self._previous
        )
        self.duplicates += grouped.duplicates
        self.refused += grouped.refused
        self.infinite += grouped.infinite
        self.infinite_name = grouped.infinite_name or self.infinite_name
        self._keep(~is_ready)
        for row in grouped.rows:
            if self._last is not None:
                self.gaps += (row.time - self._last) // self._step - 1
            self._last, self._previous = row.time, row.names
        self._closed = ready
        return grouped.rows

    def _keep(self, chosen: NDArray[np.bool_]) -> None:
        """Go on with some of what waits, and tidy the names where most are used no more."""
        kept = self._merged().take(chosen)
        self._waiting = [kept] if len(kept.ends) else []
        open_rows = set(np.unique(kept.ends).tolist())
        self._due = {end: due for end, due in self._due.items() if end in open_rows}
        if len(self._names) > self._most_names:
            used, codes = np.unique(kept.codes, return_inverse=True)
            self._names = [self._names[code] for code in used.tolist()]
            self._codes = {name: code for code, name in enumerate(self._names)}
            self._waiting = [kept._replace(codes=codes)] if len(codes) else []
            self._most_names = max(LEAST_NAMES, 2 * len(used), 2 * len(self._previous))

    def _forget(self, chosen: NDArray[np.bool_]) -> None:
        self.refused += int(chosen.sum())
        self._keep(~chosen)

    def _make_room(self) -> None:
        """Keep only last values; if that is not enough, refuse the newest rows."""
        kept, duplicates = keep_last(self._merged())
        self._waiting = [kept]
        self.duplicates += duplicates
        rows = np.unique(kept.ends)
        if len(rows) > MAX_OPEN_ROWS:
            self._forget(kept.ends >= rows[MAX_OPEN_ROWS])
        kept = self._merged()
        if len(kept.ends) > self._room:
            self._forget(np.arange(len(kept.ends)) >= self._room)


def rows_of(samples: Samples, step: int, max_series: int, known: Container[str] = ()) -> list[Row]:
    """Turn samples that all are there already into rows, at most ``max_series`` names each.

    Where a row offers more, those of ``known`` and of the row before come first, then by name.

    Examples
    --------
    >>> grid = {"codes": np.array([0, 1, 0]), "values": np.array([1.0, 2.0, np.nan])}
    >>> rows = rows_of(Samples(names=("a", "b"), times=np.array([15, 15, 30]), **grid), 15, 9)
    >>> [(row.time, row.names, row.values.tolist()) for row in rows]
    [(15, ('a', 'b'), [1.0, 2.0])]
    """
    readings = Readings(ends_of(samples.times, step), samples.codes, samples.times, samples.values)
    can_be = is_possible(readings.times, readings.ends)
    if not can_be.all():
        readings = readings.take(can_be)
    return group(readings, samples.names, max_series, known, ()).rows
