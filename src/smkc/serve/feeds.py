"""Feeds: rows for the lanes of one watch, queried from Prometheus or pushed by clients.

In: a clock, and a server that may be slow, faulty or unreachable, or bodies that were pushed and
acknowledged. Out: every row once and in order; rows that could not be queried are queried again
later.
"""

import logging
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError
from smkc.serve.clock import Clock
from smkc.serve.config import WatchConfig, show_duration
from smkc.serve.intake.bins import AHEAD_MS, STEPS_AHEAD, Bins
from smkc.serve.intake.entities import Intake
from smkc.serve.intake.grouping import Readings, ends_of, group, infinite_values, is_possible
from smkc.serve.intake.samples import Samples, unpack_samples
from smkc.serve.lane.lanes import Lanes
from smkc.serve.lane.model import HISTORY_ROWS
from smkc.serve.messages import instant
from smkc.serve.prometheus.client import Prometheus
from smkc.serve.store import Store

log = logging.getLogger("smkc.serve.feeds")

# Maximum number of rows per query; they are committed together.
ROWS_PER_QUERY = 120

# Milliseconds without any series after which a problem is reported: Prometheus' lookback period.
SILENCE = 300_000

# Maximum wait before the clock is read again, even if the next row is due later: clocks step.
MAX_WAIT_MILLISECONDS = 5_000

# Maximum number of bodies read in one call of advance, before rows are closed.
BODIES_AT_A_TIME = 256

# The inbox is checked after this many seconds, or this share of a step if that is shorter.
POLL_SECONDS, POLL_SHARE = 1.0, 0.25


class Feed(ABC):
    """Feed of rows for one watch.

    While ``is_backfilling`` is set, history is being fetched and no model is fitted; ``is_behind``
    is set until the rows that are due since the last reset are there. ``problems`` are sentences by
    topic; ``errors`` counts failures by kind, and ``counts`` samples that are late, duplicates,
    refused or infinite.
    """

    is_backfilling = is_behind = False

    def __init__(self, lanes: Lanes, clock: Clock) -> None:
        self._lanes, self._clock = lanes, clock
        self.problems: dict[str, str] = {}
        self.errors: dict[str, int] = {}
        self.counts: Counter[str] = Counter()
        self.reset()

    @property
    def _watch(self) -> WatchConfig:
        return self._lanes.watch

    @property
    def progress(self) -> float:
        """Share of the history that has been fetched, 0 to 1."""
        return 1.0

    @property
    def is_elsewhere(self) -> bool:
        """Whether there are samples of entities that other shards follow."""
        return self._intake.elsewhere > 0

    def reset(self) -> None:
        """Resume from the end of the lanes' journals."""
        entities = [lane.entity for lane in self._lanes]
        self._intake = Intake(self._watch, entities, self._lanes.shard)

    def forget(self, entities: Sequence[str]) -> None:
        """Free the places of entities whose lanes were retired."""
        left = [lane.entity for lane in self._lanes]
        self._intake = Intake(self._watch, left, self._lanes.shard)

    @abstractmethod
    def advance(self) -> float:
        """Take the rows that are due; return the seconds to wait before the next call."""

    def _flush(self) -> None:
        for lane in self._lanes:
            lane.flush()

    def _report(self, topic: str, sentence: str) -> None:
        """Set the problem of a topic, or clear it if the sentence is empty."""
        if sentence:
            self.problems[topic] = sentence
        else:
            self.problems.pop(topic, None)

    def _count_over_lanes(self, before: int, what: str) -> bool:
        """Count and report samples beyond ``max_lanes``; return whether there were any."""
        n_over = self._intake.over_lanes - before
        self.counts["refused"] += n_over
        if n_over:
            self.problems["lanes"] = (
                f"there are more entities than max_lanes={self._watch.max_lanes}; the others are "
                f"left out: raise it, or narrow {what}"
            )
        return bool(n_over)


