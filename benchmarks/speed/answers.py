"""Lines for Prometheus' answers: five million samples from JSON to arrays.

In: nothing. Out: lines of the table. The answer is read by a fresh Python process, piece by piece
as a connection hands it over.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.speed.timing import Line, limit_line

ROOT = Path(__file__).resolve().parents[2]
N_SERIES, N_POINTS = 3_472, 1_440  # six hours at a step of 15 s
START = 1_700_000_000

# Fourteen million samples, 10,000 series over six hours, shall take well under a minute.
LIMIT_S = 10.0

# The samples themselves are 120 MB.
LIMIT_MB = 300.0

READ = """
import json, sys, time
from smkc.serve.prometheus.collected import Collected
from smkc.serve.prometheus.matrix import MatrixReader

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))

collected = Collected()
reader = MatrixReader(collected, {}, most_bytes=2**30, most_samples=10**8)
before = peak()
start = time.perf_counter()
with open(sys.argv[1], "rb") as file:
    while piece := file.read(65_536):
        reader.feed(piece)
reader.close()
samples = collected.samples()
print(json.dumps([len(samples), time.perf_counter() - start, peak() - before]))
"""


def lines() -> Iterator[Line]:
    """Read the answer three times; the quickest counts, as neighbours only slow it down."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answer.json"
        write_answer(path)
        runs = [read(path) for _ in range(3)]
    n_samples, took, peak = min(runs, key=lambda run: run[1])
    rate = n_samples / took / 1e6
    yield limit_line(
        f"an answer of {n_samples:,} samples, best of 3 ({rate:.1f} million a second)",
        took,
        LIMIT_S,
    )
    yield limit_line("peak memory while it is read", peak, LIMIT_MB, "MB")


def read(path: Path) -> tuple[int, float, float]:
    """Return samples, seconds and megabytes of one reading."""
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    n_samples, took, peak = json.loads(done.stdout)
    return n_samples, took, peak


def write_answer(path: Path) -> None:
    """Write an answer as Prometheus does, with values of all their digits."""
    rng = np.random.default_rng(9)
    with path.open("w", encoding="ascii") as file:
        file.write('{"status":"success","data":{"resultType":"matrix","result":[')
        for number in range(N_SERIES):
            labels = {"__name__": "cpu_seconds_total", "namespace": "shop", "pod": f"web-{number}"}
            values = (100 * rng.random(N_POINTS)).tolist()
            samples = ",".join(
                f'[{START + 15 * point},"{value!r}"]' for point, value in enumerate(values)
            )
            written = json.dumps(labels, separators=(",", ":"))
            comma = "," if number else ""
            file.write(f'{comma}{{"metric":{written},"values":[{samples}]}}')
        file.write("]}}")
