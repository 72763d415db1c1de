"""Running jobs: several at a time, each on one thread, until a time limit.

In: jobs, and a function that runs one job and saves its result. Out: the number of jobs that were
not started in time. Callers leave out jobs that already have results.
"""

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import TypeVar

from smkc import progress
from smkc.errors import SmkcError

__all__ = ["Failed", "run_all"]

Job = TypeVar("Job")


class Failed(SmkcError):
    """Raised if jobs failed; the results of the others are kept."""


def run_all(
    jobs: Sequence[Job],
    work: Callable[[Job], None],
    *,
    processes: int = 1,
    stop_after: float | None = None,
) -> int:
    """Call ``work(job)`` for every job, in order; return how many were not started in time.

    Parameters
    ----------
    jobs
        error messages name a job by ``str(job)``.
    work
        runs one job and saves its result. With several processes, it and the jobs must be
        picklable.
    processes
        number of jobs at a time, each in its own process with one thread; 1 runs the jobs in this
        process.
    stop_after
        seconds after which no further job is started; None for never.

    Notes
    -----
    A job that raises an SmkcError does not stop the others: ``Failed``, raised at the end, names
    all such jobs. Any other exception ends the run.
    """
    started = time.monotonic()

    def in_time() -> Iterator[Job]:
        for job in jobs:
            if stop_after is not None and time.monotonic() - started >= stop_after:
                return
            yield job

    failures: list[str] = []
    n_done = 0
    with progress.task(f"{len(jobs)} jobs", len(jobs)) as advance:
        for job, error in _outcomes(in_time(), work, processes):
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
    jobs: Iterator[Job], work: Callable[[Job], None], processes: int
) -> Iterator[tuple[Job, BaseException | None]]:
    """Yield each job as it ends, with its exception; take the next job when a process is free."""
    if processes == 1:
        for job in jobs:
            try:
                with progress.quiet():
                    work(job)
            except SmkcError as raised:
                yield job, raised
            else:
                yield job, None
        return
    with _pool(processes) as pool:
        running: dict[Future[None], Job] = {}
        for job in jobs:
            running[pool.submit(work, job)] = job
            if len(running) == processes:
                yield from _ended(running)
        while running:
            yield from _ended(running)


def _ended(running: dict[Future[None], Job]) -> Iterator[tuple[Job, BaseException | None]]:
    for future in wait(running, return_when=FIRST_COMPLETED).done:
        yield running.pop(future), future.exception()


def _pool(processes: int) -> ProcessPoolExecutor:
    # Spawn, because torch and numba do not survive a fork while threads are running.
    return ProcessPoolExecutor(
        processes, multiprocessing.get_context("spawn"), initializer=_on_one_thread
    )


def _on_one_thread() -> None:
    os.environ["SMKC_THREADS"] = "1"
    os.environ["SMKC_PROGRESS"] = "0"
