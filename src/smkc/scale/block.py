"""Block: some entities of a source -> their scores, in parts on disk; can be resumed.

In: a source, fitted detectors, names of entities, a folder. Out: the folder holds all parts. If the
process is killed at any moment, the next call continues after the last complete part.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from smkc.errors import ReadError, SettingError
from smkc.model_file import below
from smkc.recording import Recording
from smkc.scale.alerting import AlertFinder
from smkc.scale.held import Held, by_entity
from smkc.scale.models import Models
from smkc.scale.scoring import FinalSteps, Scorer
from smkc.scale.source import Batch, Source
from smkc.scale.work import BlockFolder, Part, Progress, score_table

# Rows scored at a time, to limit memory.
ROWS_AT_A_TIME = 8_192

# Largest number of scores kept in memory before they are written.
MAX_UNWRITTEN_ROWS = 4_000_000


@dataclass(frozen=True, kw_only=True)
class ScaleSettings:
    """Settings for memory use and for how often progress is saved.

    Parameters
    ----------
    held
        number of observations held back, so that rows that arrive a little late can be sorted in.
    block
        number of observations collected before they are scored.
    entities
        number of entities scored at a time; for more, the source is read again. Each entity takes
        about 0.7 MB of memory with 10 variables, 5 MB with 200.
    seconds
        time between two writes of the state from which a run can be resumed.
    """

    held: int = 1_000_000
    block: int = 1_000_000
    entities: int = 256
    seconds: float = 30.0

    def __post_init__(self) -> None:
        for name, least in (("held", 0), ("block", 1), ("entities", 1)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise SettingError(f"{name}={value!r}: give a whole number of at least {least}")
        if not self.seconds >= 0:
            raise SettingError(f"seconds={self.seconds!r}: give a number of at least 0")


@dataclass(kw_only=True, eq=False)
class _Entity:
    """State of one entity at one moment."""

    held: Held
    scorer: Scorer
    finder: AlertFinder
    threshold: float


class Block:
    """Some entities of a source, or all rows of a source without entities, and their folder."""

    def __init__(
        self, source: Source, models: Models, folder: Path, settings: ScaleSettings
    ) -> None:
        self._source = source
        self._models = models
        self._folder = BlockFolder(folder)
        self._settings = settings
        self._known: dict[str | None, _Entity] = {}
        self._part = Part()
        self._progress = self._folder.progress()

    def run(
        self, entities: Sequence[str] | None, tell: Callable[[Progress], None] = lambda now: None
    ) -> None:
        """Score all rows; ``tell`` is called with the progress after each batch."""
        if self._progress.done:
            return
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
        """Pass each entity its rows of a batch."""
        for name, part in by_entity(batch):
            whose = "" if name is None else f" ({self._source.entity} {name})"
            self._entity(name).held.add(part, batch.names, f"{batch.place}{whose}")

    def _score(self, keep: float) -> None:
        for name, entity in self._known.items():
            rows = entity.held.complete(keep)
            if rows is not None:
                self._push(name, rows)

    def _push(self, name: str | None, rows: Recording) -> None:
        self._progress = replace(self._progress, rows=self._progress.rows + len(rows))
        for first in range(0, len(rows), ROWS_AT_A_TIME):
            part = rows.rows(first, first + ROWS_AT_A_TIME)
            self._keep(name, self._known[name].scorer.push(part))

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
        part.restore(below(arrays, f"{key}/"), header[key])
