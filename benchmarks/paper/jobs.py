"""Runner of the benchmark's jobs: several at a time, skipping those that already have scores.

In: jobs, a budget, a device and a folder. Out: a score file for every job that had none.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.baselines.device import device_name
from benchmarks.paper.budget import Budget
from benchmarks.paper.record import read_recorded
from benchmarks.paper.scores import Job, Scores, fingerprint, read_scores, write_scores
from benchmarks.paper.sources import code_digest, source_digest
from benchmarks.protocols import Splits, find_protocol
from benchmarks.provenance import code_commit
from benchmarks.running import run_all
from benchmarks.world import find_world
from smkc.paper.sketch import Sketch

if TYPE_CHECKING:
    from smkc.paper.learn.training import Training

__all__ = ["RunSettings", "run", "run_job"]


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """Where and how jobs run.

    Parameters
    ----------
    budget
        windows, seeds and epochs.
    folder
        folder of score files and checkpoints; runs of one budget share it.
    device
        device that networks are trained on: ``cpu`` or ``cuda``.
    processes
        number of jobs that run at a time; each uses one thread, so scores do not depend on it.
    stop_after
        seconds after which no further job is started; None for no limit.
    record
        folder of recorded scores to read instead of the score files; None to read those.
    any_code
        whether to accept score files made by other code.
    """

    budget: Budget
    folder: Path
    device: str = "cpu"
    processes: int = 1
    stop_after: float | None = None
    record: Path | None = None
    any_code: bool = False

    @property
    def scores_folder(self) -> Path:
        """Folder of the budget's score files and measured times."""
        return self.folder / "scores" / self.budget.name

    @property
    def timings_folder(self) -> Path:
        """Folder that measured times are read from: the record if one is given."""
        return self.scores_folder if self.record is None else self.record

    def path(self, job: Job) -> Path:
        """Return the path of a job's score file."""
        return self.scores_folder / job.path

    def read(self, job: Job) -> Scores | None:
        """Return a job's scores, or None if there are none or they are out of date."""
        expected = fingerprint(job, self.budget)
        if self.record is not None:
            return read_recorded(self.record, job, expected)
        code = None if self.any_code else code_digest(job.row)
        return read_scores(self.path(job), expected, code)


def run(jobs: Sequence[Job], settings: RunSettings) -> int:
    """Run the jobs that have no scores yet; return the number of jobs left undone.

    Networks run first, since they take longest, and ``holdout_C`` before other protocols. A job
    that raises does not stop the others; one error at the end names all failed jobs.
    """
    jobs = [job for job in dict.fromkeys(jobs) if settings.read(job) is None]
    jobs.sort(key=lambda job: (not job.row.is_trained, job.protocol != "holdout_C"))
    return run_all(
        jobs,
        partial(run_job, settings=settings),
        processes=settings.processes,
        stop_after=settings.stop_after,
    )


def run_job(job: Job, settings: RunSettings) -> None:
    """Fit one method and write its scores of all test sets."""
    budget, protocol = settings.budget, find_protocol(job.protocol)
    splits = Splits(
        seed=job.seed, world=find_world(job.world), length=job.length, sizes=budget.sizes
    )
    checkpoint = _checkpoint(job, settings) if job.row.is_trained else None
    method = job.row.make(
        window=job.length,
        sketch=Sketch(buckets=job.buckets),
        seed=job.seed,
        training=_training(job, settings) if job.row.is_trained else None,
        checkpoint=checkpoint,
    )
    started = time.perf_counter()
    validation = splits.validation(protocol)
    if not getattr(method, "wants_labels", False):
        validation = validation.normal()
    method.fit(splits.train(protocol), validation)
    fitted = time.perf_counter()
    kinds, scores, cardinalities, rates = [], [], [], []
    for rate in job.rates:
        for cardinality in protocol.test:
            windows = splits.test(cardinality, rate)
            scores.append(method.score(windows).astype(np.float32))
            kinds.append(windows.kinds)
            cardinalities.append(np.full(len(windows), cardinality, np.int8))
            rates.append(np.full(len(windows), rate, np.float32))
    made: dict[str, Any] = {
        "fingerprint": fingerprint(job, budget),
        "code": code_digest(job.row),
        "device": device_name(settings.device) if job.row.is_trained else "cpu",
        "commit": code_commit(),
        "fit_seconds": round(fitted - started, 3),
        "score_seconds": round(time.perf_counter() - fitted, 3),
    }
    log = getattr(method, "log_", None)
    if log is not None:
        made["epochs"] = log.epochs
        made["best_epoch"] = log.best_epoch
        made["validation_loss"] = min(log.validation_losses)
    found = Scores(
        np.concatenate(cardinalities),
        np.concatenate(rates),
        np.concatenate(kinds),
        np.concatenate(scores),
        made,
    )
    write_scores(settings.path(job), found)
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)


def _checkpoint(job: Job, settings: RunSettings) -> Path:
    name = job.path.with_suffix("").as_posix().replace("/", "-")
    digest = fingerprint(job, settings.budget)
    # One folder per version of the code: training never resumes from another version's weights.
    folder = settings.folder / "checkpoints" / source_digest(job.row.home)
    checkpoint = folder / f"{name}-{digest}.safetensors"
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    return checkpoint


def _training(job: Job, settings: RunSettings) -> "Training":
    from smkc.paper.learn.training import Training

    return Training(
        epochs=settings.budget.epochs,
        patience=settings.budget.patience,
        batch_size=settings.budget.batch_size,
        device=settings.device,
        seed=job.seed,
    )
