"""Measurement tools: medians of interleaved runs, and exponents of growth.

In: callables. Out: seconds, and lines of the table. Ours and the anchor run in turns, so that other
load on the machine affects both.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from time import perf_counter, sleep
from typing import Any

import numpy as np
import psutil
from threadpoolctl import threadpool_limits

Work = Callable[[], object]
Clock = Callable[[], float]

# Seconds of rest before a turn. After a matrix product, BLAS threads spin before they sleep
# (OpenBLAS: for 2^26 clock ticks), which would take half a core from the next measurement.
REST = 0.1


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of the table; numbers that do not apply are None.

    ``others`` is the number of cores that other processes kept busy meanwhile. With busy cores a
    measurement is not valid, since threads that wait for each other also wait for other processes.
    """

    work: str
    ours: float | None = None
    anchor: float | None = None
    unit: str = "s a window"
    figure: str
    target: str
    passed: bool | None
    others: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return the line as a dict, for JSON."""
        return asdict(self)


class Neighbours:
    """Load of other processes between two calls of :meth:`look`."""

    def __init__(self) -> None:
        self.look()

    def look(self) -> float:
        """Return the mean number of cores that other processes kept busy since the last call."""
        times = psutil.cpu_times()
        busy = sum(times) - times.idle - getattr(times, "iowait", 0.0)
        own = os.times()
        mine = own.user + own.system + own.children_user + own.children_system
        now = (perf_counter(), busy, mine)
        before = getattr(self, "_before", now)
        self._before = now
        elapsed = max(now[0] - before[0], 1e-9)
        return max(0.0, float(now[1] - before[1] - (now[2] - before[2])) / elapsed)


def seconds(work: Work, clock: Clock = perf_counter) -> float:
    """Return the seconds of one call.

    The clock is that of the wall by default; ``time.process_time`` counts what work on one thread
    takes on a machine that is not idle.
    """
    start = clock()
    work()
    return clock() - start


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit smkc and libraries of linear algebra to one thread inside this block."""
    before = os.environ.get("SMKC_THREADS")
    os.environ["SMKC_THREADS"] = "1"
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        if before is None:
            del os.environ["SMKC_THREADS"]
        else:
            os.environ["SMKC_THREADS"] = before


def rest() -> None:
    """Wait until the threads of earlier work have gone to sleep."""
    sleep(REST)


def warm_up(work: Work) -> None:
    """Rest, then call repeatedly for as long as the rest: after it, the CPU is slower at first."""
    rest()
    end = perf_counter() + REST
    work()
    while perf_counter() < end:
        work()


def take_turns(
    ours: Work, anchor: Work, rounds: int, clock: Clock = perf_counter
) -> tuple[float, float]:
    """Return the median seconds of a call of each, with a warm-up before every turn."""
    times = np.empty((rounds, 2))
    for turn in times:
        for place, work in enumerate((ours, anchor)):
            warm_up(work)
            turn[place] = seconds(work, clock)
    median = np.median(times, axis=0)
    return float(median[0]), float(median[1])


def ratio_line(work: str, ours: float, anchor: float, at_least: float) -> Line:
    """Return a line for work that must be ``at_least`` times as fast as the anchor."""
    ratio = anchor / ours
    return Line(
        work=work,
        ours=ours,
        anchor=anchor,
        figure=f"{ratio:.1f} x",
        target=f">= {at_least:g} x",
        passed=ratio >= at_least,
    )


def limit_line(work: str, ours: float, limit: float, unit: str = "s") -> Line:
    """Return a line for a number that must be below a limit."""
    return Line(
        work=work,
        ours=ours,
        unit=unit,
        figure=f"{ours:.3g} {unit}",
        target=f"< {limit:.3g} {unit}",
        passed=ours < limit,
    )


def growth(
    sizes: Sequence[int], works: Sequence[Work], rounds: int, clock: Clock = perf_counter
) -> tuple[float, list[float]]:
    """Return the slope of log time over log size, and the median times."""
    for work in works:
        work()
    times = np.array([[seconds(work, clock) for work in works] for _ in range(rounds)])
    median = np.median(times, axis=0)
    exponent = np.polyfit(np.log(sizes), np.log(median), 1)[0]
    return float(exponent), median.tolist()
