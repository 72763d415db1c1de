"""Lines for the growth of the default detector's cost with the number of variables.

In: nothing. Out: lines of the table: the processor seconds of a row in a batch, of a row as it
arrives and of a fit, and the memory of a model with its stream, for 10 to 10,000 variables, on one
thread.
"""

import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice
from time import process_time

import numpy as np

from benchmarks.speed.evidence_rows import recording
from benchmarks.speed.timing import Line, growth, one_thread
from smkc.detector import Detector
from smkc.stream import Stream

VARIABLES = (10, 40, 100, 1_000, 10_000)

# Reference rows, rows of a batch, and rows that arrive one at a time.
REFERENCE_ROWS, BATCH_ROWS, LIVE_ROWS = 2_000, 512, 32
ROUNDS, FIT_ROUNDS = 5, 1

# A pod has so many variables, a service so many pods.
METRICS, PODS = 10, 10


@dataclass(frozen=True, kw_only=True, eq=False)
class Works:
    """What is timed for one number of variables; each call scores the same number of rows."""

    fit: Callable[[], object]
    batch: Callable[[], object]
    live: Callable[[], object]
    stream: Stream


def lines() -> Iterator[Line]:
    """Measure variables with plain names, then the same values under the names of pods."""
    with one_thread():
        for kind, named in (("variables", plain_names), ("variables of pods", pod_names)):
            works = [works_for(named(n)) for n in VARIABLES]
            for work, n_rows, timed in (
                ("a row of a batch", BATCH_ROWS, [one.batch for one in works]),
                ("a row as it arrives", LIVE_ROWS, [one.live for one in works]),
            ):
                _, times = growth(VARIABLES, timed, ROUNDS, process_time)
                per_row = [time / n_rows for time in times]
                yield from lines_of(f"default, {{:,}} {kind}, {work}", per_row, 1)
            _, times = growth(VARIABLES, [one.fit for one in works], FIT_ROUNDS, process_time)
            work = f"default, {{:,}} {kind}, fit to {REFERENCE_ROWS:,} rows"
            yield from lines_of(work, times, REFERENCE_ROWS)
            for n_variables, one in zip(VARIABLES, works, strict=True):
                n_bytes = held(one.stream)
                yield Line(
                    work=f"default, {n_variables:,} {kind}, memory of a model with its stream",
                    unit="bytes",
                    figure=f"{n_bytes / 1e6:,.1f} MB, {n_bytes / 1e3 / n_variables:,.0f} kB per "
                    "variable",
                    target="",
                    passed=None,
                )


def lines_of(work: str, times: Sequence[float], n_rows: int) -> Iterator[Line]:
    """Yield a line for each number of variables, given the seconds that ``n_rows`` rows took."""
    for at, (n_variables, took) in enumerate(zip(VARIABLES, times, strict=True)):
        figures = [f"{1e9 * took / n_rows / n_variables:,.0f} ns per observation"]
        if n_rows == 1:
            figures.insert(0, f"{1 / took:,.0f} rows per second")
        if at:
            more = n_variables / VARIABLES[at - 1]
            figures.append(f"{took / times[at - 1]:.1f} x the time for {more:g} x the variables")
        yield Line(
            work=work.format(n_variables),
            ours=took,
            unit="s a row" if n_rows == 1 else "s",
            figure=", ".join(figures),
            target="",
            passed=None,
        )


def works_for(names: list[str]) -> Works:
    """Return what is timed for variables of these names."""
    rng = np.random.default_rng(0)
    n_live = (1 + ROUNDS) * LIVE_ROWS
    reference = recording(0, REFERENCE_ROWS, rng, len(names), names)
    live = recording(REFERENCE_ROWS, max(BATCH_ROWS, n_live), rng, len(names), names)
    batch = live.rows(0, BATCH_ROWS)
    detector = Detector().fit(reference)
    stream = detector.stream()
    arriving = iter([(live.times[at], live.row(at)) for at in range(n_live)])

    def push_some() -> None:
        for time, row in islice(arriving, LIVE_ROWS):
            stream.push(time, row)

    return Works(
        fit=lambda: Detector().fit(reference),
        batch=lambda: detector.score(batch),
        live=push_some,
        stream=stream,
    )


def held(stream: Stream) -> int:
    """Return the bytes that one more model with a stream takes."""
    tracemalloc.start()
    kept = deepcopy(stream)
    n_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return n_bytes


def plain_names(n: int) -> list[str]:
    """Return names without labels."""
    return [f"v{j:05d}" for j in range(n)]


def pod_names(n: int) -> list[str]:
    """Return names with labels: the pods of each service are compared with each other too."""
    return [
        f'metric_{j % METRICS}{{pod="pod-{j // METRICS:04d}",'
        f'service="service-{j // (METRICS * PODS):03d}"}}'
        for j in range(n)
    ]
