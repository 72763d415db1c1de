"""Replay: the project's own recording as a fleet to watch, with the truth about it.

In: the name of a dataset that comes with the project. Out: a ``Fleet``, as the made-up one is: what
to learn from, what to watch, the faults that were planted and what was routine.
"""

import csv
from pathlib import Path

import numpy as np

from smkc.bench.real.datasets import Dataset, checked_file, dataset, dataset_names
from smkc.bench.real.load import load_series
from smkc.bench.real.series import Series
from smkc.errors import ReadError, SettingError
from smkc.fleet import Change, Fleet, Incident

__all__ = ["ROUTINE_FILE", "replayed"]

ROUTINE_FILE = "routine.csv"


def replayed(name: str) -> Fleet:
    """Load a dataset that comes with the project as a fleet to watch."""
    known = [one for one in dataset_names(ranked=False) if dataset(one).ships]
    if name not in known:
        raise SettingError(f"{name!r} cannot be replayed; choose {' or '.join(known)}")
    about = dataset(name)
    series = load_series(about, about.series[0].name)
    return Fleet(
        reference=series.reference,
        live=series.test,
        incidents=tuple(_incidents(series)),
        routine=tuple(_routine(about, series)),
    )


def _incidents(series: Series) -> list[Incident]:
    times = series.test.times
    return [
        Incident(
            start=times[event.start],
            end=times[event.stop - 1],
            kind=event.kind.replace("_", " "),
            story=f"planted; known by {len(event.variables)} variables",
            variables=event.variables,
        )
        for event in series.events
    ]


def _routine(about: Dataset, series: Series) -> list[Change]:
    """Read what was routine and fell into the test part."""
    path = checked_file(about, ROUTINE_FILE)
    first, last = series.test.times[0], series.test.times[-1]
    changes = []
    for start, end, kind, story in _lines(path):
        if first <= start <= last:
            changes.append(Change(start=start, end=min(end, last), kind=kind, story=story))
    return changes


def _lines(path: Path) -> list[tuple[np.datetime64, np.datetime64, str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        try:
            return [
                (
                    np.datetime64(int(entry["start"]), "s").astype("datetime64[ns]"),
                    np.datetime64(int(entry["end"]), "s").astype("datetime64[ns]"),
                    entry["kind"],
                    entry["story"],
                )
                for entry in csv.DictReader(file)
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise ReadError(
                f"{path} is no list of routine changes; it needs start, end, kind and story, with "
                "whole numbers of seconds as start and end"
            ) from error
