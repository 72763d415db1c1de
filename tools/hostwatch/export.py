"""The export: a recording in Prometheus' storage -> the dataset's files.

In: the folder of a finished recording. Out: a reference part, a test part, the events and what was
routine; on standard output a summary of each part, and size and SHA-256 as the registry has them.
"""

import csv
import hashlib
import json
import shutil
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from smkc.recording import identifier
from tools.hostwatch.processes import SCRAPE_SECONDS, end, free_port, start
from tools.hostwatch.variables import QUERIES, Query, responsible

__all__ = ["export"]

SERIES = "host"

# Prometheus answers with at most 11,000 points a series.
MOST_POINTS = 10_000

# Digits that are kept of a value: more than any of the exporters is sure of.
DIGITS = 5

Columns = dict[str, NDArray[np.float32]]


def export(folder: Path, out: Path) -> None:
    """Write the dataset of a recording."""
    done = json.loads((folder / "done.json").read_text(encoding="utf-8"))
    log = [
        json.loads(line) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    begun, phases = done["start"], done["phases"]
    first = ceil(begun + phases["warm"])
    stop = int(done["end"])
    split = ceil(begun + phases["warm"] + phases["normal"])
    times = np.arange(first, stop, SCRAPE_SECONDS, dtype=np.int64)
    with_config = folder / "asked.yml"
    with_config.write_text("global: {}\n", encoding="utf-8")
    port = free_port()
    prometheus = start(
        [
            "prometheus",
            f"--web.listen-address=127.0.0.1:{port}",
            f"--config.file={with_config}",
            f"--storage.tsdb.path={folder / 'storage'}",
        ],
        folder / "asked.log",
    )
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_for(address)
        columns = dict(item for query in QUERIES for item in _asked(address, query, times))
    finally:
        end(prometheus, patience=30.0)
    out.mkdir(parents=True, exist_ok=True)
    faults = [entry for entry in log if entry["what"] == "fault"]
    in_test = times >= split
    tested = _observed(columns, in_test)
    spans = [(ceil(fault["begun"]), ceil(fault["time"])) for fault in faults]
    labels = np.zeros(len(times), np.int8)
    for start_at, stop_at in spans:
        labels[(times >= start_at) & (times < stop_at)] = 1
    _write_part(out / f"{SERIES}.train.parquet", columns, times, labels, ~in_test)
    _write_part(out / f"{SERIES}.test.parquet", columns, times, labels, in_test)
    events = [
        [SERIES, "test", *span, " ".join(responsible(fault, tested)), fault["kind"]]
        for fault, span in zip(faults, spans, strict=True)
    ]
    _write_csv(out / "events.csv", "series part start end variables kind", events)
    _write_csv(out / "routine.csv", "start end kind story", list(_routine(log, first, stop)))
    shutil.copyfile(folder / "schedule.json", out / "schedule.json")
    for file in ("events.csv", f"{SERIES}.test.parquet", f"{SERIES}.train.parquet", "routine.csv"):
        content = (out / file).read_bytes()
        told = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        sys.stdout.write(f'"{file}": {json.dumps(told)}\n')


def _wait_for(address: str) -> None:
    """Wait until Prometheus has read its storage."""
    for _ in range(300):
        try:
            with urllib.request.urlopen(f"{address}/-/ready", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise SystemExit("Prometheus did not get ready within a minute; see asked.log")


def _asked(
    address: str, query: Query, times: NDArray[np.int64]
) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Ask for a query at every time; yield (T,) values by identifier, NaN where there is none."""
    found: Columns = {}
    for at in range(0, len(times), MOST_POINTS):
        part = times[at : at + MOST_POINTS]
        words = urllib.parse.urlencode(
            {
                "query": query.query,
                "start": int(part[0]),
                "end": int(part[-1]),
                "step": SCRAPE_SECONDS,
            }
        )
        with urllib.request.urlopen(f"{address}/api/v1/query_range?{words}", timeout=60) as answer:
            for series in json.load(answer)["data"]["result"]:
                held = {new: series["metric"][old] for old, new in query.labels.items()}
                values = found.setdefault(
                    identifier(query.metric, held), np.full(len(times), np.nan, np.float32)
                )
                for moment, text in series["values"]:
                    row = at + (int(moment) - int(part[0])) // SCRAPE_SECONDS
                    values[row] = float(f"{float(text):.{DIGITS - 1}e}")
    yield from found.items()


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
    names = _observed(columns, rows)
    values = {name: np.where(np.isfinite(columns[name]), columns[name], np.nan) for name in names}
    table = {
        "time": pa.array(times[rows]),
        **{name: pa.array(values[name][rows], pa.float32(), from_pandas=True) for name in names},
        "label": pa.array(labels[rows]),
    }
    pq.write_table(
        pa.table(table),
        path,
        compression="zstd",
        compression_level=19,
        write_statistics=False,
        store_schema=False,
    )
    present = np.stack([np.isfinite(values[name][rows]) for name in names]).sum(axis=0)
    sys.stdout.write(
        f"{path.name}: {rows.sum()} rows, {len(names)} variables, {present.min()} to "
        f"{present.max()} at a time, {labels[rows].mean():.3f} anomalous, "
        f"{path.stat().st_size:,} bytes\n"
    )


def _routine(log: list[dict[str, Any]], first: int, stop: int) -> Iterator[list[Any]]:
    """Yield what was routine: when, what kind and its story."""
    for entry in log:
        at = int(entry["time"])
        told = _told(entry)
        if told is not None and first <= at < stop:
            seconds, story = told
            yield [at, at + seconds, entry["what"], story]


def _told(entry: Mapping[str, Any]) -> tuple[int, str] | None:
    """Return how long a routine change took and its story; None for what was no such change."""
    if entry["what"] == "rollout":
        n = len(entry["pods"])
        return 6 * n, f"{entry['service']}: {n} pods replaced one by one, under new names"
    if entry["what"] == "scale" and entry["before"] != entry["after"]:
        return 3, f"{entry['service']}: from {entry['before']} to {entry['after']} pods"
    if entry["what"] == "job":
        return int(entry["seconds"]), f"{entry['pod']}: a short job came and went"
    return None


def _write_csv(path: Path, heads: str, rows: list[list[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(heads.split())
        writer.writerows(rows)
