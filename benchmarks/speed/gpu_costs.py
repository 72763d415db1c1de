"""What a window costs on a GPU, and how that grows: what ``smkc plan`` uses.

In: nothing. Out: seconds a window of the detector ``knn``, from a recording in the machine's
memory to scores there, fitted as a sum of terms; a point that the fit has not seen checks it. Run
it on a GPU with ``python -m benchmarks.speed.gpu_costs [--out FILE]``; the result belongs in
``results/speed`` and, for the plans, in ``smkc/scale``.
"""

import argparse
import json
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.provenance import provenance
from benchmarks.speed.costs import check, fitted, growth, shown
from benchmarks.speed.data import telemetry
from smkc.paper.density import KnnDensity, Projection
from smkc.paper.density.torch_knn import TorchKnnDensity
from smkc.paper.kernel import Representation
from smkc.paper.sketch import Sketch
from smkc.scale.costs import gpu_terms

USUAL = {"variables": 16, "window": 64, "references": 4096}
SIZES = [
    USUAL,
    *({**USUAL, "variables": n} for n in (4, 64, 160)),
    *({**USUAL, "window": n} for n in (32, 128)),
    *({**USUAL, "references": n} for n in (1024, 16_384, 100_000, 400_000)),
]
CHECKED = {"variables": 38, "window": 96, "references": 40_000}
WINDOWS, ROUNDS = 60_000, 5


def main() -> None:
    """Measure, fit, check and write."""
    parser = argparse.ArgumentParser(prog="benchmarks.speed.gpu_costs", description=__doc__)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    made: dict[str, Any] = {
        "provenance": provenance("python -m benchmarks.speed.gpu_costs", "speed", [], "cuda")
    }
    points = [shown("knn", size, measured(**size)) for size in SIZES]
    row = fitted([gpu_terms(**size) for size in SIZES], [point["row"] for point in points])
    made |= {
        "row": row,
        "points": [{**size, **point} for size, point in zip(SIZES, points, strict=True)],
        "growth": growth(SIZES, points),
        "checked": check(gpu_terms(**CHECKED), {"row": row}, CHECKED, measured(**CHECKED)),
    }
    print(json.dumps({name: made[name] for name in ("row", "growth", "checked")}))
    if options.out:
        options.out.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


def measured(*, variables: int, window: int, references: int) -> dict[str, float]:
    """Seconds a window, sliding by one row."""
    n_rows = max(WINDOWS, references) + window
    recording = telemetry(n_rows, variables, seed=3).recording
    empty = KnnDensity.empty(
        window=window,
        representation=Representation.parse("log3 band(8)"),
        sketch=Sketch(),
        projection=Projection(),
        neighbours=20,
        least_filled=0.5,
        reference_size=references,
    )
    density = TorchKnnDensity.on(empty, "cuda").learned(recording, np.arange(references))
    live, starts = recording.rows(0, WINDOWS + window - 1), np.arange(WINDOWS)
    density.scores(live, starts)
    times = []
    for _ in range(ROUNDS):
        started = perf_counter()
        density.scores(live, starts)  # numbers of the processor: the device has finished
        times.append(perf_counter() - started)
    return {"row": median(times) / WINDOWS}


if __name__ == "__main__":
    main()
