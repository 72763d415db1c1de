"""Prometheus: started over a folder, finding its targets in a file, and asked for ranges.

In: a folder, targets with their labels, queries. Out: a running server, and values by variable.
"""

import json
import os
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from math import isfinite, nan
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.recording import identifier
from tools.stack.processes import start
from tools.stack.queries import Query

__all__ = [
    "COLLECTORS",
    "answered",
    "ask_range",
    "start_prometheus",
    "wait_for",
    "write_targets",
]

# What the node exporter tells of the machine.
COLLECTORS = (
    "cpu",
    "diskstats",
    "filefd",
    "filesystem",
    "loadavg",
    "meminfo",
    "netdev",
    "netstat",
    "pressure",
    "sockstat",
    "stat",
    "vmstat",
)

# Prometheus answers with at most 11,000 points per series.
MAX_POINTS = 10_000

# Significant digits that are kept of a value: more than any of the exporters is sure of.
DIGITS = 5

START_SECONDS = 60.0


def start_prometheus(
    folder: Path, config: Path, port: int, log: str = "prometheus.log", *extra: str
) -> subprocess.Popen[bytes]:
    """Start Prometheus over the storage in a folder."""
    command = [
        "prometheus",
        f"--web.listen-address=127.0.0.1:{port}",
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'storage'}",
        *extra,
    ]
    return start(command, folder / log)


def write_targets(path: Path, entries: Sequence[dict[str, Any]]) -> None:
    """Write a file of targets in one piece; it is made outside the folder that is watched."""
    new = path.parent.parent / f"{path.name}.new"
    new.write_text(json.dumps(entries), encoding="utf-8")
    os.replace(new, path)


def wait_for(address: str, seconds: float = START_SECONDS) -> None:
    """Wait until an address answers."""
    answered(urllib.request.Request(address), seconds)


def answered(request: urllib.request.Request, seconds: float = START_SECONDS) -> bytes:
    """Send a request until it is answered, for its receiver may still be starting."""
    until = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return bytes(answer.read())
        except (urllib.error.URLError, OSError) as error:
            if time.monotonic() > until:
                raise SystemExit(f"{request.full_url} does not answer: {error}") from None
            time.sleep(0.2)


def ask_range(
    address: str, query: Query, times: NDArray[np.int64], step: int
) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Ask for a query at every time; yield (T,) values by variable, NaN where none is finite.

    Parameters
    ----------
    address
        of Prometheus.
    query
        the query, and which labels of its answer are kept.
    times
        (T,) seconds since 1970, ``step`` apart.
    step
        seconds.
    """
    found: dict[str, NDArray[np.float32]] = {}
    for at in range(0, len(times), MAX_POINTS):
        part = times[at : at + MAX_POINTS]
        words = urllib.parse.urlencode(
            {"query": query.query, "start": int(part[0]), "end": int(part[-1]), "step": step}
        )
        with urllib.request.urlopen(f"{address}/api/v1/query_range?{words}", timeout=60) as answer:
            for series in json.load(answer)["data"]["result"]:
                metric = series["metric"]
                # Events separate names by spaces, so names hold none.
                held = {
                    new: metric[old].replace(" ", "_")
                    for old, new in query.labels.items()
                    if old in metric
                }
                values = found.setdefault(
                    identifier(query.metric, held), np.full(len(times), np.nan, np.float32)
                )
                for moment, text in series["values"]:
                    row = at + (int(moment) - int(part[0])) // step
                    value = float(f"{float(text):.{DIGITS - 1}e}")
                    values[row] = value if isfinite(value) else nan
    yield from found.items()
