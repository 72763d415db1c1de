"""Jobs of the real-data benchmark: several at a time, each run once and saved to a score file.

In: jobs, a budget and a folder. Out: a score file for every job that had none, and its metrics
beside it.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.provenance import code_commit
from benchmarks.real import measures
from benchmarks.real.budget import Budget
from benchmarks.real.condition import scores_of
from benchmarks.real.datasets import checked_file, dataset
from benchmarks.real.measures import BLAME_DATASET, Measured, blamed_events, measure, truth
from benchmarks.real.peers.contract import Blames, Peer
from benchmarks.real.root_cause import HIT_RANKS
from benchmarks.real.scores import Job, Scores, fingerprint, has_scores, read_scores, write_scores
from benchmarks.real.series import Series
from benchmarks.report import write_whole
from benchmarks.running import run_all
from smkc.errors import InputError, ReadError, SmkcError

__all__ = ["RunSettings", "check_datasets", "run", "run_job", "write_recorded"]

LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """Where and how jobs run.

    Parameters
    ----------
    budget
        number of recordings, rows and seeds.
    folder
        folder of the score files.
    processes
        number of jobs at a time; each uses one thread, so scores do not depend on this number.
    stop_after
        seconds after which no further job is started; None for never.
    """

    budget: Budget
    folder: Path
    processes: int = 1
    stop_after: float | None = None

    def path(self, job: Job) -> Path:
        """Return the path of a job's scores."""
        return self.folder / "scores" / self.budget.name / job.path

    def is_done(self, job: Job, recorded: Mapping[str, Any] = MappingProxyType({})) -> bool:
        """Tell whether a job has scores, or recorded metrics, with its current fingerprint."""
        digest = fingerprint(job, self.budget)
        if measures.from_entry(recorded.get(job.path.as_posix()), digest) is not None:
            return True
        return has_scores(self.path(job), digest)

    def measured(self, job: Job, recorded: Mapping[str, Any]) -> Measured | None:
        """Return a job's metrics: saved ones, or computed from its scores, or recorded ones."""
        path, digest = self.path(job), fingerprint(job, self.budget)
        beside = path.with_suffix(".json")
        found = measures.read_measured(beside, digest)
        if found is not None:
            return found
        scores = read_scores(path, digest)
        if scores is None:
            return measures.from_entry(recorded.get(job.path.as_posix()), digest)
        found = measure(job, scores, self.budget)
        measures.write_measured(beside, found, digest)
        return found

    @property
    def record(self) -> Path:
        """File with all metrics of a budget, for results whose score files are too many to keep."""
        return self.folder / f"metrics-{self.budget.name}.json"

    def recorded(self) -> dict[str, Any]:
        """Return the content of the file ``record``; {} if it cannot be read."""
        try:
            content = json.loads(self.record.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}


def write_recorded(settings: RunSettings, found: Mapping[Job, Measured]) -> Path:
    """Add metrics to the file ``settings.record``, one line per job; return its path."""
    entries = settings.recorded() | {
        job.path.as_posix(): measures.as_entry(measured, fingerprint(job, settings.budget))
        for job, measured in found.items()
    }
    lines = [f" {json.dumps(key)}: {json.dumps(entries[key])}" for key in sorted(entries)]
    write_whole(settings.record, "{\n" + ",\n".join(lines) + "\n}\n")
    return settings.record


def check_datasets(names: Iterable[str]) -> None:
    """Check every file of the datasets, so that a run does not fail later on a missing one."""
    for name in names:
        about = dataset(name)
        try:
            for file in about.files:
                checked_file(about, file)
        except ReadError as error:
            raise ReadError(
                f"dataset {name}: {error}. Nothing was run and nothing was lost; leave the dataset "
                "out with --datasets to run the others"
            ) from None


def run(jobs: Sequence[Job], settings: RunSettings) -> int:
    """Run the jobs that have neither scores nor recorded metrics; return how many were not started.

    A job that fails does not stop the others; an error at the end names all failed jobs.
    """
    recorded = settings.recorded()
    return run_all(
        [job for job in dict.fromkeys(jobs) if not settings.is_done(job, recorded)],
        partial(run_job, settings=settings),
        processes=settings.processes,
        stop_after=settings.stop_after,
    )


def run_job(job: Job, settings: RunSettings) -> None:
    """Run one method on a dataset's recordings and save its scores, then their metrics.

    Nothing is done if another run into the same folder has finished the job meanwhile.
    """
    if settings.is_done(job):
        return
    budget = settings.budget
    recordings = truth(job.dataset, budget)
    started, cpu_started = time.perf_counter(), time.process_time()
    found: dict[str, NDArray[np.float32]] = {}
    named: dict[str, list[list[str]]] = {}
    for series in job.condition.each(job.about, recordings):
        try:
            scores, names = _scored(job, series)
        except SmkcError:
            raise
        except Exception as error:  # raised by another library
            raise InputError(f"{series.key}: {type(error).__name__}: {error}") from error
        found[series.name] = scores
        if names is not None:
            named[series.name] = names
    made: dict[str, Any] = {
        "fingerprint": fingerprint(job, budget),
        "commit": _commit(),
        "cpu_seconds": round(time.process_time() - cpu_started, 3),
        "seconds": round(time.perf_counter() - started, 3),
    }
    if named:
        made["named"] = named
    path, scores_found = settings.path(job), Scores(found, made)
    write_scores(path, scores_found)
    measured = measure(job, scores_found, budget)
    measures.write_measured(path.with_suffix(".json"), measured, made["fingerprint"])


@cache
def _commit() -> str:
    return code_commit()


def _scored(job: Job, series: Series) -> tuple[NDArray[np.float32], list[list[str]] | None]:
    """Return (T,) scores of a recording, and the variables blamed for each event, or None."""
    peers: list[Peer] = []

    def make() -> Peer:
        peers.append(job.row.make(job.condition.seed))
        return peers[-1]

    scores = scores_of(make, series, job.condition)
    if scores.shape != (len(series.test),):
        raise InputError(
            f"{job.row.name} gave scores of the shape {scores.shape} for the {len(series.test)} "
            f"rows of {series.key}; give one a row"
        )
    condition = job.condition
    is_asked = job.dataset == BLAME_DATASET and not condition.drift and not condition.prequential
    names = None
    if is_asked and condition.churn != "mild" and isinstance(peers[-1], Blames):
        names = _blamed(peers[-1], series, scores)
    return np.clip(scores, -LARGEST, LARGEST).astype(np.float32), names


def _blamed(peer: Blames, series: Series, scores: NDArray[np.float64]) -> list[list[str]]:
    """Return the variables blamed for each event, by the names they had before churn.

    The row to explain is the row of the event with the highest score. If no row of the event has a
    score, its list is empty.
    """
    found = []
    for first, stop, _ in blamed_events(series):
        part = scores[first:stop]
        names: list[str] = []
        if not np.isnan(part).all():
            blamed = peer.blame(series.test, first + int(np.nanargmax(part)))
            names = list(series.origins_of(blamed))
        found.append(names[: max(HIT_RANKS)])
    return found
