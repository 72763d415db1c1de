"""Run: a source and fitted detectors -> one Parquet file of scores, block after block.

In: a source, detectors and the path of the output. Out: the file, and a summary. During the run a
folder beside the output holds the parts, from which ``resume`` continues.
"""

import json
import shutil
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from smkc import progress
from smkc.base import BaseDetector
from smkc.decide import Alert
from smkc.errors import InputError, SmkcError, UnscoredWarning
from smkc.scale.block import Block, ScaleSettings
from smkc.scale.models import Models
from smkc.scale.source import Source
from smkc.scale.work import BlockFolder, Progress, join_parts, whole_file, write_json

# Largest number of alerts that a summary lists; all are counted.
MOST_ALERTS = 10_000

LONGEST_NAME = 24

Blocks = tuple[tuple[str, ...] | None, ...]


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Summary of a run.

    Parameters
    ----------
    rows, observations
        number of rows and observations that were scored.
    entities
        number of entities; 1 for a source without entities.
    unscored
        number of windows with too few observations to be scored.
    short
        number of entities with fewer rows than a window, which have no scores.
    n_alerts
        number of alerts.
    alerts
        (entity, alert) in order of entity and time, without causes; at most the first 10,000.
    """

    rows: int
    observations: int
    entities: int
    unscored: int
    short: int
    n_alerts: int
    alerts: tuple[tuple[str | None, Alert], ...]


def score_file(
    path: str | Path,
    detectors: BaseDetector | Mapping[str, BaseDetector],
    out: str | Path,
    *,
    read: Mapping[str, Any] | None = None,
    entity: str | None = None,
    settings: ScaleSettings | None = None,
    resume: bool = False,
) -> Summary:
    """Score Parquet files that need not fit into memory, on this machine.

    Parameters
    ----------
    path
        a Parquet file, a folder or a glob, sorted by time within each entity.
    detectors
        fitted; one for all entities, or one for each.
    out
        the Parquet file to write, with columns entity (if given), time, score and anomalous; the
        rows are the same as with scoring in memory.
    read
        keyword arguments of :func:`smkc.read`, except ``entity``.
    entity
        column that names the entity of each row.
    settings
        memory use, and how often progress is saved.
    resume
        whether to continue an interrupted run.

    Examples
    --------
    >>> import tempfile
    >>> from smkc import Detector
    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> rng = np.random.default_rng(0)
    >>> folder = Path(tempfile.mkdtemp())
    >>> live = {"time": np.arange(600, 800), "cpu": rng.normal(size=200)}
    >>> pq.write_table(pa.table(live), folder / "live.parquet")
    >>> reference = {"time": np.arange(600), "cpu": rng.normal(size=600)}
    >>> detector = Detector(false_alarm_rate=0.01).fit(reference)
    >>> score_file(folder / "live.parquet", detector, folder / "scores.parquet").rows
    200
    >>> scores = pq.read_table(folder / "scores.parquet")["score"].to_numpy()
    >>> bool((scores == detector.decision_function(live)).all())
    True
    """
    run = Run.open(path, Models(detectors), out, read, entity, settings, resume)
    run.score()
    return run.finished()


@dataclass(frozen=True, eq=False)
class Run:
    """One source, its detectors and its blocks; made by :meth:`open`."""

    source: Source
    models: Models
    out: Path
    settings: ScaleSettings
    blocks: Blocks
    n_entities: int

    @classmethod
    def open(
        cls,
        path: str | Path,
        models: Models,
        out: str | Path,
        read: Mapping[str, Any] | None,
        entity: str | None,
        settings: ScaleSettings | None,
        resume: bool,
        n_blocks: int = 1,
    ) -> "Run":
        """Open the source, and find or make the folder of parts beside the output.

        Entities are divided into at least ``n_blocks`` blocks, if there are as many.
        """
        target = Path(out)
        if target.suffix.lower() != ".parquet":
            raise InputError(
                f"{target}: scores in pieces are written as Parquet; call it NAME.parquet"
            )
        settings = settings or ScaleSettings()
        source = Source.open(path, read, entity)
        folder = _folder_of(target)
        fingerprint = f"{source.fingerprint} {models.fingerprint}"
        plan = _interrupted(folder / "run.json", fingerprint, resume)
        if plan is None:
            counts = source.count_entities()
            blocks: Blocks = (None,)
            if entity is not None:
                for name in counts:
                    models.of(name)  # raises an error before any work if one is missing
                blocks = _blocks(counts, settings.entities, n_blocks)
            plan = {"fingerprint": fingerprint, "blocks": blocks, "entities": len(counts) or 1}
            folder.mkdir(parents=True, exist_ok=True)
            write_json(folder / "run.json", plan)
        blocks = tuple(None if names is None else tuple(names) for names in plan["blocks"])
        return cls(source, models, target, settings, blocks, plan["entities"])

    def score(self) -> None:
        """Score block after block in this process."""
        with self.shown() as tell:
            for number, entities in enumerate(self.blocks):
                folder = self.block_folder(number)
                block = Block(self.source, self.models, folder, self.settings)
                block.run(entities, partial(tell, number))

    @property
    def folder(self) -> Path:
        """Folder of the parts, until the output is written."""
        return _folder_of(self.out)

    def block_folder(self, number: int) -> Path:
        """Return the folder of the parts of one block."""
        return self.folder / f"block-{number:04d}"

    def progress(self, number: int) -> Progress:
        """Return the progress of one block, as saved in its folder."""
        return BlockFolder(self.block_folder(number)).progress()

    @contextmanager
    def shown(self) -> Iterator[Callable[[int, Progress], None]]:
        """Show a progress bar; yield the function to call with a block's number and progress."""
        started = time.monotonic()
        told = [self.progress(number) for number in range(len(self.blocks))]
        n_before = sum(each.observations for each in told)
        total = self.source.size * len(self.blocks)
        name = Path(self.source.path).name[-LONGEST_NAME:]  # leaves room for the bar on the line
        with progress.task(f"scoring {name}", total) as advance:
            advance(sum(each.read for each in told))

            def tell(number: int, now: Progress) -> None:
                n_done = sum(each.observations for each in told) - n_before
                rate = n_done / max(time.monotonic() - started, 1e-9)
                amount = now.read - told[number].read
                told[number] = now
                advance(amount, f"{_short(rate)} per second")

            try:
                yield tell
            except SmkcError:
                if not any(self.progress(number).part for number in range(len(self.blocks))):
                    shutil.rmtree(self.folder)  # nothing to resume
                raise

    def finished(self) -> Summary:
        """Join the parts into the output, in order of entity and time; then delete the parts."""
        folders = [BlockFolder(self.block_folder(at)) for at in range(len(self.blocks))]
        places: dict[str | None, list[tuple[Path, int]]] = {}
        alerts: list[dict[str, Any]] = []
        for folder in folders:
            places |= folder.places()
            alerts += folder.alerts()
        has_entities = self.source.entity is not None
        order = sorted(places, key=lambda name: name or "")
        with whole_file(self.out) as draft:
            is_dated = join_parts([(name, places[name]) for name in order], draft, has_entities)
        alerts.sort(key=lambda alert: (alert["entity"] or "", alert["first_row"]))
        told = [folder.progress() for folder in folders]
        summary = Summary(
            rows=sum(each.rows for each in told),
            observations=sum(each.observations for each in told),
            entities=self.n_entities,
            unscored=sum(each.unscored for each in told),
            short=sum(each.short for each in told),
            n_alerts=len(alerts),
            alerts=tuple(_alert(alert, is_dated) for alert in alerts[:MOST_ALERTS]),
        )
        shutil.rmtree(self.folder)
        _warn(summary)
        return summary


