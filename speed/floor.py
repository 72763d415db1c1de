"""The floor of the sliding band scan: what the hardware allows, and how far from it each stage is.

In: nothing. Out: ``results/speed/floor.json`` and a table on the terminal: for each stage the
bytes, multiply-adds, comparisons and logarithms of one window, the seconds that these take at the
rates which the machine reached in the same run, and the seconds that the stage took. One thread,
processor seconds, the best of several. Run it with ``python -m speed.floor``.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from smkc.bench.provenance import provenance
from smkc.density import Projection, ReferenceSet
from smkc.kernel import Representation, map_features, window_starts
from smkc.kernel._loops import _span_states
from smkc.kernel._pairs import PADDING
from smkc.kernel._select import COUNTED
from smkc.parallel import products_on_one_thread
from smkc.sketch import Sketch
from speed import _floor_loops as loops
from speed.data import telemetry
from speed.timing import Neighbours

KEPT = Path(__file__).resolve().parent.parent / "results" / "speed" / "floor.json"

LENGTH, LAGS, CHANNELS, VARIABLES, COMPONENTS, REFERENCES = 64, 8, 3, 16, 256, 4096
WINDOWS = 512  # as many as a block of the scan has, so that caches are as full
ROUNDS = 40


def main() -> None:
    """Measure rates and stages, print and write them."""
    os.environ["SMKC_THREADS"] = "1"
    others = Neighbours()
    about = provenance("python -m speed.floor", "speed", [], "cpu")
    with products_on_one_thread():
        rates = machine_rates()
        stages, features = measured_stages()
    table = []
    for name, (work, took) in stages.items():
        floor = sum(amount / rates[kind] for kind, amount in work.items())
        table.append({"stage": name, "work": work, "floor": floor, "took": took})
    band = [row for row in table if row["stage"] in ("states", "pairs", "medians", "logarithms")]
    floor = sum(row["floor"] for row in band)
    table.append({"stage": "band features", "work": {}, "floor": floor, "took": features})
    for row in table:
        row["multiple"] = row["took"] / row["floor"]
        print(
            f"{row['stage']:14} floor {1e9 * row['floor']:8.0f} ns, took {1e9 * row['took']:8.0f} "
            f"ns, {row['multiple']:5.2f} x   {row['work']}"
        )
    about["others_kept_busy"] = round(others.look(), 2)
    found = {"provenance": about, "rates": rates, "stages": table}
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    KEPT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def best(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Processor seconds of the least disturbed call."""
    work()
    times = []
    for _ in range(rounds):
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times)


def machine_rates() -> dict[str, float]:
    """How much of each kind of work one core does in a second, at its best."""
    few = np.linspace(0.1, 3.0, 2048).astype(np.float32)
    out = np.empty_like(few)
    square = np.random.default_rng(0).normal(size=(1024, 1024)).astype(np.float32)
    product = np.empty_like(square)
    large, copy = np.ones(2**25, np.float32), np.empty(2**25, np.float32)
    rates = {
        "multiply-adds": max(
            8 * 200 * few.size / best(lambda: loops.multiply_adds(few.copy(), 200)),
            square.size * 1024 / best(lambda: np.matmul(square, square, out=product), 10),
        ),
        "comparisons": 500
        * few.size
        / best(lambda: loops.counted(few.view(np.int32), np.int32(1_070_000_000), 500)),
        "logarithms": 200 * few.size / best(lambda: loops.logs_alone(few, out, 200)),
        "bytes": 2 * large.nbytes / best(lambda: np.copyto(copy, large), 5),
    }
    for kind, rate in rates.items():
        print(f"{kind:14} {rate / 1e9:.2f} G/s")
    return rates


def measured_stages() -> tuple[dict[str, tuple[dict[str, float], float]], float]:
    """By stage, the work of one window and the seconds it took; and those of all band features."""
    sketch, representation = Sketch(), Representation.parse("log3 band(8)")
    recording = telemetry(WINDOWS + LENGTH - 1, VARIABLES, seed=2).recording
    starts = window_starts(len(recording), LENGTH, 1)
    rows = sketch.hashed(recording)
    none = np.empty((sketch.width, 0), np.float32)
    states = _span_states(rows, 0, len(recording), none, 1)
    pairs = np.empty((3, LAGS, states.shape[1]), np.float32)
    squares = np.empty(states.shape[1], np.float32)
    buffer = np.empty(LAGS * LENGTH + 2 * COUNTED, np.float32)
    medians = np.empty((3, WINDOWS))
    out = np.empty((WINDOWS, CHANNELS, LAGS, LENGTH), np.float32)
    projection = Projection(components=COMPONENTS)
    loops.pairs_of(states, pairs, squares)
    n = loops.gathered(pairs, squares, WINDOWS, LENGTH, buffer)
    copying = best(lambda: loops.gathered(pairs, squares, WINDOWS, LENGTH, buffer))
    took: dict[str, Any] = {
        "states": best(lambda: _span_states(rows, 0, len(recording), none, 1)),
        "pairs": best(lambda: loops.pairs_of(states, pairs, squares)),
        "medians": best(
            lambda: loops.gathered_medians(pairs, squares, WINDOWS, LENGTH, buffer, medians)
        ),
        "logarithms": best(lambda: loops.logs_of(buffer, n, WINDOWS, LAGS, LENGTH, out)),
    }
    flat = np.random.default_rng(1).random((WINDOWS, out[0].size)).astype(np.float32)
    vectors = projection.unit_vectors(flat)
    stored = ReferenceSet(
        *(np.resize(vectors, (REFERENCES, COMPONENTS)), REFERENCES, REFERENCES),
        np.zeros(REFERENCES, np.int64),
    )
    took["projection"] = best(lambda: projection.unit_vectors(flat))
    took["neighbours"] = best(lambda: stored.mean_distance(vectors, 20))

    def features() -> None:
        for _ in map_features(
            lambda part, block: None, recording, starts, LENGTH, representation, sketch
        ):
            pass

    n_columns, n_rows = states.shape[0], len(recording)
    share = n_rows / WINDOWS
    n_pairs = CHANNELS * LAGS * n_columns
    n_kept = CHANNELS * n
    work: dict[str, dict[str, float]] = {
        "states": {
            "multiply-adds": 2 * recording.n_observations / WINDOWS,
            "bytes": 8 * recording.n_observations / WINDOWS + 4 * n_columns * share,
        },
        # A difference and a multiply-add for each bucket, lag and sequence.
        "pairs": {"multiply-adds": 2 * n_pairs * share},
        # No median without one look at every number.
        "medians": {"comparisons": n_kept},
        "logarithms": {"logarithms": n_kept, "bytes": 4 * CHANNELS * LAGS * LENGTH},
        "projection": {"multiply-adds": out[0].size * COMPONENTS},
        "neighbours": {"multiply-adds": REFERENCES * COMPONENTS, "comparisons": REFERENCES},
    }
    print(f"{n_columns} buckets in use of {sketch.width}, {PADDING} steps of padding")
    print(f"gathering, part of the medians: {1e9 * copying / WINDOWS:.0f} ns")
    found = {name: (work[name], took[name] / WINDOWS) for name in work}
    return found, best(features) / WINDOWS


if __name__ == "__main__":
    main()
