"""Files larger than memory: how long they take in pieces, and how much memory.

In: sizes. Out: one line of JSON. Run it with ``python -m benchmarks.speed.scale_pieces --variables
1000 --rows 1000000 --detector knn`` (1 billion observations); the file is written to a folder that
is removed.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from benchmarks.provenance import circumstances
from benchmarks.speed.scale_data import fitted, write
from benchmarks.speed.scale_options import parser, told
from smkc.loading import load
from smkc.scale import score_file


def measured(asked: argparse.Namespace) -> dict[str, object]:
    """Write the file, then score it in a fresh process, so that peak memory is that of scoring."""
    with tempfile.TemporaryDirectory(dir=asked.folder, prefix="smkc-scale-") as folder:
        source, model = Path(folder) / "live.parquet", Path(folder) / "model.smkc"
        started = perf_counter()
        write(source, asked.form, asked.entities, asked.rows, asked.variables)
        writing = perf_counter() - started
        fitted(asked.detector, asked.variables).save(model)
        entity = "host" if asked.entities > 1 else ""
        command = [sys.executable, "-m", "benchmarks.speed.scale_pieces", "--score", str(source)]
        command += ["--model", str(model), "--entity", entity]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        return {
            **told(asked),
            "file_gb": round(source.stat().st_size / 1e9, 3),
            "writing_s": round(writing, 1),
            **json.loads(done.stdout),
        }


def scored(source: str, model: str, entity: str | None) -> dict[str, object]:
    """Score a file; return the time and the peak memory of this process."""
    detector = load(model)
    started = perf_counter()
    with tempfile.TemporaryDirectory(dir=Path(source).parent) as folder:
        summary = score_file(source, detector, Path(folder) / "out.parquet", entity=entity)
    seconds = perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    processor = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "scored": summary.observations,
        "seconds": round(seconds, 1),
        "processor_s": round(processor.ru_utime + processor.ru_stime, 1),
        "observations_per_second": round(summary.observations / seconds),
        "peak_gb": round(peak / 1e9, 3),
    }


def main() -> None:
    """Run the measurement that the options select and print it."""
    options = parser(__doc__, form="wide", rows=100_000, entities=1)
    options.set_defaults(variables=100)
    options.add_argument("--score", help=argparse.SUPPRESS)
    options.add_argument("--model", help=argparse.SUPPRESS)
    options.add_argument("--entity", help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.score:
        print(json.dumps(scored(asked.score, asked.model, asked.entity or None)))
        return
    where = circumstances(" ".join(["python -m benchmarks.speed.scale_pieces", *sys.argv[1:]]))
    print(json.dumps(where | measured(asked)))


if __name__ == "__main__":
    main()
