"""Ray against one process: the same file scored both ways, the cluster's start aside.

In: sizes. Out: one line of JSON. Run it with ``python -m benchmarks.speed.scale_ray --workers 4``
(10 million observations, some minutes).
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

import psutil

from benchmarks.provenance import circumstances
from benchmarks.speed.scale_data import fitted, write
from benchmarks.speed.scale_options import parser, told
from smkc.scale import RayCluster, score_file


def measured(asked: argparse.Namespace) -> dict[str, object]:
    """Score one file in this process and on Ray, in turns; compare times and output bytes.

    CPU seconds include all processes of the measurement and no others. The first round, in which
    every process loads its compiled loops, is not counted.
    """
    here: list[tuple[float, float]] = []
    there: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory(dir=asked.folder, prefix="smkc-scale-") as folder:
        source = Path(folder) / "live.parquet"
        write(source, asked.form, asked.entities, asked.rows, asked.variables)
        detector = fitted(asked.detector, asked.variables)
        entity = "host" if asked.entities > 1 else None
        one, other = Path(folder) / "here.parquet", Path(folder) / "there.parquet"
        started = perf_counter()
        with RayCluster(workers=asked.workers) as cluster:
            starting = perf_counter() - started
            names = cluster.processes()
            workers = [psutil.Process(int(name.rpartition(":")[2])) for name in names]
            ours = [psutil.Process(), *workers]
            for _ in range(asked.times + 1):
                for kept, score, out in (
                    (here, score_file, one),
                    (there, cluster.score_file, other),
                ):
                    before, started = _processor(ours), perf_counter()
                    score(source, detector, out, entity=entity)
                    kept.append((perf_counter() - started, _processor(ours) - before))
        is_same = one.read_bytes() == other.read_bytes()
    here, there = here[1:], there[1:]
    return {
        **told(asked),
        "workers": asked.workers,
        "start_s": round(starting, 1),
        "local_s": [round(seconds, 1) for seconds, _ in here],
        "ray_s": [round(seconds, 1) for seconds, _ in there],
        "local_processor_s": [round(seconds, 1) for _, seconds in here],
        "ray_processor_s": [round(seconds, 1) for _, seconds in there],
        "overhead": round(_median(there, 0) / _median(here, 0) - 1, 3),
        "processor_overhead": round(_median(there, 1) / _median(here, 1) - 1, 3),
        "same_bytes": is_same,
    }


def _processor(processes: list[psutil.Process]) -> float:
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def _median(rounds: list[tuple[float, float]], which: int) -> float:
    return median(pair[which] for pair in rounds)


def main() -> None:
    """Run the measurement that the options select and print it."""
    options = parser(__doc__, form="long", rows=10_000, entities=20)
    options.add_argument("--workers", type=int, default=4)
    options.add_argument("--times", type=int, default=3)
    asked = options.parse_args()
    where = circumstances(" ".join(["python -m benchmarks.speed.scale_ray", *sys.argv[1:]]))
    print(json.dumps(where | measured(asked)))


if __name__ == "__main__":
    main()
