"""Nearest neighbours in large reference sets: approximate search compared with exact search.

In: nothing. Out: ``results/speed/neighbours.json``: recall at 20, CPU seconds per window on one
thread, CPU seconds to build the index, and the effect of missed neighbours on AUPRC. The two
searches are timed in turns. Run it with ``python -m benchmarks.speed.neighbours``.
"""

import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.metrics import auprc
from benchmarks.protocols import PROTOCOLS, Splits
from benchmarks.provenance import LIBRARIES, provenance
from benchmarks.real.load import each_series
from benchmarks.speed.data import telemetry
from benchmarks.speed.timing import Neighbours
from benchmarks.windows import Windows
from benchmarks.world import TRAINING, World, generate
from smkc.paper.density import Projection, ReferenceSet, reference
from smkc.paper.density.index import CELLS_PER_PROBE, NeighbourIndex, learned_centres
from smkc.paper.density.reference import ELSEWHERE
from smkc.paper.kernel import Representation, map_features, window_starts
from smkc.paper.sketch import Sketch
from smkc.parallel import products_on_one_thread
from smkc.recording import Recording, Scaling

KEPT = Path(__file__).resolve().parents[2] / "results" / "speed" / "neighbours.json"

LENGTH, NEIGHBOURS, QUERIES, EXACT_QUERIES, ROUNDS = 32, 20, 512, 64, 5
SIZES = (100_000, 400_000)
LARGE = SIZES[-1]
SEEDS = (0, 1, 2)
RATE = 0.1
VARIABLES = 16

Vectors = NDArray[np.float32]


def main() -> None:
    """Measure everything and write the result."""
    os.environ["SMKC_THREADS"] = "1"
    others = Neighbours()
    about = provenance(
        *("python -m benchmarks.speed.neighbours", "speed", SEEDS, "cpu"),
        libraries=(*LIBRARIES, "faiss-cpu"),
    )
    with products_on_one_thread():
        found = measured()
    about["others_kept_busy"] = round(others.look(), 2)
    text = json.dumps({"provenance": about, **found}, indent=1) + "\n"
    KEPT.write_text(text, encoding="utf-8")


def measured() -> dict[str, Any]:
    """Return all measurements of our search."""
    points = []
    world = world_vectors(LARGE)
    queries = test_vectors(0)[0]
    for n in SIZES:
        large, point = compare("world, windows apart", world[:n], spread(queries, QUERIES))
        points.append(shown(point))
    effect = [effect_on_auprc(large, seed) for seed in SEEDS]
    difference = np.array([row["approximate"] - row["exact"] for rows in effect for row in rows])
    del large, world
    slid = telemetry(LARGE + LENGTH - 1 + 200_000, VARIABLES, seed=11).recording
    vectors = vectors_of(slid, window_starts(len(slid), LENGTH, 1))
    _, point = compare("telemetry, sliding", vectors[:LARGE], vectors[-QUERIES:])
    points.append(shown(point))
    del vectors, slid
    return {
        "points": points,
        "auprc": {
            "references": LARGE,
            "tests": [row for rows in effect for row in rows],
            "mean_difference": float(difference.mean()),
            "standard_error": float(difference.std(ddof=1) / np.sqrt(len(difference))),
        },
        "real": shown(real()),
    }


def shown(point: dict[str, Any]) -> dict[str, Any]:
    """Print a point and return it."""
    print(json.dumps(point), flush=True)
    return point


# ---------------------------------------------------------------------- vectors


def vectors_of(recording: Recording, starts: NDArray[np.int64]) -> Vectors:
    """(B, 256) vectors that the detector computes from windows."""
    out = np.empty((len(starts), 256), np.float32)
    projection = Projection()

    def keep(part: slice, block: Vectors) -> None:
        out[part] = projection.unit_vectors(block)

    representation = Representation.parse("log3 band(8)")
    for _ in map_features(keep, recording, starts, LENGTH, representation, Sketch()):
        pass
    return out


def of_windows(windows: Windows) -> Vectors:
    """(B, 256) vectors of independent windows."""
    return vectors_of(windows.recording(), windows.starts())


