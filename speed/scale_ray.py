"""Ray against one process: the same file scored both ways, the cluster's start aside.

In: sizes. Out: one line of JSON. Run it with ``python -m speed.scale_ray --workers 4`` (10 million
observations, some minutes).
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from smkc.scale import RayCluster, score_file
from speed.report import circumstances
from speed.scale_data import fitted, write


def measured(asked: argparse.Namespace) -> dict[str, object]:
    """Score one file here and on Ray, in turn, and compare the bytes."""
    here, there = [], []
    with tempfile.TemporaryDirectory(dir=asked.folder, prefix="smkc-scale-") as folder:
        source = Path(folder) / "live.parquet"
        write(source, asked.form, asked.entities, asked.rows, asked.variables)
        detector = fitted(asked.detector, asked.variables)
        entity = "host" if asked.entities > 1 else None
        one, other = Path(folder) / "here.parquet", Path(folder) / "there.parquet"
        started = perf_counter()
        with RayCluster(workers=asked.workers) as cluster:
            starting = perf_counter() - started
            for _ in range(asked.times):
                for kept, score, out in (
                    (here, score_file, one),
                    (there, cluster.score_file, other),
                ):
                    started = perf_counter()
                    score(source, detector, out, entity=entity)
                    kept.append(perf_counter() - started)
        is_same = one.read_bytes() == other.read_bytes()
    return {
        "observations": asked.rows * asked.variables * asked.entities,
        "detector": asked.detector,
        "form": asked.form,
        "entities": asked.entities,
        "variables": asked.variables,
        "workers": asked.workers,
        "start_s": round(starting, 1),
        "local_s": [round(seconds, 1) for seconds in here],
        "ray_s": [round(seconds, 1) for seconds in there],
        "overhead": round(min(there) / min(here) - 1, 3),
        "same_bytes": is_same,
    }


def main() -> None:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--variables", type=int, default=50)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--entities", type=int, default=20)
    parser.add_argument("--detector", default="evidence")
    parser.add_argument("--form", default="long", choices=["wide", "long"])
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--times", type=int, default=2)
    parser.add_argument("--folder", default=None)
    asked = parser.parse_args()
    where = circumstances() | {"command": " ".join(["python -m speed.scale_ray", *sys.argv[1:]])}
    print(json.dumps(where | measured(asked)))


if __name__ == "__main__":
    main()
