"""Lanes: the recordings of one watch, one for each entity, found again after a restart.

In: a watch and the store. Out: a lane for an entity, made when it is first asked for.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from smkc.serve.config import Config, WatchConfig
from smkc.serve.lane.files import LaneFiles
from smkc.serve.lane.lane import CHECKPOINT_ROWS, Lane
from smkc.serve.lane.suspects import Suspects
from smkc.serve.live import LiveUpdates
from smkc.serve.store import Store
from smkc.serve.view import UnknownError

__all__ = ["LANES_FOLDER", "Lanes"]

LANES_FOLDER = "lanes"

# Number of kept rows, the latest, from which their step is found.
ROWS_FOR_STEP = 64


class Lanes:
    """The lanes of one watch.

    Parameters
    ----------
    store
        the history.
    watch, config
        settings of the watch and of the service.
    live
        told of what is new.
    checkpoint_rows
        rows from one checkpoint of a lane to the next.

    Attributes
    ----------
    watch
        its settings; those of lanes that are opened after it was changed.
    """

    def __init__(
        self,
        store: Store,
        watch: WatchConfig,
        config: Config,
        live: LiveUpdates,
        checkpoint_rows: int = CHECKPOINT_ROWS,
    ) -> None:
        self.watch = watch
        self._store, self._config, self._live = store, config, live
        self._checkpoint_rows = checkpoint_rows
        self._folder = Path(config.data) / LANES_FOLDER
        self._lanes: dict[str, Lane] = {}
        self._suspects = Suspects()
        self._changing = threading.Lock()

    def open(self) -> None:
        """Bring back the lanes that the store knows, each to where its journal ends."""
        for journal in self._store.lanes():
            if journal.watch == self.watch.name:
                self.of(journal.entity)

    def kept_step(self) -> int | None:
        """Return the step of the rows that are kept, in milliseconds; None without two rows."""
        gaps: Counter[int] = Counter()
        for journal in self._store.lanes():
            if journal.watch == self.watch.name:
                first = max(journal.first_kept_row, journal.n_rows - ROWS_FOR_STEP)
                times = [row.time for _, row in journal.each_row(first)]
                gaps.update(after - before for before, after in pairwise(times))
        return gaps.most_common(1)[0][0] if gaps else None

    def close(self) -> None:
        """Stop all lanes, and forget them."""
        for lane in self:
            lane.stop()
        with self._changing:
            self._lanes = {}

    def retire(self) -> list[str]:
        """Let go of lanes that had no row for as long as the history is, while others had.

        Such an entity makes room for another; should it come back, so does its lane. Returns the
        entities.
        """
        last = self.last_time
        if last is None:
            return []
        before = last - max(self.watch.history, self.watch.min_rows * self.watch.step)
        gone = [lane for lane in self if (lane.journal.last_time or last) < before]
        for lane in gone:
            lane.retire()
            with self._changing:
                del self._lanes[lane.entity]
        return [lane.entity for lane in gone]

    def forget(self) -> None:
        """Drop what is in memory, without writing: the journal is what counts."""
        for lane in self:
            lane.model.stop()
        with self._changing:
            self._lanes = {}

    def of(self, entity: str) -> Lane:
        """Return the lane of an entity, a new one for a new entity."""
        lane = self._lanes.get(entity)
        if lane is None:
            journal = self._store.lane(self.watch.name, entity)
            lane = Lane(
                self._store,
                journal,
                self.watch,
                self._config,
                LaneFiles(self._folder / str(journal.id)),
                self._live,
                self._checkpoint_rows,
                self._suspects,
            )
            with self._changing:
                self._lanes[entity] = lane
        return lane

    def known(self, entity: str) -> Lane:
        """Return the lane of an entity that there is."""
        lane = self._lanes.get(entity)
        if lane is None:
            raise UnknownError(
                f"watch {self.watch.name!r} has no entity {entity!r}; its lanes are listed with it"
            )
        return lane

    @property
    def last_time(self) -> int | None:
        """Time of the latest row of all; None before the first."""
        times = [lane.journal.last_time for lane in self]
        return max((time for time in times if time is not None), default=None)

    def __iter__(self) -> Iterator[Lane]:
        with self._changing:
            return iter(list(self._lanes.values()))

    def __len__(self) -> int:
        return len(self._lanes)
