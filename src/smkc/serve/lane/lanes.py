"""Lanes: the recordings of one watch, one per entity, restored after a restart.

In: a watch and the store. Out: a lane per entity, created on first request.
"""

import threading
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from smkc.serve.config import LEAST_HISTORY, Config, Shard, WatchConfig
from smkc.serve.lane.files import LaneFiles
from smkc.serve.lane.lane import Lane
from smkc.serve.rows import AlertRecord
from smkc.serve.store import Store
from smkc.serve.view import UnknownError

LANES_FOLDER = "lanes"

# The step is determined from this many of the latest rows.
ROWS_FOR_STEP = 64


class Lanes:
    """The lanes of one watch; a change of ``watch`` applies to lanes that are opened afterwards."""

    def __init__(
        self, store: Store, watch: WatchConfig, config: Config, changes: deque[AlertRecord]
    ) -> None:
        self.watch = watch
        self._store, self._config, self._changes = store, config, changes
        self._folder = Path(config.data) / LANES_FOLDER
        self._lanes: dict[str, Lane] = {}
        self._failures: defaultdict[str, Counter[int]] = defaultdict(Counter)
        self._changing = threading.Lock()

    @property
    def shard(self) -> Shard:
        """The part of the entities that this process follows."""
        return self._config.shard

    def open(self) -> None:
        """Restore the lanes in the store, each up to the end of its journal."""
        for journal in self._store.lanes():
            if journal.watch == self.watch.name:
                self.of(journal.entity)

    def kept(self) -> tuple[int, int] | None:
        """Return the commonest step of the stored rows, in milliseconds, and the number of series.

        None without 2 rows of a lane.
        """
        gaps: Counter[int] = Counter()
        n_series = 0
        for journal in self._store.lanes():
            if journal.watch == self.watch.name:
                first = max(journal.first_kept_row, journal.n_rows - ROWS_FOR_STEP)
                rows = [row for _, row in journal.each_row(first)]
                gaps.update(after.time - before.time for before, after in pairwise(rows))
                n_series += len(rows[-1].names) if rows else 0
        return (gaps.most_common(1)[0][0], n_series) if gaps else None

    def close(self) -> None:
        """Stop all lanes and remove them from memory."""
        for lane in self:
            lane.stop()
        with self._changing:
            self._lanes = {}

    def retire(self) -> list[str]:
        """Stop lanes that got no row for six hours while other lanes did.

        It is less if the history is shorter, and at least ``min_rows`` steps.
        This makes room for other entities (``max_lanes``). If such an entity returns, so does its
        lane. Returns the entities of the lanes that were stopped.
        """
        last = self.last_time
        if last is None:
            return []
        silent = min(self.watch.history, LEAST_HISTORY)
        before = last - max(silent, self.watch.min_rows * self.watch.step)
        gone = [lane for lane in self if (lane.journal.last_time or last) < before]
        for lane in gone:
            lane.retire()
            with self._changing:
                del self._lanes[lane.entity]
        return [lane.entity for lane in gone]

    def forget(self) -> None:
        """Remove all lanes from memory without writing; the journal has all that was committed."""
        for lane in self:
            lane.model.stop()
        with self._changing:
            self._lanes = {}

    def of(self, entity: str) -> Lane:
        """Return the lane of an entity; create it if it does not exist."""
        lane = self._lanes.get(entity)
        if lane is None:
            journal = self._store.lane(self.watch.name, entity)
            lane = Lane(
                self._store,
                journal,
                self.watch,
                self._config,
                LaneFiles(self._folder / str(journal.id)),
                self._changes,
                failures=self._failures[entity],
            )
            with self._changing:
                self._lanes[entity] = lane
        return lane

    def known(self, entity: str) -> Lane:
        """Return the lane of an entity; raise UnknownError if it does not exist."""
        lane = self._lanes.get(entity)
        if lane is None:
            raise UnknownError(
                f"watch {self.watch.name!r} has no such entity; /api/v1/watches lists those it has"
            )
        return lane

    @property
    def last_time(self) -> int | None:
        """Time of the latest row of any lane in milliseconds; None before the first."""
        times = [lane.journal.last_time for lane in self]
        return max((time for time in times if time is not None), default=None)

    def __iter__(self) -> Iterator[Lane]:
        with self._changing:
            return iter(list(self._lanes.values()))

    def __len__(self) -> int:
        return len(self._lanes)
