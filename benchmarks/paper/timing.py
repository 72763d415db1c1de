"""Timing for the scaling table: seconds and memory of every representation, on a device.

In: a device. Out: a file of measurements beside the scores; delete it to measure again.
"""

import json
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.baselines.device import peak_bytes
from benchmarks.baselines.randproj_knn import RandProjKnn
from benchmarks.paper.jobs import RunSettings
from benchmarks.paper.methods import SCALING_METHODS
from benchmarks.protocols import Splits, find_protocol
from benchmarks.provenance import provenance
from benchmarks.windows import Windows
from smkc import parallel, progress

__all__ = ["LENGTH", "PROTOCOL", "Timing", "read_timings", "time_representations"]

LENGTH = 64
PROTOCOL = find_protocol("holdout_C")
RATE = 0.10
REPEATS = 5


@dataclass(frozen=True)
class Timing:
    """Cost of scoring all test windows: median seconds of several runs, and peak memory in MB."""

    seconds: float
    peak_mb: float


def time_representations(settings: RunSettings) -> None:
    """Measure every representation on the settings' device, unless already measured.

    The time is that from windows to scores: building a recording, features, projection and
    neighbours. Memory is the peak of allocated memory, without that of the windows themselves.
    """
    path = _path(settings, settings.device)
    if path.exists():
        return
    splits = Splits(seed=0, length=LENGTH, sizes=settings.budget.sizes)
    train = splits.train(PROTOCOL)
    test = Windows.concat([splits.test(cardinality, RATE) for cardinality in PROTOCOL.test])
    found = {}
    with progress.task(f"timing on {settings.device}", len(SCALING_METHODS)) as advance:
        for key, method in SCALING_METHODS.items():
            competitor = RandProjKnn(
                window=LENGTH, representation=method.representation, device=settings.device
            )
            with progress.quiet():
                competitor.fit(train)
                measure = _on_cpu if settings.device == "cpu" else _on_gpu
                found[key] = asdict(measure(competitor, test))
            advance(1)
    made = provenance("timing", settings.budget.name, [0], settings.device)
    content = {"windows": len(test), "timings": found, "machine": made}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def read_timings(settings: RunSettings, device: str) -> tuple[dict[str, Timing], Mapping[str, Any]]:
    """Return the measurements of a device by method, and their provenance; empty if none."""
    try:
        content = json.loads(_path(settings, device).read_text(encoding="utf-8"))
        timings = {key: Timing(**value) for key, value in content["timings"].items()}
        return timings, {**content["machine"], "windows": content["windows"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}, {}


def _path(settings: RunSettings, device: str) -> Path:
    return settings.timings_folder / f"timing-{device.replace(':', '-')}.json"


@contextmanager
def _fresh_threads() -> Iterator[None]:
    """Run this block on new threads: memory that earlier calls left with theirs is not counted."""
    parallel._pool.cache_clear()
    try:
        yield
    finally:
        parallel._pool(parallel.n_threads()).shutdown()
        parallel._pool.cache_clear()


def _on_cpu(competitor: RandProjKnn, windows: Windows) -> Timing:
    seconds = _median(lambda: competitor.score(windows))
    recording, starts = windows.recording(), windows.starts()
    with _fresh_threads():
        tracemalloc.start()
        try:
            competitor.density_.scores(recording, starts)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    return Timing(seconds, peak / 1e6)


def _on_gpu(competitor: RandProjKnn, windows: Windows) -> Timing:
    # Scores are copied to the CPU, so the GPU has finished when the call returns.
    seconds = _median(lambda: competitor.score(windows))
    peak = peak_bytes(competitor.device, lambda: competitor.score(windows))
    return Timing(seconds, peak / 1e6)


def _median(work: Callable[[], object]) -> float:
    work()  # compile, fill caches
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times)
