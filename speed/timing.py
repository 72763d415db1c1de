"""Measuring: medians of interleaved runs, and the exponents of growth.

In: callables. Out: seconds, and lines of the table. Ours and the anchor take turns within one
run, so that whatever else the machine does falls on both.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np

Work = Callable[[], object]


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of the table; numbers that a line has no use for stay out of it."""

    work: str
    ours: float | None = None
    anchor: float | None = None
    unit: str = "s a window"
    figure: str
    target: str
    passed: bool | None

    def as_dict(self) -> dict[str, Any]:
        """Return the line as JSON has it."""
        return asdict(self)


def seconds(work: Work) -> float:
    """Wall-clock seconds of one call."""
    start = perf_counter()
    work()
    return perf_counter() - start


def take_turns(ours: Work, anchor: Work, rounds: int) -> tuple[float, float]:
    """Median seconds of a call of each, after one of each to warm up."""
    ours()
    anchor()
    times = np.array([(seconds(ours), seconds(anchor)) for _ in range(rounds)])
    median = np.median(times, axis=0)
    return float(median[0]), float(median[1])


def ratio_line(work: str, ours: float, anchor: float, at_least: float) -> Line:
    """Line for a work that must be so many times as fast as the anchor."""
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
    """Line for a number that must stay under a limit."""
    return Line(
        work=work,
        ours=ours,
        unit=unit,
        figure=f"{ours:.3g} {unit}",
        target=f"< {limit:.3g} {unit}",
        passed=ours < limit,
    )


def growth(sizes: Sequence[int], works: Sequence[Work], rounds: int) -> tuple[float, list[float]]:
    """Exponent of a straight line through log size and log time, and the median times."""
    for work in works:
        work()
    times = np.array([[seconds(work) for work in works] for _ in range(rounds)])
    median = np.median(times, axis=0)
    exponent = np.polyfit(np.log(sizes), np.log(median), 1)[0]
    return float(exponent), median.tolist()
