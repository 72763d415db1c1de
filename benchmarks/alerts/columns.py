"""Columns: the recordings of the alert benchmark, each dataset as recorded or under churn.

In: a column. Out: its recordings, one at a time, with dates as times, and the truth about them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.alerts.measures import Truth
from benchmarks.real.condition import Condition
from benchmarks.real.datasets import dataset
from benchmarks.real.events import event_bounds
from benchmarks.real.plan import Column
from benchmarks.real.series import Event, Series
from smkc.fleet import make_fleet
from smkc.recording import Recording
from smkc.recording.identity import parse

__all__ = [
    "DATASETS",
    "DEMO",
    "DEMO_SEEDS",
    "HELD_BACK",
    "LABELLED",
    "OWN",
    "QUIET",
    "columns",
    "each_recording",
    "service_of",
    "truth_about",
    "truths",
]

LABELLED = (
    "asd",
    "cloudmon",
    "dbsherlock",
    "jumpstarter",
    "lro",
    "nasa",
    "nezha",
    "petshop",
    "rcd-sockshop",
    "skab",
    "smd",
    "wsd",
)
QUIET = ("huawei-quiet", "exathlon-quiet")  # without events: they count for false alerts only
DEMO = "demo"
# The project's own; no mean, median or maximum has them.
OWN = ("hostwatch", "shop-1", "cache-1", "pipeline-1", DEMO)
DATASETS = (*LABELLED, *QUIET, *OWN)
# Second recordings of our own systems. Nothing is chosen by them: they are judged only if named.
HELD_BACK = ("shop-2", "cache-2", "pipeline-2")

DEMO_SEEDS = 20

# Time 0 of files that count rows or seconds instead of giving dates.
ROW_ZERO = np.datetime64("2024-01-01", "ns")

# Labels of a variable that name the service it belongs to.
SERVICE_LABELS = ("service", "group")


def columns(names: Sequence[str]) -> list[Column]:
    """Return the columns of datasets: as recorded, and under full churn where that is added."""
    found = []
    for name in names:
        found.append(Column(name))
        if name in LABELLED and dataset(name).takes_churn:
            found.append(Column(name, "full"))
    return found


def each_recording(column: Column) -> Iterator[Series]:
    """Yield the recordings of a column, one at a time, with dates as times."""
    if column.dataset == DEMO:
        for seed in range(DEMO_SEEDS):
            yield _fleet(seed)
        return
    about = dataset(column.dataset)
    for series in Condition(churn=column.churn).each(about):
        yield replace(
            series,
            reference=_dated(series.reference, about.time_unit_seconds),
            test=_dated(series.test, about.time_unit_seconds),
        )


def truth_about(series: Series) -> Truth:
    """Return labels, step and responsible variables of a recording's live rows."""
    steps = np.diff(series.test.times).astype("timedelta64[ns]").astype(np.float64) / 1e9
    guilty = tuple(
        frozenset(
            name
            for event in series.events
            if event.start < stop and event.stop > start
            for name in event.variables
        )
        for start, stop in event_bounds(series.labels)
    )
    return Truth(series.labels, float(np.median(steps)), guilty)


@lru_cache(maxsize=32)
def truths(name: str) -> dict[str, Truth]:
    """Return the truth about each recording of a dataset, by name; churn does not change it."""
    return {series.name: truth_about(series) for series in each_recording(Column(name))}


def service_of(name: str) -> Callable[[str], str | None]:
    """Return a function that gives the service of a dataset's variables, or None.

    Examples
    --------
    >>> service_of("hostwatch")('latency{pod="web-1",service="web"}')
    'web'
    >>> service_of("rcd-sockshop")("carts-db_cpu")
    'carts-db'
    """
    ends_with = "" if name == DEMO else dataset(name).service_before

    def service(variable: str) -> str | None:
        if ends_with:
            return variable.partition(ends_with)[0]
        parts = parse(variable)
        labels = {} if parts is None else parts[1]
        return next((labels[label] for label in SERVICE_LABELS if label in labels), None)

    return service


def _dated(recording: Recording, unit_seconds: float | None) -> Recording:
    """Return the recording with dates in place of counts of rows or seconds."""
    if np.issubdtype(recording.times.dtype, np.datetime64):
        return recording
    nanoseconds = np.round(recording.times * (unit_seconds or 1.0) * 1e9).astype(np.int64)
    return replace(recording, times=ROW_ZERO + nanoseconds.astype("timedelta64[ns]"))


def _fleet(seed: int) -> Series:
    """Return the demo's fleet of one seed as a labelled recording."""
    fleet = make_fleet(seed)
    times: NDArray[np.datetime64] = fleet.live.times
    labels = np.zeros(len(times), np.bool_)
    events = []
    for incident in fleet.incidents:
        start = int(np.searchsorted(times, incident.start))
        stop = int(np.searchsorted(times, incident.end, side="right"))
        labels[start:stop] = True
        events.append(
            Event(start=start, stop=stop, variables=incident.variables, kind=incident.kind)
        )
    return Series(
        dataset=DEMO,
        name=f"seed-{seed:02d}",
        reference=fleet.reference,
        test=fleet.live,
        labels=labels,
        events=tuple(events),
    )
