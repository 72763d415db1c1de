"""Verification of a dataset: time steps, labels, causes, size, and identifying words.

In: the folder of a dataset. Out: one sentence per problem, and the variables that each fault moved.
"""

import getpass
import re
import socket
import sys
from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tools.recorder.dataset import Dataset, Event, read_dataset
from tools.recorder.monitoring import SCRAPE_SECONDS
from tools.recorder.system import System
from tools.stack.dataset import span_labels

__all__ = ["MAX_BYTES", "check", "identifying", "moved", "problems"]

MAX_BYTES = 3_000_000

# Number of normal rows before a fault that give the usual values, and the distance in spreads from
# which a variable counts as moved.
ROWS_BEFORE = 60
MOVED_SPREADS = 4.0

# Number of rows before a fault whose presence is compared with that during the fault.
ROWS_JUST_BEFORE = 5

# Smallest spread as a share of the values, for variables that are constant.
MIN_SPREAD_SHARE = 0.02

ADDRESS = re.compile(r"(?<![\d.])(?!127\.0\.0\.1(?!\d))(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
PATH = re.compile(r"(?<![\w.])/(?:home|root|tmp|work|mnt|usr|var|opt|etc|srv|data)/[\w./-]+")


def check(system: type[System], folder: Path) -> int:
    """Print the problems of a dataset and what its faults moved; return 0 without problems."""
    data = read_dataset(folder, system.name)
    known = [kind.name for kind in system.kinds]
    found = [*problems(data, known), *_file_problems(folder)]
    for line in _summary(data):
        sys.stdout.write(f"{line}\n")
    for one in found:
        sys.stdout.write(f"WRONG: {one}\n")
    size = sum(path.stat().st_size for path in folder.iterdir())
    sys.stdout.write(f"{size:,} bytes; {'not right' if found else 'all right'}\n")
    return 1 if found else 0


def problems(data: Dataset, kinds: Sequence[str]) -> Iterator[str]:
    """Yield problems of the rows, the labels and the events of a dataset."""
    steps = np.diff(data.times)
    if (steps != SCRAPE_SECONDS).any():
        yield f"{int((steps != SCRAPE_SECONDS).sum())} steps are not {SCRAPE_SECONDS} s"
    spans = [(event.start, event.end) for event in data.events]
    if not np.array_equal(span_labels(data.times, spans), data.labels):
        yield "labels are not 1 exactly within the events"
    if data.labels[~data.in_test].any():
        yield "the reference holds labelled rows"
    planned = sum(action["do"] == "fault" for action in data.schedule["actions"])
    if planned != len(data.events):
        yield f"{planned} faults were planned, {len(data.events)} are events"
    first, last = int(data.times[data.in_test][0]), int(data.times[-1])
    for event in data.events:
        told = f"{event.kind} at {event.start}"
        if event.kind not in kinds:
            yield f"{told}: no such kind"
        if not first <= event.start < event.end <= last + SCRAPE_SECONDS:
            yield f"{told}: not within the part with faults"
        if not event.variables:
            yield f"{told}: no causes"
        for name in event.variables:
            if name not in data.columns or not np.isfinite(data.columns[name][data.in_test]).any():
                yield f"{told}: {name} is no variable of the part with faults"
    n_routine = sum(start >= first for start, *_ in data.routine)
    if n_routine < len(data.events):
        yield f"{n_routine} routine changes beside {len(data.events)} faults"
    if data.machine["failed"]:
        yield f"{data.machine['failed']} steps of the schedule failed"
    for name in data.columns:
        for word in identifying(name):
            yield f"{name} holds {word}"


def identifying(text: str, own: Sequence[str] = ()) -> Iterator[str]:
    """Yield the parts of a text that identify a host or a user: addresses, paths and given words.

    Parameters
    ----------
    text
        text to search.
    own
        further words that must not occur, such as the name of the host.

    Examples
    --------
    >>> list(identifying('up{instance="10.0.0.7:9100"} of 127.0.0.1 in /home/me'))
    ['10.0.0.7', '/home/me']
    """
    for pattern in (ADDRESS, PATH):
        yield from pattern.findall(text)
    for word in own:
        if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text):
            yield word


def _file_problems(folder: Path) -> Iterator[str]:
    """Yield problems of the files: identifying words, and their total size."""
    # Names that are common to most machines do not identify anybody.
    own = {socket.gethostname(), getpass.getuser()} - {"localhost", "host", "root", "postgres"}
    for path in sorted(folder.iterdir()):
        if path.suffix in (".csv", ".json", ".md"):
            for word in identifying(path.read_text(encoding="utf-8"), sorted(own)):
                yield f"{path.name} holds {word}"
    size = sum(path.stat().st_size for path in folder.iterdir())
    if size > MAX_BYTES:
        yield f"{size:,} bytes are more than {MAX_BYTES:,}"


def moved(data: Dataset, event: Event) -> dict[str, float]:
    """Return the distance in spreads by which each cause moved from its usual value.

    The spread is 1.4826 times the median absolute deviation of the normal rows before the fault,
    and at least 1/50 of the values, so that the largest distance is 50. The distance of a cause
    that vanishes or appears for at least a third of the fault is infinite.
    """
    start, end = np.searchsorted(data.times, (event.start, event.end))
    usual = np.flatnonzero(data.labels[: int(start)] == 0)[-ROWS_BEFORE:]
    found = {}
    for name in data.columns.keys() & set(event.variables):
        values = data.columns[name]
        found[name] = _distance(values[usual], values[int(start) : int(end)])
    return found


def _distance(before: NDArray[np.float32], during: NDArray[np.float32]) -> float:
    was_there, is_there = np.isfinite(before), np.isfinite(during)
    just_before = was_there[-ROWS_JUST_BEFORE:]
    if len(during) == 0 or len(before) == 0:
        return 0.0
    if abs(just_before.mean() - is_there.mean()) >= 1 / 3:
        return float("inf")
    if not was_there.any() or not is_there.any():
        return 0.0
    middle = float(np.median(before[was_there]))
    spread = 1.4826 * float(np.median(np.abs(before[was_there] - middle)))
    # The distance that a tenth of the rows exceeds; the largest one may be due to chance.
    far = float(np.quantile(np.abs(during[is_there] - middle), 0.9))
    return far / max(spread, MIN_SPREAD_SHARE * max(abs(middle), far), 1e-9)


def _summary(data: Dataset) -> Iterator[str]:
    """Yield the size of the dataset, the load, and for each fault the number of causes moved."""
    machine = data.machine
    yield f"{len(data.times)} rows, {len(data.columns)} variables, {len(data.events)} faults, " + (
        f"{len(data.routine)} routine changes"
    )
    before = machine["busy_processors_before"]
    others = machine["busy_processors_of_others_faults"]
    yield f"busy processors: {before:g} before the start; of others {others} with faults"
    for event in data.events:
        far = moved(data, event)
        n_moved = sum(value >= MOVED_SPREADS for value in far.values())
        n_absent = sum(not isfinite(value) for value in far.values())
        finite = {name: value for name, value in far.items() if isfinite(value)}
        best = max(finite, key=lambda name: finite[name], default="none")
        yield (
            f"{event.kind} ({event.service}), {event.end - event.start} s: {n_moved} of "
            f"{len(far)} causes moved, {n_absent} by coming or going; most of the others {best} "
            f"by {finite.get(best, 0.0):.1f} spreads"
        )