class PullFeed(Feed):
    """Feed of rows queried from Prometheus.

    Rows to catch up on after a restart are at most ``oldest`` milliseconds old.
    """

    def __init__(self, lanes: Lanes, prometheus: Prometheus, clock: Clock, oldest: int) -> None:
        self._prometheus, self._oldest = prometheus, oldest
        super().__init__(lanes, clock)

    def reset(self) -> None:
        """Resume from the end of the lanes' journals."""
        super().reset()
        self._next: int | None = None
        self._silent_from: int | None = None
        self._first = 0
        self.is_behind = True
        self._learned_until = 0
        self.is_backfilling = not any(lane.model.follower for lane in self._lanes)

    @property
    def progress(self) -> float:
        """Share of the history that has been fetched, 0 to 1."""
        if not self.is_backfilling:
            return 1.0
        if self._next is None or self._learned_until <= self._first:
            return 0.0
        return min((self._next - self._first) / (self._learned_until - self._first), 1.0)

    def advance(self) -> float:
        """Query the next rows, if any are due; return the seconds to wait before the next call."""
        self._flush()
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
            self._report("clock", self._clock_problem(now))
            if start > due:
                self.is_behind = False
                self._report("silence", self._silence(due))
            return min(start + lateness - now, MAX_WAIT_MILLISECONDS) / 1000 if start > due else 0.0
        infinite = self.counts["infinite"]
        samples = self._prometheus.range(self._watch.query, start, end, self._watch.step)
        is_something = self._take(self._asked_for(samples, start, end))
        if self.counts["infinite"] == infinite:
            self.problems.pop("infinite", None)
        if is_something:
            self._silent_from = None
        elif self._silent_from is None:
            self._silent_from = start
        self._next = end + step
        return 0.0

    def _begin(self, due: int) -> None:
        """Choose the first row to query."""
        step = self._watch.step
        last = self._lanes.last_time
        history = self._watch.history // step * step
        self._first = self._next = due - history
        self._learned_until = due - HISTORY_ROWS * step
        if last is None:
            return
        # Lanes commit one after another, so some may lack the rows of the last query.
        back = 0 if len(self._lanes) == 1 and not self._watch.entity else ROWS_PER_QUERY - 1
        oldest = (due - self._oldest) // step * step
        self._next = max(last + step - back * step, oldest, 0)
        # If the step has changed, continue at the first multiple of the new step.
        self._next = -(-self._next // step) * step

    def _asked_for(self, samples: Samples, start: int, end: int) -> Samples:
        """Return the samples within the queried span.

        Lanes accept rows in order only, so a row in the future would block all rows before it.
        """
        is_inside = (samples.times > start - self._watch.step) & (samples.times <= end)
        n_outside = len(samples) - int(is_inside.sum())
        if not n_outside:
            self.problems.pop("times", None)
            return samples
        self.counts["refused"] += n_outside
        first = int(samples.times[int(is_inside.argmin())])
        self.problems["times"] = (
            f"the answer to {self._watch.query!r} holds {n_outside} samples outside of the time "
            f"asked for, one at {first} ms; they are left out: see what answers in its place"
        )
        return samples.take(is_inside)

    def _take(self, samples: Samples) -> bool:
        """Pass samples to their lanes; return whether there were any, for any shard."""
        step, most = self._watch.step, self._watch.max_series
        over_lanes, elsewhere = self._intake.over_lanes, self._intake.elsewhere
        parts = self._intake.by_entity(samples)
        for entity, part in parts.items():
            lane = self._lanes.of(entity)
            readings = Readings(ends_of(part.times, step), part.codes, part.times, part.values)
            grouped = group(readings, part.names, most, lane.names)
            self.counts["duplicates"] += grouped.duplicates
            self.counts["refused"] += grouped.refused
            if grouped.infinite:
                self.counts["infinite"] += grouped.infinite
                sentence = infinite_values(grouped.infinite, grouped.infinite_name)
                self.problems["infinite"] = sentence
            lane.refuse(grouped.refused)
            lane.take(grouped.rows)
        if not self._count_over_lanes(over_lanes, "the query"):
            self.problems.pop("lanes", None)
        return bool(parts) or self._intake.elsewhere > elsewhere

    def _silence(self, due: int) -> str:
        """Return the problem that the query returns no series; empty if it does."""
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

    def _clock_problem(self, now: int) -> str:
        last = self._lanes.last_time
        if last is None or now >= last:
            return ""
        return (
            f"the clock is {(last - now) / 1000:.0f} s behind the latest row; rows go on once it "
            "has caught up: see that it is right"
        )


class _Body(NamedTuple):
    """Body that was read: its number, and the end of the last row that it has samples for."""

    number: int
    last_end: int


class PushFeed(Feed):
    """Feed of rows from the bodies in the store's inbox; there is no history to fetch.

    A body is deleted from the inbox only after all its rows are committed; until then a restart
    reads it again.
    """

    def __init__(self, lanes: Lanes, store: Store, clock: Clock) -> None:
        self._store = store
        super().__init__(lanes, clock)

    def reset(self) -> None:
        """Resume from the end of the lanes' journals."""
        super().reset()
        self._bins: dict[str, Bins] = {}
        self._read = 0
        self._bodies: deque[_Body] = deque()

    def forget(self, entities: Sequence[str]) -> None:
        """Free the places of entities whose lanes were retired."""
        for entity in entities:
            self._bins.pop(entity, None)
            self.problems.pop(f"infinite {entity}", None)
        super().forget(entities)

    def advance(self) -> float:
        """Read pushed bodies and close due rows; return the seconds until the next call."""
        self._flush()
        now = self._clock.now()
        is_more = self._read_inbox(now)
        for entity, bins in self._bins.items():
            refused, infinite = self.counts["refused"], self.counts["infinite"]
            rows = bins.close_until(now)
            if n := self.counts["infinite"] - infinite:
                self.problems[f"infinite {entity}"] = infinite_values(n, bins.infinite_name)
            elif rows:
                self.problems.pop(f"infinite {entity}", None)
            if rows:
                lane = self._lanes.of(entity)
                lane.refuse(self.counts["refused"] - refused)
                lane.take(rows)
        self._drop_inbox()
        return 0.0 if is_more else min(POLL_SECONDS, POLL_SHARE * self._watch.step / 1000)

    def _read_inbox(self, now: int) -> bool:
        """Read some bodies; return whether there may be more.

        While a lane's buffer of open rows is more than half full, bodies stay in the inbox.
        """
        if any(bins.is_filling for bins in self._bins.values()):
            return False
        bodies = self._store.inbox(self._watch.name, self._read)
        for n_read, (number, body) in enumerate(bodies, 1):
            try:
                self._take(number, unpack_samples(body), now)
            except InputError as error:
                self.errors["decode"] = self.errors.get("decode", 0) + 1
                log.error("%s: %s", self._watch.name, error)
                self._bodies.append(_Body(number, 0))
            self._read = number
            if n_read >= BODIES_AT_A_TIME or any(b.is_filling for b in self._bins.values()):
                return True
        return False

    def _take(self, number: int, samples: Samples, now: int) -> None:
        step, watch = self._watch.step, self._watch
        over_lanes = self._intake.over_lanes
        for entity, part in self._intake.by_entity(samples).items():
            if entity not in self._bins:
                lane = self._lanes.of(entity)
                self._bins[entity] = Bins(
                    step,
                    watch.lateness,
                    lane.journal.last_time,
                    watch.max_series,
                    lane.names,
                    self.counts,
                )
            # A sample that was too far ahead when rows were last closed may be accepted now.
            self._bins[entity].hear(now)
            self._bins[entity].take(part)
        self._count_over_lanes(over_lanes, "match")
        ends = ends_of(samples.times, step)
        self._look_at_times(samples, is_possible(samples.times, ends))
        ends = ends[ends <= now + max(AHEAD_MS, STEPS_AHEAD * step)]  # later ones were refused
        self._bodies.append(_Body(number, int(ends.max()) if len(ends) else 0))

    def _look_at_times(self, samples: Samples, can_be: NDArray[np.bool_]) -> None:
        """Log an error if a body has samples at impossible times; its other samples are used."""
        if can_be.all():
            return
        first = int(np.argmin(can_be))
        self.errors["decode"] = self.errors.get("decode", 0) + 1
        log.error(
            "%s: %d samples in the inbox are left out: that of %.200a is at %d ms, and times lie "
            "from 1970 to 2262",
            self._watch.name,
            int((~can_be).sum()),
            samples.names[samples.codes[first]],
            int(samples.times[first]),
        )

    def _drop_inbox(self) -> None:
        """Delete bodies whose rows are all closed and committed."""
        open_rows = [bins.oldest_open for bins in self._bins.values()]
        oldest = min((end for end in open_rows if end is not None), default=np.inf)
        done = None
        while self._bodies and self._bodies[0].last_end < oldest:
            done = self._bodies.popleft().number
        if done is not None:
            self._store.drop_inbox(self._watch.name, done)
