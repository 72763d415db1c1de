"""Export of a recording in the storage of Prometheus to the files of a dataset.

In: the folder of a recording. Out: a reference part, a part with faults, the events with their
causes, the routine changes, the schedule, facts about the machine and a README.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.recording import parse
from tools.recorder.kinds import responsible
from tools.recorder.monitoring import SCRAPE_SECONDS
from tools.recorder.readme import write_readme
from tools.recorder.system import System
from tools.stack.dataset import Columns, observed, span_labels, write_csv, write_part
from tools.stack.processes import end, free_port
from tools.stack.prometheus import ask_range, start_prometheus, wait_for
from tools.stack.timeline import read_log

__all__ = ["EVENT_HEADS", "ROUTINE_HEADS", "export"]

EVENT_HEADS = "series part start end variables kind service symptoms"
ROUTINE_HEADS = "start end kind service story"

# A variable is a cause only if it was observed during the fault or at most this long before it.
SECONDS_BEFORE = 10

BUSY_MODES = ("user", "nice", "system", "irq", "softirq", "steal")


def export(system: type[System], folder: Path, out: Path) -> None:
    """Write the dataset of a recording."""
    log = read_log(folder)
    begun = _entry(log, "start")
    ended = _entry(log, "end")
    first = ceil(begun["time"] + begun["warm"])
    split = ceil(begun["time"] + begun["warm"] + begun["reference"])
    times = np.arange(first, int(ended["time"]), SCRAPE_SECONDS, dtype=np.int64)
    columns = _ask(system, folder, times)
    faults = [entry for entry in log if entry["what"] == "fault"]
    spans = [(ceil(fault["begun"]), ceil(fault["ended"])) for fault in faults]
    labels, in_test = span_labels(times, spans), times >= split
    out.mkdir(parents=True, exist_ok=True)
    name = system.name
    write_part(out / f"{name}.train.parquet", columns, times, labels, ~in_test)
    write_part(out / f"{name}.test.parquet", columns, times, labels, in_test)
    events = []
    for fault, span in zip(faults, spans, strict=True):
        near = in_test & (times >= span[0] - SECONDS_BEFORE) & (times < span[1])
        guilty, others = responsible(system.kind(fault["kind"]), fault, observed(columns, near))
        about = [fault["kind"], fault["service"], " ".join(others)]
        events.append([name, "test", *span, " ".join(guilty), *about])
    write_csv(out / "events.csv", EVENT_HEADS, events)
    write_csv(out / "routine.csv", ROUTINE_HEADS, _routine(log, first))
    shutil.copyfile(folder / "schedule.json", out / "schedule.json")
    machine = json.loads((folder / "machine.json").read_text(encoding="utf-8"))
    machine |= _load(columns, in_test)
    machine["failed"] = sum(entry["what"] == "failed" for entry in log)
    text = json.dumps(machine, indent=1) + "\n"
    (out / "machine.json").write_text(text, encoding="utf-8")
    write_readme(system, out, columns, times, labels, in_test, faults)


def _entry(log: Sequence[dict[str, Any]], what: str) -> dict[str, Any]:
    for entry in log:
        if entry["what"] == what:
            return entry
    raise SystemExit(f"the log has no {what!r}: the recording did not run to its end")


def _ask(system: type[System], folder: Path, times: NDArray[np.int64]) -> Columns:
    """Evaluate every query with a Prometheus server on the recording's storage."""
    config = folder / "asked.yml"
    config.write_text("global: {}\n", encoding="utf-8")
    port = free_port()
    prometheus = start_prometheus(
        folder, config, port, "asked.log", "--storage.tsdb.retention.time=1000d"
    )
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(f"{address}/-/ready")
        return {
            name: values
            for query in system.queries()
            for name, values in ask_range(address, query, times, SCRAPE_SECONDS)
        }
    finally:
        end(prometheus, patience=30.0)


def _routine(log: Sequence[Mapping[str, Any]], first: int) -> list[list[Any]]:
    """Return the routine changes: start, end, kind, service and a sentence."""
    rows = []
    for entry in log:
        if "service" not in entry or entry["what"] in ("fault", "begin", "died"):
            continue
        at, service = int(entry["time"]), entry["service"]
        end_at = at + ceil(entry["seconds"])
        story = f"{service}: {entry['what']}"
        if entry["what"] == "scale":
            story = f"{service}: from {entry['before']} to {entry['after']} replicas"
        elif entry["pods"]:
            story = f"{service}: {entry['what']} of {' '.join(entry['pods'])}"
        if at >= first:
            rows.append([at, end_at, entry["what"], service, story])
    return rows


def _load(columns: Columns, in_test: NDArray[np.bool_]) -> dict[str, Any]:
    """Return percentiles of the load in both parts: of the machine, and of other processes."""
    found = {}
    busy, own = np.zeros(len(in_test)), np.zeros(len(in_test))
    for name, values in columns.items():
        metric, labels = parse(name) or (name, {})
        if metric == "node_cpu" and labels["mode"] in BUSY_MODES:
            busy += values
        elif metric == "group_cpu":
            own += np.nan_to_num(values)
    for part, rows in (("reference", ~in_test), ("faults", in_test)):
        for what, measured in (
            ("load1", columns["node_load1"].astype(np.float64)),
            ("busy_processors", busy),
            ("busy_processors_of_others", np.maximum(busy - own, 0)),
        ):
            middle = np.nanpercentile(measured[rows], [5, 50, 95])
            found[f"{what}_{part}"] = [round(float(value), 2) for value in middle]
    return found
