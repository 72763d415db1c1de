"""Bins: samples as they arrive -> rows of a grid, each closed once and in order.

In: samples in any order, and the current time. Out: rows that hold the last value of each variable
within the step. The number of waiting samples is bounded; dropped samples are counted.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from smkc.serve.intake.grouping import Readings, ends_of, group, is_possible, keep_last
from smkc.serve.intake.samples import Samples
from smkc.serve.rows import Row

AHEAD_MS = 600_000
"""A sample farther ahead of the clock than this, and than 16 steps, has a wrong timestamp."""

STEPS_AHEAD = 16

MAX_OPEN_ROWS = 65_536
"""Maximum number of waiting rows: 11 days at a step of 15 s, for clients that push history."""

LEAST_ROOM = 1 << 20
ROWS_OF_ROOM = 64
"""Maximum number of waiting readings, in full rows; at least a million readings (32 bytes each)."""

LEAST_NAMES = 4096  # a table of names below this is not worth tidying


class Bins:
    """Collects one lane's samples into rows.

    A row closes ``lateness`` after its end. If its first sample arrives after that (from a sender
    that catches up after an interruption), the row closes ``lateness`` after that arrival, so that
    it is not closed half full; later rows wait for it. A sample for a row at or before the last
    closed one is late. A row has at most ``max_series`` variables: those of the row before, then
    the first by name.

    ``after`` and ``previous`` are the time and the variables of the lane's last row. The ``counts``
    are of samples: ``late``; ``duplicates`` with the variable and time of another, of which the
    later arrival is kept; ``refused`` ones at impossible times, too far ahead of the clock or
    beyond the limits; and ``infinite`` values, which are left out (``infinite_name`` is the
    variable of the latest).

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
        previous: tuple[str, ...] = (),
        counts: Counter[str] | None = None,
    ) -> None:
        self._step, self._lateness, self._max_series = step, lateness, max_series
        self._ahead = max(AHEAD_MS, STEPS_AHEAD * step)
        self._room = max(LEAST_ROOM, ROWS_OF_ROOM * max_series)
        self._closed = after
        self._previous = previous
        self._clock: int | None = None  # the current time as last given to hear()
        self._latest_clock: int | None = None  # the latest such time: it never steps back
        self._names: list[str] = []
        self._codes: dict[str, int] = {}
        self._most_names = LEAST_NAMES
        self._waiting: list[Readings] = []
        self._due: dict[int, int] = {}  # an open row's end -> when it may close
        self.counts = Counter() if counts is None else counts
        self.infinite_name = ""

    @property
    def oldest_open(self) -> int | None:
        """Time of the first open row; None if there is none."""
        return min(self._due, default=None)

    @property
    def n_pending(self) -> int:
        """Number of readings in open rows."""
        return sum(len(part.ends) for part in self._waiting)

    @property
    def is_filling(self) -> bool:
        """Whether more than half of the capacity is used: rows should close before more samples."""
        return 2 * self.n_pending > self._room or 2 * len(self._due) > MAX_OPEN_ROWS

    def take(self, samples: Samples) -> None:
        """Add samples, without closing any row."""
        ends = ends_of(samples.times, self._step)
        is_late = np.zeros(len(ends), np.bool_) if self._closed is None else ends <= self._closed
        is_wrong = ~is_possible(samples.times, ends)
        if self._latest_clock is not None:
            is_wrong |= ends > self._latest_clock + self._ahead
        is_late &= ~is_wrong
        chosen = ~(is_late | is_wrong)
        self.counts["late"] += int(is_late.sum())
        self.counts["refused"] += int(is_wrong.sum())
        if not chosen.any():
            return
        kept = Readings(ends, self._coded(samples), samples.times, samples.values).take(chosen)
        self._waiting.append(kept)
        for end in np.unique(kept.ends).tolist():
            self._due.setdefault(end, self._due_time(end))
        if self.n_pending > self._room or len(self._due) > MAX_OPEN_ROWS:
            self._make_room()

    def hear(self, time: int) -> None:
        """Set the current time, before adding the samples that arrived until then.

        Samples too far ahead of it are dropped. If the clock stepped back, open rows close earlier.
        """
        if self._clock is not None and time < self._clock:  # the clock stepped back
            for end, due in self._due.items():
                self._due[end] = min(due, max(end, time) + self._lateness)
        self._clock = time
        if self._latest_clock is None or time > self._latest_clock:
            self._latest_clock = time
            if self._due and max(self._due) > time + self._ahead:
                self._forget(self._merged().ends > time + self._ahead)

    def close_until(self, time: int) -> list[Row]:
        """Close and return the rows that are due, in order; rows without values are left out."""
        self.hear(time)
        ready = None
        for end in sorted(self._due):
            if self._due[end] > time:
                break
            ready = end
        return [] if ready is None else self._close(ready)

    # ------------------------------------------------------------------ inside

    def _due_time(self, end: int) -> int:
        """Return when a row may close whose first sample arrives now."""
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
        grouped = group(waiting.take(is_ready), self._names, self._max_series, self._previous)
        self.counts["duplicates"] += grouped.duplicates
        self.counts["refused"] += grouped.refused
        self.counts["infinite"] += grouped.infinite
        self.infinite_name = grouped.infinite_name or self.infinite_name
        self._keep(~is_ready)
        if grouped.rows:
            self._previous = grouped.rows[-1].names
        self._closed = ready
        return grouped.rows

    def _keep(self, chosen: NDArray[np.bool_]) -> None:
        """Keep some of the waiting readings; drop unused names if there are too many names."""
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
        self.counts["refused"] += int(chosen.sum())
        self._keep(~chosen)

    def _make_room(self) -> None:
        """Keep only the last value of each variable and row; if still too many, drop newest rows.

        Dropped readings count as refused.
        """
        kept, duplicates = keep_last(self._merged())
        self._waiting = [kept]
        self.counts["duplicates"] += duplicates
        rows = np.unique(kept.ends)
        if len(rows) > MAX_OPEN_ROWS:
            self._forget(kept.ends >= rows[MAX_OPEN_ROWS])
        kept = self._merged()
        if len(kept.ends) > self._room:
            self._forget(np.arange(len(kept.ends)) >= self._room)


def rows_of(
    samples: Samples, step: int, max_series: int, previous: Sequence[str] = ()
) -> list[Row]:
    """Turn a complete set of samples into rows; see :func:`group`.

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
    return group(readings, samples.names, max_series, previous).rows
