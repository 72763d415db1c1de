"""Fleets from the project's recordings of real systems.

In: the name of a recording that comes with the project. Out: a ``Fleet`` like the synthetic one:
reference, live telemetry, planted faults and routine changes.
"""

import csv
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from smkc.errors import ReadError, SettingError
from smkc.fleet.truth import Change, Fleet, Incident
from smkc.recording import Recording, read

# Folder and file name of each recording that comes with the project.
RECORDINGS = {
    "hostwatch": ("hostwatch", "host"),
    "shop": ("shop-1", "shop"),
    "cache": ("cache-1", "cache"),
    "pipeline": ("pipeline-1", "pipeline"),
}

DATA_VARIABLE = "SMKC_DATA"

# Folder of the recordings in a checkout; a wheel does not contain them.
PROJECT_DATA = Path(__file__).resolve().parents[3] / "data"


def replay_fleet(name: str) -> Fleet:
    """Load a recording that comes with the project as a fleet."""
    if name not in RECORDINGS:
        *others, last = RECORDINGS
        choices = f"{', '.join(others)} or {last}" if others else last
        raise SettingError(f"{name!r} cannot be replayed; choose {choices}")
    place, series = RECORDINGS[name]
    folder = _folder(place)
    live = read(folder / f"{series}.test.parquet")
    return Fleet(
        reference=read(folder / f"{series}.train.parquet"),
        live=live,
        incidents=tuple(_incidents(folder / "events.csv", live)),
        routine=tuple(_routine(folder / "routine.csv", live)),
    )


def _folder(name: str) -> Path:
    """Return the folder of a recording: under SMKC_DATA if it is there, or else in the checkout."""
    given = os.environ.get(DATA_VARIABLE, "")
    places = [Path(given) / name] if given else []
    for folder in (*places, PROJECT_DATA / name):
        if folder.is_dir():
            return folder
    raise ReadError(
        f"the recording {name} is not installed; it comes with the project's source, in the folder "
        f"data/{name}: run from a checkout, or copy that folder into one that the environment "
        f"variable {DATA_VARIABLE} names"
    )


def _incidents(path: Path, live: Recording) -> Iterator[Incident]:
    """Yield the planted faults that cover at least one row of the live telemetry."""
    for start, end, entry in _entries(path, ("variables", "kind")):
        first, after = np.searchsorted(live.times, [start, end])
        if first < after:
            variables = tuple(sorted(set(entry["variables"].split()) & set(live.names)))
            yield Incident(
                start=live.times[first],
                end=live.times[after - 1],
                kind=entry["kind"].replace("_", " "),
                story=f"planted; known by {len(variables)} variables",
                variables=variables,
            )


def _routine(path: Path, live: Recording) -> Iterator[Change]:
    """Yield the routine changes that began during the live telemetry."""
    first, last = live.times[0], live.times[-1]
    for start, end, entry in _entries(path, ("kind", "story")):
        if first <= start <= last:
            yield Change(start=start, end=min(end, last), kind=entry["kind"], story=entry["story"])


def _entries(
    path: Path, texts: tuple[str, ...]
) -> Iterator[tuple[np.datetime64, np.datetime64, dict[str, str]]]:
    """Yield start, end and the columns ``texts`` of each line; times are seconds since 1970."""
    with path.open(newline="", encoding="utf-8") as file:
        for line, entry in enumerate(csv.DictReader(file), start=2):
            try:
                start, end = (
                    np.datetime64(int(entry[key]), "s").astype("datetime64[ns]")
                    for key in ("start", "end")
                )
                yield start, end, {key: str(entry[key]) for key in texts}
            except (KeyError, TypeError, ValueError) as error:
                raise ReadError(
                    f"line {line} of {path} cannot be read; it needs start, end, "
                    f"{' and '.join(texts)}, with whole numbers of seconds as start and end"
                ) from error
