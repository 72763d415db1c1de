"""Lines for whole processes: import, first score on a cold and a warm cache, load and memory.

In: nothing. Out: lines of the table. Every number comes from a fresh Python process.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from benchmarks.speed.timing import Line, limit_line

ROOT = Path(__file__).resolve().parents[2]

IMPORT = "import smkc"

FIRST_SCORE = """
import numpy as np, smkc
from smkc.paper import KnnDetector
rng = np.random.default_rng(0)
values = rng.normal(size=(2000, 16)).cumsum(axis=0)
rows = [dict(zip((f"v{j}" for j in range(16)), step)) for step in values]
recording = smkc.Recording.from_rows(range(2000), rows)
detector = KnnDetector(window=64).fit(recording.rows(0, 1500))
assert len(detector.score_windows(recording.rows(1500)))
"""

LOAD = """
import json, resource, time
from benchmarks.speed.data import telemetry
from benchmarks.speed.windows import fitted

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

recording = telemetry(200_000, 16, seed=8).recording
read = peak()
detector = fitted(16)
fit = peak()
start = time.perf_counter()
detector.score_windows(recording)
took = time.perf_counter() - start
print(json.dumps([recording.n_observations / took, read, fit, peak()]))
"""


def lines() -> Iterator[Line]:
    """Measure the processes, one at a time."""
    imports = [run(IMPORT)[0] - run("pass")[0] for _ in range(5)]
    yield limit_line("import smkc, median of 5 processes", statistics.median(imports), 0.5)
    with tempfile.TemporaryDirectory() as cache:
        yield limit_line(
            "first score, cold JIT cache, whole process", run(FIRST_SCORE, cache)[0], 20
        )
        warm = [run(FIRST_SCORE, cache)[0] for _ in range(3)]
        yield limit_line("first score, warm JIT cache, whole process", statistics.median(warm), 2)
    observations, read, fit, peak = json.loads(run(LOAD)[1])
    yield Line(
        work="whole scores, 200,000 rows of 16 variables, sliding: observations a second",
        unit="observations/s",
        figure=f"{observations:,.0f} a second",
        target="printed",
        passed=None,
    )
    yield Line(
        work=f"the same: peak memory ({read:,.0f} MB with the data, {fit:,.0f} MB after the fit)",
        unit="MB",
        figure=f"{peak:,.0f} MB",
        target="printed",
        passed=None,
    )


def run(code: str, numba_cache: str | None = None) -> tuple[float, str]:
    """Run code in a fresh process; return wall-clock seconds and standard output."""
    environment = dict(os.environ)
    if numba_cache is not None:
        environment["NUMBA_CACHE_DIR"] = numba_cache
    start = perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    took = perf_counter() - start
    if done.returncode:
        raise RuntimeError(f"a timed process failed:\n{done.stderr}")
    return took, done.stdout
