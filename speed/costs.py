"""What scoring costs, and how that grows: the coefficients that ``smkc bench speed`` plans with.

In: nothing. Out: ``results/speed/costs.json`` and its copy in the package. Times are processor
seconds on one thread, so that busy neighbours lengthen them little. Each engine's cost is a sum of
terms with coefficients of 0 or more, fitted to the relative error; two points that the fit has not
seen check it. Run it with ``python -m speed.costs``.
"""

import argparse
import copy
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import psutil

import smkc
from smkc.bench.provenance import provenance
from smkc.plan.terms import evidence_terms, knn_terms
from smkc.recording import Recording
from speed.data import telemetry
from speed.timing import Neighbours

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "results" / "speed" / "costs.json"
PACKAGED = ROOT / "src" / "smkc" / "plan" / "costs.json"

REFERENCE_ROWS, ROWS, COPIES = 3_000, 2_000, 12

# Sizes around the usual ones, a dimension at a time, and two points to check with.
USUAL = {"variables": 16, "window": 64, "buckets": 128, "references": 4096, "components": 256}
KNN = [
    USUAL,
    *({**USUAL, "variables": n} for n in (4, 64, 160)),
    *({**USUAL, "window": n} for n in (32, 128, 256)),
    *({**USUAL, "buckets": n} for n in (32, 512)),
    *({**USUAL, "references": n} for n in (512, 2048, 16_384)),
    *({**USUAL, "components": n} for n in (64, 512)),
]
EVIDENCE = [{"variables": n} for n in (2, 8, 16, 40, 80, 160)]
CHECKED = {
    "knn": [{**USUAL, "variables": 38, "window": 96, "references": 8192}],
    "evidence": [{"variables": 60}],
}


def main() -> None:
    """Measure, fit, check and write."""
    parser = argparse.ArgumentParser(prog="speed.costs", description=__doc__)
    parser.add_argument("--neighbours", type=Path, metavar="FILE", help="results of that script")
    options = parser.parse_args()
    os.environ["SMKC_THREADS"] = "1"
    others = Neighbours()
    made: dict[str, Any] = {
        "provenance": provenance("python -m speed.costs", "speed", [], "cpu"),
        "engines": {},
    }
    engines: dict[str, tuple[list[dict[str, int]], Callable[..., dict[str, float]], Any]] = {
        "knn": (KNN, knn_point, knn_terms),
        "evidence": (EVIDENCE, evidence_point, evidence_terms),
    }
    for name, (sizes, measure, terms) in engines.items():
        points = [shown(name, size, measure(**size)) for size in sizes]
        fits = {
            quantity: fitted([terms(**size) for size in sizes], [p[quantity] for p in points])
            for quantity in points[0]
        }
        made["engines"][name] = {
            **fits,
            "points": [{**size, **p} for size, p in zip(sizes, points, strict=True)],
            "growth": growth(sizes, points),
            "checked": [
                check(terms(**size), fits, size, shown(name, size, measure(**size)))
                for size in CHECKED[name]
            ],
        }
    if options.neighbours:
        made["approximate"] = json.loads(options.neighbours.read_text(encoding="utf-8"))["cost"]
    made["provenance"]["others_kept_busy"] = round(others.look(), 2)
    text = json.dumps(made, indent=1) + "\n"
    for path in (KEPT, PACKAGED):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def shown(engine: str, size: Mapping[str, int], point: dict[str, float]) -> dict[str, float]:
    """Print a measured point and return it."""
    print(engine, dict(size), {key: f"{value:.3g}" for key, value in point.items()}, flush=True)
    return point


def knn_point(
    *, variables: int, window: int, buckets: int, references: int, components: int
) -> dict[str, float]:
    """Seconds a window to score, and bytes that a live model holds."""
    reference = telemetry(references + window + 400, variables, seed=3).recording
    live = telemetry(ROWS + window - 1, variables, seed=4).recording
    detector = smkc.Detector(
        detector="knn",
        window=window,
        buckets=buckets,
        components=components,
        reference_size=references,
        stride=1,
    ).fit(reference)
    # A first call leaves the work's memory to its thread; the better of two is less disturbed.
    took = min(seconds(lambda: detector.score_windows(live)) for _ in range(3))
    return {"row": took / ROWS, "held": held(detector, live)}


def evidence_point(*, variables: int) -> dict[str, float]:
    """Seconds a row to score and a reference row to learn from, and bytes of a live model."""
    both = telemetry(REFERENCE_ROWS + ROWS, variables, seed=3).recording
    reference, live = both.rows(0, REFERENCE_ROWS), both.rows(REFERENCE_ROWS)
    detector = smkc.Detector()
    fit = min(seconds(lambda: detector.fit(reference)) for _ in range(2))
    took = min(seconds(lambda: detector.score_windows(live)) for _ in range(3))
    return {"row": took / ROWS, "fit": fit / REFERENCE_ROWS, "held": held(detector, live)}


def seconds(work: Callable[[], object]) -> float:
    """Processor seconds of one call."""
    start = process_time()
    work()
    return process_time() - start


def held(detector: smkc.Detector, live: Recording) -> float:
    """Bytes that one more fitted model with a stream on it takes."""
    process = psutil.Process()
    stream = detector.stream()
    for row in range(100):
        first, end = live.indptr[row], live.indptr[row + 1]
        named = (live.names[code] for code in live.codes[first:end])
        stream.push(row, dict(zip(named, live.values[first:end].tolist(), strict=True)))
    kept = [copy.deepcopy(stream)]
    before = process.memory_info().rss
    kept += [copy.deepcopy(stream) for _ in range(COPIES)]
    return max(process.memory_info().rss - before, 0) / COPIES


def fitted(terms: Sequence[Mapping[str, float]], measured: Sequence[float]) -> dict[str, float]:
    """Coefficients of 0 or more, a term each, with the smallest relative squared error."""
    names = list(terms[0])
    left = list(names)
    weights = 1 / np.maximum(measured, 1e-12)
    while True:
        matrix = np.array([[term[name] for name in left] for term in terms]) * weights[:, None]
        scale = np.linalg.norm(matrix, axis=0)
        found = np.linalg.lstsq(matrix / scale, np.ones(len(terms)), rcond=None)[0] / scale
        if (found >= 0).all():
            return {name: float(dict(zip(left, found, strict=True)).get(name, 0)) for name in names}
        left.pop(int(np.argmin(found * scale)))


def growth(
    sizes: Sequence[Mapping[str, int]], points: Sequence[Mapping[str, float]]
) -> dict[str, float]:
    """By dimension, the exponent of a row's time over the sizes in which only it differs."""
    exponents = {}
    for dimension in sizes[0]:
        usual = {key: value for key, value in sizes[0].items() if key != dimension}
        chosen = [
            (size[dimension], point["row"])
            for size, point in zip(sizes, points, strict=True)
            if all(size[key] == value for key, value in usual.items())
        ]
        if len(chosen) > 2:
            exponents[dimension] = round(float(np.polyfit(*np.log(chosen).T, 1)[0]), 2)
    return exponents


def check(
    terms: Mapping[str, float],
    fits: Mapping[str, Mapping[str, float]],
    size: Mapping[str, int],
    point: Mapping[str, float],
) -> dict[str, Any]:
    """Return what was predicted beside what was measured."""
    return {
        **size,
        **{
            quantity: {
                "predicted": sum(fits[quantity][name] * term for name, term in terms.items()),
                "measured": value,
            }
            for quantity, value in point.items()
        },
    }


if __name__ == "__main__":
    main()
