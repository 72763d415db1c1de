"""Block: some entities of a source -> their scores, in parts on disk, from wherever it stood.

In: a source, fitted detectors, which entities, a folder. Out: the folder holds all parts; killed
at any moment, the next call goes on after the last complete part.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from smkc.decide import Windows
from smkc.errors import ReadError
from smkc.recording import Recording
from smkc.scale.alerting import AlertFinder
from smkc.scale.held import Held, Slice
from smkc.scale.models import Models
from smkc.scale.scoring import FinalSteps, Scorer
from smkc.scale.settings import ScaleSettings
from smkc.scale.source import Batch, Source
from smkc.scale.work import BlockFolder, Part, Progress, score_table

__all__ = ["Hands", "run_block"]

# Rows of one time range: many more than its halo, few enough to spread over workers.
RANGE_ROWS = 8_192

# Scores that are kept in memory at most before they are written.
MAX_UNWRITTEN_ROWS = 4_000_000


class Hands(Protocol):
    """Who scores windows: this process, or others to whom they are handed."""

    ahead: int
    """How many time ranges may be under way."""

    def submit(self, entity: str | None, windows: Windows) -> Any:
        """Hand windows over; return what to ask for their scores with."""

    def result(self, asked: Any) -> NDArray[np.float64]:
        """(B,) the scores, waiting for them if need be."""


class _OwnHands:
    """Scores windows in this process, at once."""

    ahead = 0

    def __init__(self, models: Models) -> None:
        self._models = models

    def submit(self, entity: str | None, windows: Windows) -> Any:
        return self._models.of(entity).fitted_.scan().score(windows)

    def result(self, asked: Any) -> NDArray[np.float64]:
        scores: NDArray[np.float64] = asked
        return scores


@dataclass(kw_only=True, eq=False)
class _Entity:
    """All that is known of one entity at one moment."""

    held: Held
    scorer: Scorer
    finder: AlertFinder
    threshold: float


def run_block(
    source: Source,
    models: Models,
    entities: Sequence[str] | None,
    folder: Path,
    settings: ScaleSettings,
    tell: Callable[[Progress], None] | None = None,
    hands: Hands | None = None,
) -> Progress:
    """Score some entities of a source, or all of one that is about one entity.

    ``tell`` is called with how far it came after each batch. Returns the progress at the end.
    """
    block = _Block(source, models, BlockFolder(folder), settings, hands or _OwnHands(models))
    return block.run(entities, tell or (lambda progress: None))


class _Block:
    def __init__(
        self,
        source: Source,
        models: Models,
        folder: BlockFolder,
        settings: ScaleSettings,
        hands: Hands,
    ) -> None:
        self._source = source
        self._models = models
        self._folder = folder
        self._settings = settings
        self._hands = hands
        self._known: dict[str | None, _Entity] = {}
        self._under_way: deque[tuple[str | None, NDArray[Any], Windows, Any]] = deque()
        self._part = Part()
        self._progress = folder.progress()

    def run(self, entities: Sequence[str] | None, tell: Callable[[Progress], None]) -> Progress:
        if self._progress.done:
            return self._progress
        for entity, arrays, header in self._folder.states(self._progress.part):
            _restore(self._entity(entity), arrays, header)
        written = time.monotonic()
        for batch in self._source.batches(entities, self._progress.batch):
            self._take(batch)
            self._progress = replace(
                self._progress,
                batch=batch.number + 1,
                read=self._progress.read + batch.share,
                observations=self._progress.observations + len(batch.piece.values),
            )
            n_held = sum(entity.held.size for entity in self._known.values())
            if n_held >= self._settings.held + self._settings.block:
                self._score(self._settings.held / n_held)
                is_due = time.monotonic() - written >= self._settings.seconds
                if is_due or self._part.n_rows >= MAX_UNWRITTEN_ROWS:
                    self._write()
                    written = time.monotonic()
            tell(self._progress)
        self._finish()
        self._write()
        tell(self._progress)
        return self._progress

    # ------------------------------------------------------------------ rows

    def _entity(self, name: str | None) -> _Entity:
        found = self._known.get(name)
        if found is None:
            detector = self._models.of(name)
            found = self._known[name] = _Entity(
                held=Held(self._source.step),
                scorer=Scorer(detector),
                finder=AlertFinder(detector),
                threshold=detector.threshold_,
            )
        return found

    def _take(self, batch: Batch) -> None:
        """Give each entity its rows of a batch."""
        piece = batch.piece
        if piece.entities is None:
            part = Slice(
                times=piece.times,
                rows=piece.rows,
                codes=piece.codes,
                values=piece.values,
                names=batch.names,
            )
            self._entity(None).held.add(part, batch.place)
            return
        for name, part in _by_entity(batch):
            self._entity(name).held.add(part, f"{batch.place} ({self._source.entity} {name})")

    def _score(self, keep: float) -> None:
        for name, entity in self._known.items():
            rows = entity.held.complete(keep)
            if rows is not None:
                self._push(name, rows)

    def _push(self, name: str | None, rows: Recording) -> None:
        entity = self._known[name]
        self._progress = replace(self._progress, rows=self._progress.rows + len(rows))
        if not entity.scorer.has_independent_windows:
            self._keep(name, entity.scorer.push(rows))
            return
        for first in range(0, len(rows), RANGE_ROWS):
            part = rows.rows(first, first + RANGE_ROWS)
            windows = entity.scorer.begin(part)
            asked = self._hands.submit(name, windows)
            self._under_way.append((name, part.times, windows, asked))
            self._collect(self._hands.ahead)

    def _collect(self, leave: int) -> None:
        """Take the scores of time ranges in their order, until so many are under way."""
        while len(self._under_way) > leave:
            name, times, windows, asked = self._under_way.popleft()
            scores = self._hands.result(asked)
            self._keep(name, self._known[name].scorer.end(times, windows, scores))

    def _keep(self, name: str | None, scored: FinalSteps) -> None:
        entity = self._known[name]
        self._part.add(name, score_table(scored.times, scored.scores, entity.threshold))
        if len(scored.times):
            self._part.alerts += [(name, alert) for alert in entity.finder.add(scored)]

    def _finish(self) -> None:
        n_short = 0
        for name, entity in self._known.items():
            rows = entity.held.rest()
            if rows is not None:
                self._push(name, rows)
            self._collect(0)
            n_short += entity.scorer.is_too_short
            self._keep(name, entity.scorer.finish())
            self._part.alerts += [(name, alert) for alert in entity.finder.finish()]
        if not self._progress.observations:
            raise ReadError(
                f"{self._source.path} holds no observation; give at least one row with a time and "
                "a finite value"
            )
        self._progress = replace(self._progress, done=True, short=n_short)

    # ------------------------------------------------------------------ files

    def _write(self) -> None:
        self._collect(0)
        n_unscored = sum(entity.scorer.n_unscored for entity in self._known.values())
        self._progress = self._folder.write(
            self._part, self._states(), replace(self._progress, unscored=n_unscored)
        )
        self._part = Part()

    def _states(self) -> Iterator[tuple[str | None, dict[str, NDArray[Any]], dict[str, Any]]]:
        for name, entity in self._known.items():
            arrays: dict[str, NDArray[Any]] = {}
            header: dict[str, Any] = {}
            for key, part in _parts(entity).items():
                own, header[key] = part.to_arrays()
                arrays |= {f"{key}/{inner}": array for inner, array in own.items()}
            yield name, arrays, header


def _parts(entity: _Entity) -> dict[str, Any]:
    return {"held": entity.held, "scorer": entity.scorer, "finder": entity.finder}


def _restore(entity: _Entity, arrays: Any, header: Any) -> None:
    for key, part in _parts(entity).items():
        own = {name[len(key) + 1 :]: a for name, a in arrays.items() if name.startswith(f"{key}/")}
        part.restore(own, header[key])


def _by_entity(batch: Batch) -> Iterator[tuple[str, Slice]]:
    """Yield each entity's rows of a batch, in the batch's order."""
    piece = batch.piece
    assert piece.entities is not None
    order = np.argsort(piece.entities, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    rows = place[piece.rows]  # where each observation's row is, in that order
    by_row = np.argsort(rows, kind="stable")
    rows, codes, values = rows[by_row], piece.codes[by_row], piece.values[by_row]
    times, entities = piece.times[order], piece.entities[order]
    edges = np.flatnonzero(np.diff(entities)) + 1
    for first, last in zip([0, *edges], [*edges, len(entities)], strict=True):
        a, b = np.searchsorted(rows, [first, last])
        yield (
            batch.entities[entities[first]],
            Slice(
                times=times[first:last],
                rows=rows[a:b] - first,
                codes=codes[a:b],
                values=values[a:b],
                names=batch.names,
            ),
        )
