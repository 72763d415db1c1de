"""Pushing: turns request bodies in the inbox into rows, which close by the clock, for the lanes.

In: bodies that were pushed and acknowledged. Out: every row once and in order. A body is deleted
from the inbox only after all its rows are committed; until then a restart reads it again.
"""

import logging
from collections import Counter, deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError
from smkc.serve.clock import Clock
from smkc.serve.config import WatchConfig
from smkc.serve.intake.bins import AHEAD_MS, STEPS_AHEAD, Bins
from smkc.serve.intake.entities import Intake
from smkc.serve.intake.grouping import ends_of, infinite_values, is_possible
from smkc.serve.intake.samples import Samples, unpack_samples
from smkc.serve.lane.lanes import Lanes
from smkc.serve.store import Store

log = logging.getLogger("smkc.serve.pushing")

# Maximum number of bodies read in one call of advance, before rows are closed.
BODIES_AT_A_TIME = 256

# The inbox is checked after this many seconds, or this share of a step if that is shorter.
POLL_SECONDS, POLL_SHARE = 1.0, 0.25


class _Body(NamedTuple):
    """Body that was read: its number, and the end of the last row that it has samples for."""

    number: int
    last_end: int


class PushFeed:
    """Feed of rows for one watch, from the bodies in the store's inbox.

    There is no history to fetch: ``is_backfilling`` and ``is_behind`` are always False.
    ``problems`` are sentences by topic; ``errors`` counts failures by kind, and ``counts`` samples
    that are late, duplicates, refused or infinite.
    """

    is_backfilling = is_behind = False
    progress = 1.0

    def __init__(self, watch: WatchConfig, lanes: Lanes, store: Store, clock: Clock) -> None:
        self._watch, self._lanes, self._store, self._clock = watch, lanes, store, clock
        self.problems: dict[str, str] = {}
        self._bins: dict[str, Bins] = {}
        self.errors: dict[str, int] = {}
        self.counts: Counter[str] = Counter()
        self.reset()

    def reset(self) -> None:
        """Resume from the end of the lanes' journals."""
        self._intake = Intake(self._watch, [lane.entity for lane in self._lanes])
        self._bins = {}
        self._read = 0
        self._bodies: deque[_Body] = deque()

    def forget(self, entities: Sequence[str]) -> None:
        """Free the places of entities whose lanes were retired."""
        for entity in entities:
            self._bins.pop(entity, None)
            self.problems.pop(f"infinite {entity}", None)
        self._intake = Intake(self._watch, [lane.entity for lane in self._lanes])

    def advance(self) -> float:
        """Read pushed bodies and close due rows; return the seconds until the next call."""
        for lane in self._lanes:
            lane.flush()
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
        if n := self._intake.over_lanes - over_lanes:
            self.counts["refused"] += n
            self.problems["lanes"] = (
                f"there are more entities than max_lanes={watch.max_lanes}; the others are left "
                "out: raise it, or narrow match"
            )
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
