"""The export: a recording in Prometheus -> the dataset's files.

In: the folder of a recording, and the address of the Prometheus that holds it. Out: a reference
part, a live part, the events and the routine changes. Series are asked for as ``smkc watch`` asks
for them, so that names and values are those it sees.
"""

import csv
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from smkc.serve.prometheus.client import Prometheus
from tools.hostwatch.processes import end, free_port
from tools.livetrial.stack import QUERY, SCRAPE_SECONDS, start_prometheus
from tools.livetrial.variables import guilty

__all__ = ["export", "export_from", "labels_of", "read_log"]

SERIES = "live"
STEP = 1000 * SCRAPE_SECONDS  # milliseconds

Columns = dict[str, NDArray[np.float32]]


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
    _write_part(out / f"{SERIES}.train.parquet", columns, times, labels, ~is_live)
    _write_part(out / f"{SERIES}.test.parquet", columns, times, labels, is_live)
    tested = _observed(columns, is_live)
    events = [
        [
            SERIES,
            "test",
            ceil(fault["begun"]),
            ceil(fault["ended"]),
            # Names are separated by spaces; those that hold one themselves only inform.
            " ".join(name for name in guilty(fault, tested) if " " not in name),
            fault["kind"],
        ]
        for fault in faults
    ]
    _write_csv(out / "events.csv", "series part start end variables kind", events)
    _write_csv(out / "routine.csv", "start end kind story", list(_routine(log)))
    for file in ("schedule.json", "log.jsonl", "outcome.json"):
        if (folder / file).exists():
            shutil.copyfile(folder / file, out / file)


def read_log(folder: Path) -> list[dict[str, Any]]:
    """Return the entries of a recording's log."""
    text = (folder / "log.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def labels_of(times: NDArray[np.int64], faults: Sequence[Mapping[str, Any]]) -> NDArray[np.int8]:
    """(T,) 1 for the rows, at times in milliseconds, from the start of a fault to its end."""
    labels = np.zeros(len(times), np.int8)
    for fault in faults:
        labels[(times >= 1000 * fault["begun"]) & (times < 1000 * fault["ended"])] = 1
    return labels


def _ask(url: str, times: NDArray[np.int64]) -> Columns:
    """Return (T,) values of each variable, NaN where it was not observed."""
    with Prometheus(url, timeout_s=120.0) as prometheus:
        samples = prometheus.range(QUERY, int(times[0]), int(times[-1]), STEP)
    rows = (samples.times - times[0]) // STEP
    values = samples.values.astype(np.float32)  # as the rows of a watch hold them
    order = np.argsort(samples.codes, kind="stable")
    bounds = np.searchsorted(samples.codes[order], np.arange(len(samples.names) + 1))
    columns = {}
    for code, name in enumerate(samples.names):
        chosen = order[bounds[code] : bounds[code + 1]]
        column = np.full(len(times), np.nan, np.float32)
        column[rows[chosen]] = values[chosen]
        columns[name] = column
    return columns


def _observed(columns: Columns, rows: NDArray[np.bool_]) -> list[str]:
    """Return the variables that are observed in some of the rows, sorted."""
    return [name for name in sorted(columns) if np.isfinite(columns[name][rows]).any()]


def _write_part(
    path: Path,
    columns: Columns,
    times: NDArray[np.int64],
    labels: NDArray[np.int8],
    rows: NDArray[np.bool_],
) -> None:
    if not rows.any():
        return
    names = _observed(columns, rows)
    table = {
        "time": pa.array(times[rows] // 1000),
        **{name: pa.array(columns[name][rows], pa.float32(), from_pandas=True) for name in names},
        "label": pa.array(labels[rows]),
    }
    pq.write_table(
        pa.table(table),
        path,
        compression="zstd",
        compression_level=9,
        write_statistics=False,
        store_schema=False,
    )
    present = np.sum([np.isfinite(columns[name][rows]) for name in names], axis=0)
    sys.stdout.write(
        f"{path.name}: {rows.sum()} rows, {len(names)} variables, {present.min()} to "
        f"{present.max()} at a time, {labels[rows].mean():.3f} anomalous, "
        f"{path.stat().st_size:,} bytes\n"
    )


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


def _write_csv(path: Path, heads: str, rows: list[list[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(heads.split())
        writer.writerows(rows)
