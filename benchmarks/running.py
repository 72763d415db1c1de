"""Running jobs: several at a time, each on one thread, stopping in time, losing nothing.

In: jobs and a function that does one and keeps its result in a file. Out: how many were not
started in time. What each job leaves, and whether it has been done, is its own business.
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
    """Some jobs raised; the others' results are kept."""


def run_all(
    jobs: Sequence[Job],
    work: Callable[[Job], None],
    *,
    processes: int = 1,
    stop_after: float | None = None,
) -> int:
    """Do ``work(job)`` for every job, in order; return how many were left when time was up.

    Parameters
    ----------
    jobs
        each with a name as its text.
    work
        can be sent to another process; so can jobs.
    processes
        how many jobs run at a time, each in a process of its own with one thread; with one, they
        run here.
    stop_after
        seconds after which no further job is started; None for never.

    Notes
    -----
    A job that raises one of smkc's errors does not stop the others: all such are named in one
    error at the end.
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
    """Yield each job as it ends, with what it raised; take the next only when there is room."""
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
    # A fresh interpreter each: torch and numba do not survive a fork with threads running.
    return ProcessPoolExecutor(
        processes, multiprocessing.get_context("spawn"), initializer=_on_one_thread
    )


def _on_one_thread() -> None:
    os.environ["SMKC_THREADS"] = "1"
    os.environ["SMKC_PROGRESS"] = "0"
