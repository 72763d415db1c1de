"""Running the benchmark: jobs -> score files, several at a time, going on where it stopped.

In: jobs, a budget, a device and a folder. Out: a score file for every job that was not there yet.
"""

import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from smkc import progress
from smkc.bench.baselines.device import device_name
from smkc.bench.paper.budget import Budget
from smkc.bench.paper.report import code_commit
from smkc.bench.paper.scores import Job, Scores, fingerprint, read_scores, write_scores
from smkc.bench.protocols import Splits, find_protocol
from smkc.bench.world import find_world
from smkc.errors import SmkcError
from smkc.sketch import Sketch

if TYPE_CHECKING:
    from smkc.learn.training import Training

__all__ = ["Failed", "RunSettings", "run", "run_job"]


class Failed(SmkcError):
    """Some jobs raised; the others' scores are kept."""


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """Where and how jobs run.

    Parameters
    ----------
    budget
        windows, seeds and epochs.
    folder
        where score files and checkpoints go; runs of one budget share it.
    device
        where networks are trained: ``cpu`` or ``cuda``.
    processes
        how many jobs run at a time; each uses one thread, so that scores do not depend on it.
    stop_after
        seconds after which no further job is started; None for never.
    """

    budget: Budget
    folder: Path
    device: str = "cpu"
    processes: int = 1
    stop_after: float | None = None

    def path(self, job: Job) -> Path:
        """Where a job's scores are."""
        return self.folder / "scores" / self.budget.name / job.path

    def read(self, job: Job) -> Scores | None:
        """Return a job's scores if they are there and still hold."""
        return read_scores(self.path(job), fingerprint(job, self.budget))


def run(jobs: Sequence[Job], settings: RunSettings) -> int:
    """Run the jobs that have no scores yet; return how many are left undone.

    Networks come first, as they take longest, and among them those of the protocol that matters
    most. A job that raises does not stop the others; all such are named in one error at the end.
    """
    jobs = [job for job in dict.fromkeys(jobs) if settings.read(job) is None]
    jobs.sort(key=lambda job: (not job.row.is_trained, job.protocol != "holdout_C"))
    if not jobs:
        return 0
    started = time.monotonic()

    def in_time() -> Iterator[Job]:
        for job in jobs:
            limit = settings.stop_after
            if limit is not None and time.monotonic() - started >= limit:
                return
            yield job

    failures: list[str] = []
    n_done = 0
    with progress.task(f"{len(jobs)} jobs", len(jobs)) as advance:
        for job, error in _outcomes(in_time(), settings):
            n_done += 1
            if isinstance(error, SmkcError):
                failures.append(f"{job}: {error}")
            elif error is not None:
                raise error
            advance(1)
    if failures:
        raise Failed(
            f"{len(failures)} of {len(jobs)} jobs failed; the scores of the others are kept, and "
            "a further run tries only what is missing:\n" + "\n".join(failures)
        )
    return len(jobs) - n_done


def _outcomes(
    jobs: Iterator[Job], settings: RunSettings
) -> Iterator[tuple[Job, BaseException | None]]:
    """Yield each job as it ends, with what it raised; take the next only when there is room."""
    if settings.processes == 1:
        for job in jobs:
            try:
                with progress.quiet():
                    run_job(job, settings)
            except SmkcError as raised:
                yield job, raised
            else:
                yield job, None
        return
    with _pool(settings.processes) as pool:
        running: dict[Future[None], Job] = {}
        for job in jobs:
            running[pool.submit(run_job, job, settings)] = job
            if len(running) == settings.processes:
                yield from _ended(running)
        while running:
            yield from _ended(running)


def _ended(running: dict[Future[None], Job]) -> Iterator[tuple[Job, BaseException | None]]:
    for future in wait(running, return_when=FIRST_COMPLETED).done:
        yield running.pop(future), future.exception()


def run_job(job: Job, settings: RunSettings) -> None:
    """Fit one method and keep its scores of every test set."""
    budget, protocol = settings.budget, find_protocol(job.protocol)
    splits = Splits(
        seed=job.seed, world=find_world(job.world), length=job.length, sizes=budget.sizes
    )
    training = _training(job, settings) if job.row.is_trained else None
    method = job.row.make(
        window=job.length, sketch=Sketch(buckets=job.buckets), seed=job.seed, training=training
    )
    started = time.perf_counter()
    method.fit(splits.train(protocol), splits.validation(protocol).normal())
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
    if training is not None and training.checkpoint is not None:
        training.checkpoint.unlink(missing_ok=True)


def _training(job: Job, settings: RunSettings) -> "Training":
    from smkc.learn.training import Training

    name = job.path.with_suffix("").as_posix().replace("/", "-")
    digest = fingerprint(job, settings.budget)
    checkpoint = settings.folder / "checkpoints" / f"{name}-{digest}.safetensors"
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    return Training(
        epochs=settings.budget.epochs,
        patience=settings.budget.patience,
        batch_size=settings.budget.batch_size,
        device=settings.device,
        seed=job.seed,
        checkpoint=checkpoint,
    )


def _pool(processes: int) -> ProcessPoolExecutor:
    # A fresh interpreter each: torch and numba do not survive a fork with threads running.
    return ProcessPoolExecutor(
        processes, multiprocessing.get_context("spawn"), initializer=_on_one_thread
    )


def _on_one_thread() -> None:
    os.environ["SMKC_THREADS"] = "1"
    os.environ["SMKC_PROGRESS"] = "0"