def world_vectors(n: int) -> Vectors:
    """(n, 256) vectors of normal windows of the benchmark, of the training cardinalities."""
    cardinalities = PROTOCOLS["holdout_C"].train
    each = 10_000
    parts = []
    for block in range(-(-n // (each * len(cardinalities)))):
        for cardinality in cardinalities:
            made = generate(
                World(),
                pool=TRAINING,
                n_windows=each,
                cardinality=cardinality,
                length=LENGTH,
                seed=(77, block, cardinality),
            )
            parts.append(of_windows(made))
    return np.concatenate(parts)[:n]


def tests(seed: int) -> Iterator[tuple[int, Windows]]:
    """Yield cardinality and windows of the benchmark's test sets of one seed."""
    for cardinality in PROTOCOLS["holdout_C"].test:
        yield cardinality, Splits(seed=seed, length=LENGTH).test(cardinality, RATE)


def test_vectors(seed: int) -> tuple[Vectors, NDArray[np.bool_]]:
    """Return the vectors of all test windows of one seed, and a mask of the anomalous ones."""
    sets = [windows for _, windows in tests(seed)]
    return (
        np.concatenate([of_windows(windows) for windows in sets]),
        np.concatenate([windows.is_anomalous for windows in sets]),
    )


def spread(vectors: Vectors, n: int) -> Vectors:
    """Return n of the vectors, evenly spaced."""
    return np.ascontiguousarray(vectors[np.linspace(0, len(vectors) - 1, n).astype(int)])


# ---------------------------------------------------------------------- ours


def reference_set(vectors: Vectors) -> ReferenceSet:
    """Return a reference set with exact search."""
    return ReferenceSet(vectors, len(vectors), 2 * len(vectors), np.full(len(vectors), ELSEWHERE))


def compare(data: str, vectors: Vectors, queries: Vectors) -> tuple[ReferenceSet, dict[str, Any]]:
    """Measure one reference set; return it with its index, and the measurements."""
    exact = reference_set(vectors)
    learn, centres = timed(lambda: learned_centres(vectors, 0))
    fill, index = timed(lambda: NeighbourIndex(vectors, centres))
    large = replace(exact, index=index)
    few = queries[:EXACT_QUERIES]
    exact.mean_distance(few, NEIGHBOURS)  # warm-up: allocates memory
    times = []
    for _ in range(ROUNDS):
        of_all, _ = timed(lambda: exact.mean_distance(few, NEIGHBOURS))
        of_likely, _ = timed(lambda: large.mean_distance(queries, NEIGHBOURS))
        one, _ = timed(lambda: [large.mean_distance_of_one(q, NEIGHBOURS) for q in few])
        times.append(np.divide((of_all, of_likely, one), (len(few), len(queries), len(few))))
    slow, quick, alone = np.median(times, axis=0)
    true = nearest(vectors, queries)
    n_candidates = reference.CANDIDATES_PER_NEIGHBOUR * NEIGHBOURS
    found = index.candidates(queries, n_candidates)
    far = large.mean_distance(queries, NEIGHBOURS) / exact.mean_distance(queries, NEIGHBOURS)
    return large, {
        "data": data,
        "references": len(vectors),
        "recall_at_20": recall(found, true),
        "cells": len(centres),
        "cells_searched": len(centres) // CELLS_PER_PROBE,
        "candidates": n_candidates,
        "exact": float(slow),
        "approximate": float(quick),
        "approximate_one_by_one": float(alone),
        "times_faster": float(slow / quick),
        "times_faster_on_two_threads": on_two_threads(large, exact, queries),
        "mean_score_ratio": float(far.mean()),
        "learning_cells": learn,
        "filling_cells": fill,
        "vector_bytes": vectors.nbytes,
    }


def on_two_threads(large: ReferenceSet, exact: ReferenceSet, queries: Vectors) -> float:
    """Return the ratio of wall-clock times, exact to approximate, with 2 threads."""
    halves = np.array_split(queries, 2)
    few = np.array_split(queries[:EXACT_QUERIES], 2)
    with ThreadPoolExecutor(2) as pool:

        def wall(search: Callable[[Vectors, int], Any], parts: list[Vectors]) -> float:
            start = perf_counter()
            list(pool.map(lambda part: search(part, NEIGHBOURS), parts))
            return (perf_counter() - start) / sum(map(len, parts))

        slow_way, quick_way = exact.mean_distance, large.mean_distance
        wall(slow_way, few)
        times = [(wall(slow_way, few), wall(quick_way, halves)) for _ in range(ROUNDS)]
    slow, quick = np.median(times, axis=0)
    return float(slow / quick)


def effect_on_auprc(large: ReferenceSet, seed: int) -> list[dict[str, float]]:
    """Return the AUPRC of both searches on each of the benchmark's test sets of one seed."""
    exact = reference_set(large.vectors)
    rows = []
    for cardinality, windows in tests(seed):
        vectors = of_windows(windows)
        row = {
            "seed": seed,
            "cardinality": cardinality,
            "exact": auprc(windows.is_anomalous, exact.mean_distance(vectors, NEIGHBOURS)),
            "approximate": auprc(windows.is_anomalous, large.mean_distance(vectors, NEIGHBOURS)),
        }
        rows.append(shown(row))
    return rows


def real() -> dict[str, Any]:
    """Return the same for windows of the Server Machine Dataset (SMD).

    Reference windows slide by 1 row, test windows by 8 rows.
    """
    references, tests, truths = [], [], []
    for series in each_series("smd"):
        scaling = Scaling.fit(series.reference)
        prepared = scaling.start().scale(series.reference)
        references.append(vectors_of(prepared, window_starts(len(prepared), LENGTH, 1)))
        prepared = scaling.start().scale(series.test)
        starts = window_starts(len(prepared), LENGTH, 8)
        tests.append(vectors_of(prepared, starts))
        truths.append(np.array([series.labels[s : s + LENGTH].any() for s in starts]))
    vectors = np.concatenate(references)
    large, point = compare("SMD, sliding", vectors, spread(np.concatenate(tests), QUERIES))
    exact = reference_set(vectors)
    point["auprc"] = [
        {
            "exact": auprc(truth, exact.mean_distance(queries, NEIGHBOURS)),
            "approximate": auprc(truth, large.mean_distance(queries, NEIGHBOURS)),
        }
        for queries, truth in zip(tests, truths, strict=True)
    ]
    return point


def nearest(vectors: Vectors, queries: Vectors) -> NDArray[np.int64]:
    """(B, 20) indices of the true nearest neighbours, computed for 64 windows at a time."""
    parts = []
    for first in range(0, len(queries), 64):
        similarities = queries[first : first + 64] @ vectors.T
        parts.append(np.argpartition(-similarities, NEIGHBOURS, axis=1)[:, :NEIGHBOURS])
    return np.concatenate(parts)


def recall(found: NDArray[np.int64], true: NDArray[np.int64]) -> float:
    """Return the mean share of the true nearest neighbours that were found."""
    shares = [len(set(a) & set(b)) / len(b) for a, b in zip(found, true, strict=True)]
    return float(np.mean(shares))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of one call, and its result."""
    start = process_time()
    result = work()
    return process_time() - start, result


if __name__ == "__main__":
    main()
