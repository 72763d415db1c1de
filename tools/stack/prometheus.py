"""Prometheus servers: starting them, writing their targets, and querying ranges of time.

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

# Enabled collectors of the node exporter.
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

# Significant digits that are kept of a value; no exporter is more precise.
DIGITS = 5

START_SECONDS = 60.0


def start_prometheus(
    folder: Path, config: Path, port: int, log: str = "prometheus.log", *extra: str
) -> subprocess.Popen[bytes]:
    """Start Prometheus with its storage in a folder."""
    command = [
        "prometheus",
        f"--web.listen-address=127.0.0.1:{port}",
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'storage'}",
        *extra,
    ]
    return start(command, folder / log)


def write_targets(path: Path, entries: Sequence[dict[str, Any]]) -> None:
    """Write a file of targets atomically; the draft is outside the folder that is watched."""
    new = path.parent.parent / f"{path.name}.new"
    new.write_text(json.dumps(entries), encoding="utf-8")
    os.replace(new, path)


def wait_for(address: str, seconds: float = START_SECONDS) -> None:
    """Wait until an address answers."""
    answered(urllib.request.Request(address), seconds)


def answered(request: urllib.request.Request, seconds: float = START_SECONDS) -> bytes:
    """Send a request until it is answered, because the server may still be starting."""
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
    """Evaluate a query at every time; yield variables with (T,) values, NaN where not finite.

    Parameters
    ----------
    address
        address of Prometheus.
    query
        the query, and the labels of its results that are kept.
    times
        (T,) seconds since 1970, ``step`` apart.
    step
        seconds from one time to the next.
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
                # Names must not contain spaces, which separate them in the table of events.
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
