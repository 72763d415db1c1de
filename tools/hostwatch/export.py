"""Export of a recording in the storage of Prometheus to the files of a dataset.

In: the folder of a finished recording. Out: a reference part, a test part, the events and the
routine changes; on standard output, a summary of each part, and the size and SHA-256 of each file
as the registry lists them.
"""

import hashlib
import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from tools.hostwatch.processes import SCRAPE_SECONDS
from tools.hostwatch.variables import QUERIES, responsible
from tools.stack.dataset import observed, span_labels, write_csv, write_part
from tools.stack.processes import end, free_port
from tools.stack.prometheus import ask_range, start_prometheus, wait_for
from tools.stack.timeline import read_log

__all__ = ["export"]

SERIES = "host"


def export(folder: Path, out: Path) -> None:
    """Write the dataset of a recording."""
    done = json.loads((folder / "done.json").read_text(encoding="utf-8"))
    log = read_log(folder)
    begun, phases = done["start"], done["phases"]
    first = ceil(begun + phases["warm"])
    stop = int(done["end"])
    split = ceil(begun + phases["warm"] + phases["normal"])
    times = np.arange(first, stop, SCRAPE_SECONDS, dtype=np.int64)
    with_config = folder / "asked.yml"
    with_config.write_text("global: {}\n", encoding="utf-8")
    port = free_port()
    prometheus = start_prometheus(folder, with_config, port, "asked.log")
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(f"{address}/-/ready")
        columns = dict(
            item for query in QUERIES for item in ask_range(address, query, times, SCRAPE_SECONDS)
        )
    finally:
        end(prometheus, patience=30.0)
    out.mkdir(parents=True, exist_ok=True)
    faults = [entry for entry in log if entry["what"] == "fault"]
    in_test = times >= split
    tested = observed(columns, in_test)
    spans = [(ceil(fault["begun"]), ceil(fault["time"])) for fault in faults]
    labels = span_labels(times, spans)
    write_part(out / f"{SERIES}.train.parquet", columns, times, labels, ~in_test)
    write_part(out / f"{SERIES}.test.parquet", columns, times, labels, in_test)
    events = [
        [SERIES, "test", *span, " ".join(responsible(fault, tested)), fault["kind"]]
        for fault, span in zip(faults, spans, strict=True)
    ]
    write_csv(out / "events.csv", "series part start end variables kind", events)
    write_csv(out / "routine.csv", "start end kind story", list(_routine(log, first, stop)))
    shutil.copyfile(folder / "schedule.json", out / "schedule.json")
    for file in ("events.csv", f"{SERIES}.test.parquet", f"{SERIES}.train.parquet", "routine.csv"):
        content = (out / file).read_bytes()
        told = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        sys.stdout.write(f'"{file}": {json.dumps(told)}\n')


def _routine(log: list[dict[str, Any]], first: int, stop: int) -> Iterator[list[Any]]:
    """Yield the routine changes: start, end, kind and story."""
    for entry in log:
        at = int(entry["time"])
        told = _told(entry)
        if told is not None and first <= at < stop:
            seconds, story = told
            yield [at, at + seconds, entry["what"], story]


def _told(entry: Mapping[str, Any]) -> tuple[int, str] | None:
    """Return the seconds that a routine change took and its story; None for other entries."""
    if entry["what"] == "rollout":
        n = len(entry["pods"])
        return 6 * n, f"{entry['service']}: {n} pods replaced one by one, under new names"
    if entry["what"] == "scale" and entry["before"] != entry["after"]:
        return 3, f"{entry['service']}: from {entry['before']} to {entry['after']} pods"
    if entry["what"] == "job":
        return int(entry["seconds"]), f"{entry['pod']}: a short job came and went"
    return None
