"""What scoring costs, and how that grows: the coefficients that ``smkc plan`` uses.

In: nothing. Out: ``results/speed/costs.json`` and its copy in the package. Times are processor
seconds on one thread, so that busy neighbours lengthen them little. Each engine's cost is a sum of
terms with coefficients of 0 or more, fitted to the relative error; two points that the fit has not
seen check it. Run it with ``python -m benchmarks.speed.costs``.
"""

import copy
import json
import os
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import smkc
from benchmarks.provenance import provenance
from benchmarks.speed.data import telemetry
from benchmarks.speed.timing import Neighbours
from smkc.base import BaseDetector
from smkc.loading import make_detector
from smkc.paper import KnnDetector
from smkc.recording import Recording
from smkc.scale import Costs, Workload, estimate
from smkc.scale.costs import evidence_terms, knn_terms

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "results" / "speed" / "costs.json"
NEIGHBOURS = ROOT / "results" / "speed" / "neighbours.json"
PACKAGED = ROOT / "src" / "smkc" / "scale" / "costs.json"

REFERENCE_ROWS, ROWS, PUSHED = 3_000, 2_000, 900

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
EVIDENCE = [
    *({"variables": n, "learned": 12_000} for n in (40, 2, 8, 16, 80, 160)),
    *({"variables": 40, "learned": n} for n in (3_000, 24_000)),
]
CHECKED = {
    "knn": [{**USUAL, "variables": 38, "window": 96, "references": 8192}],
    "evidence": [{"variables": 60, "learned": 8_000}],
}

# Whole runs, measured to the end: models learned, all rows scored.
PLANS: tuple[dict[str, Any], ...] = (
    {
        "series": 120,
        "step_seconds": 15,
        "duration_seconds": 12 * 3600,
        "variables": 40,
        "reference_rows": 2880,
    },
    {
        "series": 100,
        "step_seconds": 60,
        "duration_seconds": 3 * 86_400,
        "variables": 25,
        "detector": "knn",
        "references": 2048,
        "reference_rows": 4320,
    },
)


def main() -> None:
    """Measure, fit, check and write."""
    os.environ["SMKC_THREADS"] = "1"
    others = Neighbours()
    made: dict[str, Any] = {
        "provenance": provenance("python -m benchmarks.speed.costs", "speed", [], "cpu"),
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
    made["approximate"] = json.loads(NEIGHBOURS.read_text(encoding="utf-8"))["cost"]
    made["longer"] = {
        "rows": {name: round(exponent_of_rows(name), 2) for name in engines},
        "variables in all, 16 a row": {name: round(exponent_of_churn(name), 2) for name in engines},
    }
    made["plans"] = [checked_plan(plan, Costs(made)) for plan in PLANS]
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
    detector = KnnDetector(
        window=window,
        buckets=buckets,
        components=components,
        reference_size=references,
        stride=1,
    ).fit(reference)
    # A first call leaves the work's memory to its thread; the better of two is less disturbed.
    took = min(seconds(detector.score_windows, live) for _ in range(3))
    return {"row": took / ROWS, **live_costs(detector, live)}


def evidence_point(*, variables: int, learned: int) -> dict[str, float]:
    """Seconds a row to score and a model to learn, and bytes of a live model."""
    both = telemetry(learned + ROWS, variables, seed=3).recording
    reference, live = both.rows(0, learned), both.rows(learned)
    detector = smkc.Detector()
    fit = min(seconds(detector.fit, reference) for _ in range(2))
    took = min(seconds(detector.score_windows, live) for _ in range(3))
    return {"row": took / ROWS, "fit": fit, **live_costs(detector, live)}


def seconds(work: Callable[..., object], *given: object) -> float:
    """Processor seconds of one call."""
    start = process_time()
    work(*given)
    return process_time() - start


def live_costs(detector: BaseDetector, live: Recording) -> dict[str, float]:
    """Seconds to push one row onto a stream, and bytes that one more model with a stream takes."""
    stream = detector.stream()
    rows = []
    for row in range(PUSHED):
        first, end = live.indptr[row], live.indptr[row + 1]
        named = (live.names[code] for code in live.codes[first:end])
        rows.append(dict(zip(named, live.values[first:end].tolist(), strict=True)))

    def push(first: int, end: int) -> None:
        for row in range(first, end):
            stream.push(row, rows[row])

    push(0, PUSHED // 3)  # until the first window is full
    took = seconds(push, PUSHED // 3, PUSHED)
    tracemalloc.start()
    kept = copy.deepcopy(stream)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return {"live": took / (PUSHED - PUSHED // 3), "held": float(taken)}


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
            x, y = np.log(chosen).T
            exponents[dimension] = round(float(np.polyfit(x, y, 1)[0]), 2)
    return exponents


def exponent_of_rows(engine: str) -> float:
    """Exponent of the time to score over the number of rows."""
    sizes = (2_000, 4_000, 8_000, 16_000)
    both = telemetry(REFERENCE_ROWS + sizes[-1], 16, seed=9).recording
    detector = make_detector({"detector": engine}).fit(both.rows(0, REFERENCE_ROWS))
    times = []
    for size in sizes:
        live = both.rows(REFERENCE_ROWS, REFERENCE_ROWS + size)
        times.append(min(seconds(detector.score_windows, live) for _ in range(2)))
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def exponent_of_churn(engine: str, together: int = 16) -> float:
    """Exponent of the time to score over the variables in all, with so many of them at a time."""
    sizes = (16, 64, 256)
    times = []
    for n_variables in sizes:
        values = np.random.default_rng(9).normal(size=(REFERENCE_ROWS + ROWS, together))
        rows = np.repeat(np.arange(len(values)), together)
        # Another set of variables every hundred rows.
        first = rows // 100 * together
        codes = (first + np.tile(np.arange(together), len(values))) % n_variables
        names = tuple(f"v{j:04d}" for j in range(n_variables))
        both = Recording.from_observations(
            np.arange(len(values)), rows, codes, values.reshape(-1), names
        )
        detector = make_detector({"detector": engine}).fit(both.rows(0, REFERENCE_ROWS))
        live = both.rows(REFERENCE_ROWS)
        times.append(min(seconds(detector.score_windows, live) for _ in range(2)))
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def checked_plan(asked: Mapping[str, Any], costs: Costs) -> dict[str, Any]:
    """Return what a plan predicts beside what its run took, in core-hours."""
    workload = Workload(**asked)
    told = estimate(workload, costs)
    settings: dict[str, Any] = {"detector": workload.detector}
    if workload.detector == "knn":
        settings |= {"window": workload.window, "reference_size": workload.references}
    fit = score = 0.0
    for number in range(workload.n_recordings):
        n_rows = workload.reference_rows + workload.n_rows
        both = telemetry(n_rows, workload.variables, seed=20 + number).recording
        detector = make_detector(settings)
        fit += seconds(detector.fit, both.rows(0, workload.reference_rows))
        score += seconds(detector.score_windows, both.rows(workload.reference_rows))
    found = {
        "workload": asked,
        "fit_core_hours": {"predicted": told.fit_core_hours, "measured": fit / 3600},
        "score_core_hours": {"predicted": told.score_core_hours, "measured": score / 3600},
    }
    print(json.dumps(found), flush=True)
    return found


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
