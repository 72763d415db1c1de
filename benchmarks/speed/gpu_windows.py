"""Images, projected bands and whole scores on a GPU: ours beside eager torch, in one run.

In: nothing. Out: a table of microseconds a window, and the same as JSON. Run it on a GPU with
``python -m benchmarks.speed.gpu_windows [--out FILE]``. Observations are on the device before, for
both; C = 16 variables of 2,000 a window, one in twenty observations missing.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from benchmarks.provenance import provenance
from benchmarks.speed import gpu_anchor
from smkc.paper.density import KnnDensity, Projection
from smkc.paper.density.torch_knn import TorchKnnDensity
from smkc.paper.kernel import Representation
from smkc.paper.kernel.torch_windows import TorchWindows
from smkc.paper.sketch import Sketch
from smkc.recording import Recording

VARIABLES, NAMES, ROUNDS, BUCKETS = 16, 2000, 7, 128
BAND, LAGS, REFERENCES = Representation.parse("log3 band(8)"), 8, 100_000

# Number of windows by length; their images take several gigabytes.
WINDOWS = {32: 65_536, 64: 32_768, 128: 8_192}


def main() -> None:
    """Measure and print; write the result if ``--out`` is given."""
    parser = argparse.ArgumentParser(prog="benchmarks.speed.gpu_windows", description=__doc__)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines = [images(length) for length in WINDOWS]
    lines += scores(64)
    for line in lines:
        print(json.dumps(line), flush=True)
    if options.out:
        made = provenance(
            "python -m benchmarks.speed.gpu_windows", budget="speed", seeds=(0,), device="cuda"
        )
        options.out.write_text(json.dumps({"provenance": made, "lines": lines}, indent=1) + "\n")


def images(length: int) -> dict[str, Any]:
    """Measure six-channel images from observations."""
    recording, starts = made(WINDOWS[length], length)
    windows = TorchWindows(recording, length, Sketch(), "cuda")
    begin, observed = torch.from_numpy(starts).cuda(), unpacked(windows)
    block = torch.empty((gpu_anchor.AT_ONCE, 6, length, length), device="cuda")
    whole = torch.empty((len(starts), 6, length, length), device="cuda")

    def eager() -> None:
        for part in begin.split(gpu_anchor.AT_ONCE):
            block[: len(part)] = gpu_anchor.image(
                gpu_anchor.states(observed, part, length, BUCKETS)
            )

    found = compared(f"image, L = {length}", eager, lambda: windows.images(starts), len(starts))
    floor = timed(lambda: whole.fill_(1.0)) / len(starts)
    few = gpu_anchor.states(observed, begin[:512], length, BUCKETS)
    expected = gpu_anchor.image(few.double())
    off = windows.images(starts[:512])[0] - expected
    return {
        **found,
        "write_floor_us": round(floor, 4),
        "times_the_floor": round(found["ours_us"] / floor, 2),
        "largest_difference": float(off.abs().max()),
    }


def scores(length: int) -> list[dict[str, Any]]:
    """Measure projected bands, and their scores against many references."""
    recording, starts = made(WINDOWS[length], length)
    some = np.random.default_rng(1).integers(0, len(recording) - length, REFERENCES)
    sketch, projection = Sketch(), Projection()
    empty = KnnDensity.empty(
        window=length,
        representation=BAND,
        sketch=sketch,
        projection=projection,
        neighbours=20,
        least_filled=0.0,
        reference_size=REFERENCES,
    )
    learned = TorchKnnDensity.on(empty, "cuda").learned(recording, np.sort(some))
    density = cast(TorchKnnDensity, learned)
    windows = TorchWindows(recording, length, sketch, "cuda")
    begin, observed = torch.from_numpy(starts).cuda(), unpacked(windows)
    matrix, references = density._matrix, density._on_device

    def vectors(part: Tensor) -> Tensor:
        band = gpu_anchor.log3_band(gpu_anchor.states(observed, part, length, BUCKETS), LAGS)
        return gpu_anchor.unit_vectors(band, matrix)

    def ours() -> Tensor:
        return density._unit_vectors(windows.features(starts, BAND))

    projected = compared(
        "log3 band(8) to projected vector, L = 64",
        lambda: [vectors(part) for part in begin.split(gpu_anchor.AT_ONCE)],
        ours,
        len(starts),
    )
    parts = begin.split(gpu_anchor.AT_ONCE)
    whole = compared(
        f"whole score against {REFERENCES:,} references, L = 64",
        lambda: [gpu_anchor.scores(vectors(part), references.vectors) for part in parts],
        lambda: references.mean_distance(ours(), density.neighbours),
        len(starts),
    )
    few = vectors(begin[:512])
    off = references.mean_distance(ours()[:512], 20) - gpu_anchor.scores(few, references.vectors)
    projected["largest_difference"] = float((ours()[:512] - few).abs().max())
    whole["largest_difference"] = float(off.abs().max())
    return [projected, whole]


def made(n_windows: int, length: int) -> tuple[Recording, np.ndarray]:
    """Return consecutive windows, each with its own variables, and their start rows."""
    rng = np.random.default_rng(0)
    shape = (n_windows, length, VARIABLES)
    chosen = np.sort(
        rng.random((n_windows, NAMES), np.float32).argpartition(VARIABLES)[:, :VARIABLES]
    )
    is_seen = rng.random(shape, np.float32) < 0.95
    noise = rng.standard_normal(shape, np.float32)
    values = 0.3 * noise.cumsum(axis=1) + rng.standard_normal(shape, np.float32)
    counts = is_seen.sum(axis=2).ravel()
    codes = np.broadcast_to(chosen[:, None], shape)[is_seen].astype(np.int32)
    recording = Recording(
        times=np.arange(len(counts)),
        indptr=np.concatenate([[0], counts.cumsum()]).astype(np.int64),
        codes=codes,
        values=values[is_seen].astype(np.float32),
        names=tuple(f"metric_{i:04}" for i in range(NAMES)),
    )
    return recording, np.arange(n_windows, dtype=np.int64) * length


def unpacked(windows: TorchWindows) -> tuple[Tensor, ...]:
    """Return observations and hash tables in the anchor's format, on the device."""
    hashed = windows.sketch.hash(windows.recording.names)
    tables = (
        hashed.value_bucket.astype(np.int32),
        hashed.value_sign,
        hashed.presence_bucket.astype(np.int32),
        hashed.presence_sign,
    )
    indptr, codes, values, _ = windows._observed
    return indptr, codes, values, *(torch.from_numpy(table).cuda() for table in tables)


def compared(
    what: str, eager: Callable[[], object], ours: Callable[[], object], n: int
) -> dict[str, Any]:
    """Time both in turns, twice, to show the spread; return microseconds per window."""
    eager_us, our_us = [], []
    for _ in range(2):
        eager_us.append(timed(eager) / n)
        our_us.append(timed(ours) / n)
    return {
        "work": what,
        "ours_us": round(max(our_us), 4),
        "eager_us": round(min(eager_us), 4),
        "ratio": round(min(eager_us) / max(our_us), 2),
        "ours_us_each": [round(value, 4) for value in our_us],
        "eager_us_each": [round(value, 4) for value in eager_us],
    }


def timed(work: Callable[[], object]) -> float:
    """Return microseconds: the median of several runs, measured by CUDA events."""
    work()
    times = []
    for _ in range(ROUNDS):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        end.synchronize()
        times.append(1e3 * begin.elapsed_time(end))
    return float(median(times))


if __name__ == "__main__":
    main()
