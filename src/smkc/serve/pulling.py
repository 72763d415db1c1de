"""Pulling: asks Prometheus for the rows that are due, history first, and hands them to the lanes.

In: a clock and a server that may be slow, wrong or away. Out: every row once and in order: what
could not be asked for is asked for later.
"""

from collections.abc import Sequence

from smkc.serve.clock import Clock
from smkc.serve.config import WatchConfig, show_duration
from smkc.serve.intake.entities import Intake
from smkc.serve.intake.grouping import Readings, ends_of, group, infinite_values
from smkc.serve.intake.samples import Samples
from smkc.serve.lane.lanes import Lanes
from smkc.serve.messages import instant
from smkc.serve.prometheus.client import Prometheus

__all__ = ["PullFeed"]

# Rows that are asked for and committed at once.
ROWS_PER_QUERY = 120

# The last rows of the history are not learned from but judged: the first score comes with them.
HELD_BACK = 4

# Milliseconds without a series after which that is said; Prometheus itself looks back so long.
SILENCE = 300_000

# Milliseconds after which the clock is looked at again, however far away the next row is: clocks
# step.
MAX_WAIT_MILLISECONDS = 5_000


class PullFeed:
    """Rows of one watch, asked for.

    Parameters
    ----------
    lanes
        of the watch; they take the rows.
    prometheus
        that is asked.
    clock
        says what is due.
    oldest
        milliseconds: rows older than that are not asked for.

    Attributes
    ----------
    is_backfilling
        whether history is still being fetched: nothing is fitted before it is there.
    is_behind
        whether it has yet to ask, for the first time, for every row that is due.
    problems
        sentences by what they are about.
    errors
        counts of failures by kind, beside those that are raised.
    """

    def __init__(self, lanes: Lanes, prometheus: Prometheus, clock: Clock, oldest: int) -> None:
        self._lanes, self._prometheus = lanes, prometheus
        self._clock, self._oldest = clock, oldest
        self.problems: dict[str, str] = {}
        self.errors: dict[str, int] = {}
        self.late = self.duplicates = self.infinite = self._refused_before = 0
        self.reset()

    @property
    def _watch(self) -> WatchConfig:
        return self._lanes.watch

    def reset(self) -> None:
        """Go back to where the lanes' journals end."""
        self._intake = Intake(self._watch, [lane.entity for lane in self._lanes])
        self._next: int | None = None
        self._silent_from: int | None = None
        self._first = 0
        self.is_behind = True
        self._learned_until = 0
        self.is_backfilling = not any(lane.model.follower for lane in self._lanes)

    def forget(self, entities: Sequence[str]) -> None:
        """Make room for others: these entities have no lane any more."""
        self._refused_before += self._intake.over_lanes
        self._intake = Intake(self._watch, [lane.entity for lane in self._lanes])

    @property
    def refused(self) -> int:
        """Count of variables and samples that there was no place for."""
        here = self._refused_before + self._intake.over_lanes
        return sum(lane.refused for lane in self._lanes) + here

    @property
    def progress(self) -> float:
        """Share of the history that is there."""
        if not self.is_backfilling:
            return 1.0
        if self._next is None or self._learned_until <= self._first:
            return 0.0
        return min((self._next - self._first) / (self._learned_until - self._first), 1.0)

    def advance(self) -> float:
        """Ask for the next rows, if any are due; return the seconds until there is more to do."""
        for lane in self._lanes:
            lane.flush()
        step, lateness = self._watch.step, self._watch.lateness
        now = self._clock.now()
        due = (now - lateness) // step * step
        if self._next is None:
            self._begin(due)
        assert self._next is not None
        start = self._next
        end = min(due, start + (ROWS_PER_QUERY - 1) * step)
        if self.is_backfilling:
            end = min(end, self._learned_until)
        if start > end:
            self.is_backfilling = False
            self._look_at_clock(now)
            if start > due:
                self.is_behind = False
                self._look_at_silence(due)
            return min(start + lateness - now, MAX_WAIT_MILLISECONDS) / 1000 if start > due else 0.0
        infinite = self.infinite
        samples = self._asked(start, end)
        is_something = self._take(self._asked_for(samples, start, end))
        if self.infinite == infinite:
            self.problems.pop("infinite", None)
        if is_something:
            self._silent_from = None
        elif self._silent_from is None:
            self._silent_from = start
        self._next = end + step
        return 0.0

    def _begin(self, due: int) -> None:
        """Choose the first row to ask for."""
        step = self._watch.step
        last = self._lanes.last_time
        history = self._watch.history // step * step
        self._first = self._next = due - history
        self._learned_until = due - HELD_BACK * step
        if last is None:
            return
        # Lanes commit one after another: some may lack the rows that were asked for last.
        back = 0 if len(self._lanes) == 1 and not self._watch.entity else ROWS_PER_QUERY - 1
        oldest = (due - self._oldest) // step * step
        self._next = max(last + step - back * step, oldest, 0)
        # A grid of another step goes on after the latest row.
        self._next = -(-self._next // step) * step

    def _asked(self, start: int, end: int) -> Samples:
        """Ask Prometheus; it leaves infinite values out and counts them."""
        before = self._prometheus.n_infinite
        samples = self._prometheus.range(self._watch.query, start, end, self._watch.step)
        self._note_infinite(self._prometheus.n_infinite - before, self._prometheus.infinite_name)
        return samples

    def _note_infinite(self, n: int, name: str) -> None:
        if n:
            self.infinite += n
            self.problems["infinite"] = infinite_values(n, name)

    def _asked_for(self, samples: Samples, start: int, end: int) -> Samples:
        """Return the samples of the span that was asked for: a row ahead would stop all before."""
        is_inside = (samples.times > start - self._watch.step) & (samples.times <= end)
        n_outside = len(samples) - int(is_inside.sum())
        if not n_outside:
            self.problems.pop("times", None)
            return samples
        self._refused_before += n_outside
        first = int(samples.times[int(is_inside.argmin())])
        self.problems["times"] = (
            f"the answer to {self._watch.query!r} holds {n_outside} samples outside of the time "
            f"asked for, one at {first} ms; they are left out: see what answers in its place"
        )
        return samples.take(is_inside)

    def _take(self, samples: Samples) -> bool:
        """Hand samples to their lanes; tell whether there were any."""
        step, most = self._watch.step, self._watch.max_series
        over_lanes = self._intake.over_lanes
        parts = self._intake.by_entity(samples)
        for entity, part in parts.items():
            lane = self._lanes.of(entity)
            readings = Readings(ends_of(part.times, step), part.codes, part.times, part.values)
            grouped = group(readings, part.names, most, (), lane.names)
            self.duplicates += grouped.duplicates
            self._note_infinite(grouped.infinite, grouped.infinite_name)
            lane.refuse(grouped.refused)
            lane.take(grouped.rows)
        if self._intake.over_lanes > over_lanes:
            self.problems["lanes"] = (
                f"there are more entities than max_lanes={self._watch.max_lanes}; the others are "
                "left out: raise it, or narrow the query"
            )
        else:
            self.problems.pop("lanes", None)
        return bool(parts)

    def _look_at_silence(self, due: int) -> None:
        """Say so where a query gives nothing: most often it is not the query that was meant."""
        if sentence := self._silence(due):
            self.problems["silence"] = sentence
        else:
            self.problems.pop("silence", None)

    def _silence(self, due: int) -> str:
        watch, since = self._watch, self._silent_from
        if since is None:
            return ""
        if not len(self._lanes) and self._intake.without_entity:
            return (
                f"no series of the query {watch.query!r} has the label {watch.entity!r}, which is "
                "to split it; correct entity, or leave it out"
            )
        if not len(self._lanes):
            return (
                f"the query {watch.query!r} gives no series, neither now nor in the last "
                f"{show_duration(watch.history)}; try it in Prometheus"
            )
        if due - since >= max(SILENCE, 2 * watch.step):
            return (
                f"the query {watch.query!r} gives no series since {instant(since)}; see in "
                "Prometheus whether its targets are up"
            )
        return ""

    def _look_at_clock(self, now: int) -> None:
        last = self._lanes.last_time
        if last is not None and now < last:
            self.problems["clock"] = (
                f"the clock is {(last - now) / 1000:.0f} s behind the latest row; rows go on once "
                "it has caught up: see that it is right"
            )
        else:
            self.problems.pop("clock", None)