def _warn(summary: Summary) -> None:
    if summary.unscored:
        warnings.warn(
            f"{summary.unscored:,} windows have observations in too few of their rows and get no "
            "score (NaN); a coarser step, or a lower least_filled, would score them",
            UnscoredWarning,
            stacklevel=3,
        )
    if summary.short:
        warnings.warn(
            f"{summary.short:,} of {summary.entities:,} entities have fewer rows than a window and "
            "get no score (NaN)",
            UnscoredWarning,
            stacklevel=3,
        )


def _folder_of(out: Path) -> Path:
    return out.with_name(f"{out.name}.parts")


def _interrupted(path: Path, fingerprint: str, resume: bool) -> dict[str, Any] | None:
    """Read the plan of an interrupted run; None if there is none to resume."""
    if not path.parent.exists():
        return None
    if not resume:
        raise InputError(
            f"{path.parent} holds an unfinished run; continue it with --resume (resume=True), or "
            "remove the folder to begin again"
        )
    if not path.exists():  # interrupted before it was planned
        return None
    plan: dict[str, Any] = json.loads(path.read_text("utf-8"))
    if plan["fingerprint"] != fingerprint:
        raise InputError(
            f"{path.parent} was begun with other data, another model or other settings, so it "
            "cannot be resumed; give the same ones, or remove the folder to begin again"
        )
    return plan


def _blocks(counts: Mapping[str, int], most: int, n_least: int) -> Blocks:
    """Divide entities into blocks of similar size, each of at most ``most`` entities."""
    n_blocks = max(-(-len(counts) // most), min(n_least, len(counts)), 1)
    blocks: list[list[str]] = [[] for _ in range(n_blocks)]
    sizes = [0] * n_blocks
    for name in sorted(counts, key=lambda name: (-counts[name], name)):
        free = [at for at in range(n_blocks) if len(blocks[at]) < most]
        smallest = min(free, key=lambda at: sizes[at])
        blocks[smallest].append(name)
        sizes[smallest] += counts[name]
    return tuple(tuple(sorted(block)) for block in blocks)


def _alert(told: Mapping[str, Any], is_dated: bool) -> tuple[str | None, Alert]:
    content = {key: told[key] for key in told if key != "entity"} | {"causes": ()}
    for key in ("start", "end", "peak"):
        stamp = np.array(told[key])
        content[key] = stamp.view("datetime64[ns]")[()] if is_dated else stamp[()]
    return told["entity"], Alert(**content)


def _short(rate: float) -> str:
    for unit, size in ((" million", 1e6), (" thousand", 1e3)):
        if rate >= size:
            return f"{rate / size:.1f}{unit}"
    return f"{rate:.0f}"
