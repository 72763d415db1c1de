"""Replay of a recording: its rows are judged as ``smkc watch`` judges them, without waiting.

In: the folder of an exported trial, or of a recording such as data/shop-1. Out: an outcome as a
live trial gives it. The rows go through a lane of the service, so fitting, threshold, alerts and
causes are those of the service.
"""

import csv
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from smkc.serve.config import simple_config
from smkc.serve.lane.lanes import Lanes
from smkc.serve.rows import Row
from smkc.serve.store import Store
from tools.livetrial.outcome import Outcome, judge
from tools.livetrial.stack import QUERY, SCRAPE_SECONDS
from tools.livetrial.watching import SeenAlert
from tools.stack.timeline import LOG, read_log

__all__ = ["replay", "rows_of"]


def replay(data: Path, settings: Mapping[str, Any] | None = None) -> Outcome:
    """Judge a dataset; ``settings`` override default settings of the watch."""
    (train,), (test,) = (list(data.glob(f"*.{part}.parquet")) for part in ("train", "test"))
    step = f"{SCRAPE_SECONDS}s"
    with tempfile.TemporaryDirectory(prefix="smkc-replay-") as folder:
        config = simple_config(
            "http://127.0.0.1", QUERY, data=folder, step=step, **(settings or {})
        )
        watch = config.watches[0]
        lateness = watch.lateness / 1000
        with Store.open(folder) as store:
            lane = Lanes(store, watch, config, deque()).of("")
            lane.take(list(rows_of(train)))
            lane.look_after_model()
            if lane.model.follower is None:
                raise SystemExit(f"no model: {'; '.join(lane.status(0).problems)}")
            alerts: dict[str, SeenAlert] = {}
            first = now = 0.0
            for row in rows_of(test):
                lane.take([row])
                now = row.time / 1000 + lateness
                first = first or now
                _take(alerts, lane.status(row.time).alert, now)
            lane.stop()
    faults, kills = _troubles(data)
    return judge(faults, list(alerts.values()), first, now, kills)


def _troubles(data: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the faults, and the kills, by the log of a trial or the events of a recording."""
    if (data / LOG).exists():
        log = read_log(data)
        faults, kills = ([one for one in log if one["what"] == what] for what in ("fault", "kill"))
        return faults, kills
    with (data / "events.csv").open(encoding="utf-8", newline="") as file:
        events = [one for one in csv.DictReader(file) if one["part"] == "test"]
    return [
        {
            "kind": one["kind"],
            "begun": float(one["start"]),
            "ended": float(one["end"]),
            "variables": one["variables"].split(),
        }
        for one in events
    ], []


def _take(alerts: dict[str, SeenAlert], current: Any, now: float) -> None:
    """Update the alert that is open after a row, and mark all others as resolved."""
    for alert in alerts.values():
        if alert.resolved is None and (current is None or current.id != alert.id):
            alert.resolved = now
    if current is not None:
        alert = alerts.setdefault(current.id, SeenAlert(id=current.id, opened=now))
        alert.start, alert.anomaly = current.start / 1000, current.anomaly
        alert.causes = alert.causes or [cause.variable for cause in current.causes[:3]]


def rows_of(path: Path) -> Iterator[Row]:
    """Yield the rows of a part as rows of the service."""
    table = pq.read_table(path)
    names = sorted(set(table.column_names) - {"time", "label"})
    values = np.stack([table[name].to_numpy(zero_copy_only=False) for name in names], axis=1)
    is_seen = np.isfinite(values)
    for time, row, seen in zip(table["time"].to_pylist(), values, is_seen, strict=True):
        chosen = np.flatnonzero(seen)
        yield Row(
            time=1000 * time,
            names=tuple(names[number] for number in chosen),
            values=row[chosen].astype(np.float32),
        )
