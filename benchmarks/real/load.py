"""Loading: the files of a dataset -> labelled recordings, one at a time.

In: the name of a dataset, and of a recording if only one is wanted. Out: ``Series``. The reference
is the dataset's own training part, or the start of the recording if there is none.
"""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.real.datasets import EVENTS_FILE, Dataset, checked_file, dataset
from benchmarks.real.series import Event, Series
from smkc.errors import ReadError
from smkc.recording import Recording, read

__all__ = ["each_series", "load_series"]

# A file with this column holds several recordings; the column names the recording of each row.
SHARED_BY = "recording"
NOT_VARIABLES = ("label", SHARED_BY, "root_cause")

# Rows between the reference and the first anomaly, if the usual share of rows has an anomaly.
ROWS_BEFORE_ANOMALY = 10

# Ending of events in which a river's technicians withdrew a sensor for more than a day: its values
# are absent and its rows are not labelled.
WITHDRAWN = "-withdrawn"

# Separators after the name of a pod, a node or a mote in the names of its variables.
MEMBER_ENDS = ("/", "|", "_")


def each_series(about: str | Dataset) -> Iterator[Series]:
    """Yield the recordings of a dataset, loaded one at a time."""
    if isinstance(about, str):
        about = dataset(about)
    for parts in about.series:
        yield load_series(about, parts.name)


def load_series(about: str | Dataset, series: str) -> Series:
    """Load one recording of a dataset.

    Parameters
    ----------
    about
        a dataset, or the name of one in the registry.
    series
        the recording, one of the dataset's ``series``.

    Returns
    -------
    Series
        each part has only the variables that it observes. Times in seconds since 1970 become
        dates; row numbers stay as they are.
    """
    if isinstance(about, str):
        about = dataset(about)
    parts = about.parts(series)
    test, times, labels = _read_part(checked_file(about, parts.test), series)
    if parts.reference is not None:
        reference, _, _ = _read_part(checked_file(about, parts.reference), series)
    else:
        cut = _cut(about, series, labels)
        reference, test = test.rows(0, cut).canonical(), test.rows(cut).canonical()
        times, labels = times[cut:], labels[cut:]
    events: tuple[Event, ...] = ()
    if EVENTS_FILE in about.files:
        path = checked_file(about, EVENTS_FILE)
        # Parts of one recording, such as Nezha's days, share the name before the first dot.
        events = _read_events(path, series.split(".")[0], times, test.names)
    return Series(
        dataset=about.name,
        name=series,
        reference=reference,
        test=test,
        labels=labels,
        events=events,
        is_contiguous=about.is_contiguous,
        notes=about.notes,
    )


def _read_part(path: Path, series: str) -> tuple[Recording, NDArray[np.int64], NDArray[np.bool_]]:
    """Read a file: the recording, (T,) times as the file counts them and (T,) labels.

    Of a file that holds several recordings, only the rows of the one called ``series`` are read.
    """
    try:
        names = pq.read_schema(path).names
        missing = {"time", "label"}.difference(names)
        if missing:
            raise ReadError(f"{path} has no column {min(missing)!r}; it needs time and label")
        is_shared = SHARED_BY in names
        rows = [(SHARED_BY, "==", series)] if is_shared else None
        table = pq.read_table(path, columns=None if is_shared else ["time", "label"], filters=rows)
    except (pa.ArrowException, OSError) as error:
        raise ReadError(f"{path} cannot be read as Parquet: {error}") from error
    times = table["time"].to_numpy().astype(np.int64)
    labels = table["label"].to_numpy() != 0
    recording = read(table, ignore=NOT_VARIABLES) if is_shared else read(path)
    if len(recording) != len(times) or (np.diff(times) <= 0).any():
        raise ReadError(
            f"{path} has {len(times)} labels for {len(recording)} times; rows must be in order of "
            "time, no two at one time"
        )
    return recording, times, labels


def _cut(about: Dataset, series: str, labels: NDArray[np.bool_]) -> int:
    """Return the number of reference rows of a recording without a reference file."""
    if about.reference_share is None:
        raise ReadError(
            f"{about.name}/{series} has no reference file and its dataset no reference_share; "
            "give it one in registry.json"
        )
    n_rows = int(np.count_nonzero(~labels)) if about.share_of_normal else len(labels)
    cut = int(about.reference_share * n_rows)
    if labels[:cut].any():
        cut = int(labels.argmax()) - ROWS_BEFORE_ANOMALY
    if cut < 1:
        raise ReadError(
            f"{about.name}/{series} is anomalous from row {int(labels.argmax())} on, so nothing "
            "is left for its reference; leave the recording out"
        )
    return cut


def _read_events(
    path: Path, series: str, times: NDArray[np.int64], names: Sequence[str]
) -> tuple[Event, ...]:
    """Read the events of one recording that fall on rows of its test part."""
    events = []
    with path.open(newline="", encoding="utf-8") as file:
        for line, entry in enumerate(csv.DictReader(file), start=2):
            try:
                if entry["series"] != series or entry["kind"].endswith(WITHDRAWN):
                    continue
                span = int(entry["start"]), int(entry["end"])
                variables = _variables(entry["variables"].split(), names)
            except (AttributeError, KeyError, ValueError) as error:
                raise ReadError(
                    f"line {line} of {path} is not an event; it needs series, part, start, end, "
                    "variables and kind, with whole numbers as start and end"
                ) from error
            start, stop = (int(row) for row in np.searchsorted(times, span))
            if start < stop:
                events.append(
                    Event(start=start, stop=stop, variables=variables, kind=entry["kind"])
                )
    return tuple(sorted(events, key=lambda event: (event.start, event.stop, event.variables)))


def _variables(responsible: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return the variables that are named, and all variables of a pod, a node or a mote named."""
    found = set()
    for one in responsible:
        members = tuple(one + end for end in MEMBER_ENDS)
        found |= {one} if one in names else {name for name in names if name.startswith(members)}
    return tuple(sorted(found))
