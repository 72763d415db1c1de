"""Pushing: bodies of the inbox -> rows, closed by the clock, handed to the lanes.

In: what was pushed and acknowledged. Out: every row once and in order; a body leaves the inbox only
after all its rows are committed, so that a restart reads it again.
"""

import logging
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError
from smkc.serve.clock import Clock
from smkc.serve.config import WatchConfig
from smkc.serve.inbox import unpack_samples
from smkc.serve.intake.bins import AHEAD_MS, STEPS_AHEAD, Bins
from smkc.serve.intake.entities import Intake
from smkc.serve.intake.grouping import ends_of, infinite_values, is_possible
from smkc.serve.intake.samples import Samples
from smkc.serve.lane.lanes import Lanes
from smkc.serve.store import Store

__all__ = ["PushFeed"]

log = logging.getLogger("smkc.serve.pushing")

# Bodies that are read before rows are closed and others get their turn.
BODIES_AT_A_TIME = 256

# Seconds between looks into the inbox, and the share of a step that is not to be exceeded.
POLL_SECONDS, POLL_SHARE = 1.0, 0.25

COUNTED = ("late", "duplicates", "refused", "infinite")


class _Body(NamedTuple):
    """A body that was read: its number, and the end of the last row that it has samples for."""

    number: int
    last_end: int


class PushFeed:
    """Rows of one watch, pushed by others.

    Parameters
    ----------
    watch
        its settings.
    lanes
        that take the rows.
    store
        whose inbox is read.
    clock
        closes rows.

    Attributes
    ----------
    is_backfilling, is_behind
        never: there is nobody to be asked.
    problems
        sentences by what they are about.
    errors
        counts of failures by kind.
    """

    is_backfilling = is_behind = False
    progress = 1.0

    def __init__(self, watch: WatchConfig, lanes: Lanes, store: Store, clock: Clock) -> None:
        self._watch, self._lanes, self._store, self._clock = watch, lanes, store, clock
        self.problems: dict[str, str] = {}
        self._bins: dict[str, Bins] = {}
        self.errors: dict[str, int] = {}
        self._before = dict.fromkeys(COUNTED, 0)  # of lanes that are gone
        self.reset()

    def reset(self) -> None:
        """Go back to where the lanes' journals end."""
        self._intake = Intake(self._watch, [lane.entity for lane in self._lanes])
        self._bins = {}
        self._read = 0
        self._bodies: deque[_Body] = deque()

    def forget(self, entities: Sequence[str]) -> None:
        """Make room for others: these entities have no lane any more."""
        for entity in entities:
            bins = self._bins.pop(entity, None)
            self.problems.pop(f"infinite {entity}", None)
            for what in COUNTED if bins is not None else ():
                self._before[what] += getattr(bins, what)
        self._before["refused"] += self._intake.over_lanes
        self._intake = Intake(self._watch, [lane.entity for lane in self._lanes])

    @property
    def late(self) -> int:
        """Count of samples that came after their rows were closed."""
        return self._count("late")

    @property
    def duplicates(self) -> int:
        """Count of samples that came twice."""
        return self._count("duplicates")

    @property
    def refused(self) -> int:
        """Count of samples that there was no place for."""
        return self._count("refused") + self._intake.over_lanes

    @property
    def infinite(self) -> int:
        """Count of infinite values."""
        return self._count("infinite")

    def _count(self, what: str) -> int:
        now = sum(getattr(bins, what) for bins in list(self._bins.values()))
        return self._before[what] + int(now)

    def advance(self) -> float:
        """Read what was pushed, close the rows that are due; return the seconds until the next."""
        for lane in self._lanes:
            lane.flush()
        now = self._clock.now()
        is_more = self._read_inbox(now)
        for entity, bins in self._bins.items():
            before, infinite = bins.refused, bins.infinite
            rows = bins.close_until(now)
            if bins.infinite > infinite:
                n, name = bins.infinite - infinite, bins.infinite_name
                self.problems[f"infinite {entity}"] = infinite_values(n, name)
            elif rows:
                self.problems.pop(f"infinite {entity}", None)
            if rows:
                lane = self._lanes.of(entity)
                lane.refuse(bins.refused - before)
                lane.take(rows)
        self._drop_inbox()
        return 0.0 if is_more else min(POLL_SECONDS, POLL_SHARE * self._watch.step / 1000)

    def _read_inbox(self, now: int) -> bool:
        """Read some bodies; tell whether there may be more.

        While a lane's rows fill their room, bodies stay in the inbox: none is lost.
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
                    known=frozenset(lane.names),
                )
            self._bins[entity].hear(now)  # what was ahead when it last closed rows may be due now
            self._bins[entity].take(part)
        if self._intake.over_lanes > over_lanes:
            self.problems["lanes"] = (
                f"there are more entities than max_lanes={watch.max_lanes}; the others are left "
                "out: raise it, or narrow match"
            )
        ends = ends_of(samples.times, step)
        self._look_at_times(samples, is_possible(samples.times, ends))
        ends = ends[ends <= now + max(AHEAD_MS, STEPS_AHEAD * step)]  # others were refused
        self._bodies.append(_Body(number, int(ends.max()) if len(ends) else 0))

    def _look_at_times(self, samples: Samples, can_be: NDArray[np.bool_]) -> None:
        """Say so where a body has samples at impossible times; its other samples count."""
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
        """Let go of bodies none of whose rows is open any more; all others are committed."""
        open_rows = [bins.oldest_open for bins in self._bins.values()]
        oldest = min((end for end in open_rows if end is not None), default=np.inf)
        done = None
        while self._bodies and self._bodies[0].last_end < oldest:
            done = self._bodies.popleft().number
        if done is not None:
            self._store.drop_inbox(self._watch.name, done)
