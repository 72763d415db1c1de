"""Export of a recording in Prometheus to the files of a dataset.

In: the folder of a recording, and the address of the Prometheus server that holds it. Out: a
reference part, a live part, the events and the routine changes. Series are queried as by
``smkc watch``, so that names and values are the same.
"""

import shutil
from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.serve.prometheus.client import Prometheus
from tools.livetrial.stack import QUERY, SCRAPE_SECONDS, start_prometheus
from tools.livetrial.variables import guilty
from tools.stack.dataset import Columns, observed, span_labels, write_csv, write_part
from tools.stack.processes import end, free_port
from tools.stack.timeline import read_log

__all__ = ["export", "export_from", "labels_of"]

SERIES = "live"
STEP = 1000 * SCRAPE_SECONDS  # milliseconds
COMPRESSION_LEVEL = 9


def export(folder: Path, out: Path) -> None:
    """Write the dataset of a recording whose Prometheus has ended."""
    config = folder / "asked.yml"
    config.write_text("global: {}\n", encoding="utf-8")
    port = free_port()
    prometheus = start_prometheus(folder, config, port)
    try:
        export_from(folder, f"http://127.0.0.1:{port}", out)
    finally:
        end(prometheus, patience=30.0)


def export_from(folder: Path, url: str, out: Path) -> None:
    """Write the dataset of a recording that a running Prometheus holds."""
    log = read_log(folder)
    begun = next(entry for entry in log if entry["what"] == "start")
    ended = next(entry for entry in log if entry["what"] == "end")
    first = ceil((begun["time"] + begun["warm"]) * 1000 / STEP) * STEP
    last = int(ended["time"] * 1000) // STEP * STEP - STEP
    split = ceil((begun["time"] + begun["warm"] + begun["reference"]) * 1000 / STEP) * STEP
    times = np.arange(first, last + 1, STEP, dtype=np.int64)
    columns = _ask(url, times)
    faults = [entry for entry in log if entry["what"] == "fault"]
    labels = labels_of(times, faults)
    is_live = times >= split
    out.mkdir(parents=True, exist_ok=True)
    for part, rows in (("train", ~is_live), ("test", is_live)):
        if rows.any():
            path = out / f"{SERIES}.{part}.parquet"
            write_part(path, columns, times // 1000, labels, rows, COMPRESSION_LEVEL)
    tested = observed(columns, is_live)
    events = [
        [
            SERIES,
            "test",
            ceil(fault["begun"]),
            ceil(fault["ended"]),
            # Names are separated by spaces, so names that contain a space are left out.
            " ".join(name for name in guilty(fault, tested) if " " not in name),
            fault["kind"],
        ]
        for fault in faults
    ]
    write_csv(out / "events.csv", "series part start end variables kind", events)
    write_csv(out / "routine.csv", "start end kind story", list(_routine(log)))
    for file in ("schedule.json", "log.jsonl", "outcome.json"):
        if (folder / file).exists():
            shutil.copyfile(folder / file, out / file)


def labels_of(times: NDArray[np.int64], faults: Sequence[Mapping[str, Any]]) -> NDArray[np.int8]:
    """Return (T,) labels for times in milliseconds: 1 from the start of a fault to its end."""
    return span_labels(times, [(1000 * one["begun"], 1000 * one["ended"]) for one in faults])


def _ask(url: str, times: NDArray[np.int64]) -> Columns:
    """Query (T,) values of each variable, NaN where it was not observed."""
    with Prometheus(url, timeout_s=120.0) as prometheus:
        samples = prometheus.range(QUERY, int(times[0]), int(times[-1]), STEP)
    rows = (samples.times - times[0]) // STEP
    values = samples.values.astype(np.float32)  # the type of values in a watch
    values[np.isinf(values)] = np.nan
    order = np.argsort(samples.codes, kind="stable")
    bounds = np.searchsorted(samples.codes[order], np.arange(len(samples.names) + 1))
    columns = {}
    for code, name in enumerate(samples.names):
        chosen = order[bounds[code] : bounds[code + 1]]
        column = np.full(len(times), np.nan, np.float32)
        column[rows[chosen]] = values[chosen]
        columns[name] = column
    return columns


def _routine(log: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    """Return the routine changes: start, end, kind and a sentence."""
    rows = []
    for entry in log:
        at = int(entry["time"])
        if entry["what"] == "rollout":
            story = f"{entry['service']}: {entry['old']} replaced by {entry['new']}"
            rows.append([at, at + ceil(entry["seconds"]), "rollout", story])
        elif entry["what"] == "watch":
            rows.append(
                [at, at + ceil(entry["seconds"]), "watch", "smkc watch started and learned"]
            )
    return rows
