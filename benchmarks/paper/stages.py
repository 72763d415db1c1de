"""The table of stages: where RandProj-kNN spends its time, by representation and by hash width.

In: measurements taken on the CPU and stored beside the scores. Out: a table.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.baselines.randproj_knn import RandProjKnn
from benchmarks.paper.hash_width import WIDTHS
from benchmarks.paper.jobs import RunSettings
from benchmarks.paper.methods import SCALING_METHODS
from benchmarks.paper.plan import Plan
from benchmarks.paper.timing import LENGTH, PROTOCOL, RATE
from benchmarks.protocols import Splits
from benchmarks.provenance import provenance
from benchmarks.table import Cell, Row, Table
from benchmarks.windows import Windows
from smkc import progress
from smkc.paper.kernel import Representation, features
from smkc.paper.sketch import Sketch

__all__ = ["stages", "time_stages"]

MAIN_WIDTH = 128
REPEATS = 9
STAGES = ("sketch and compare", "project", "search")
COLUMNS = ("sketch and compare s", "project s", "search s", "project and search s")


def time_stages(settings: RunSettings) -> None:
    """Measure every representation, and the full image at every width, unless already measured."""
    path = _path(settings)
    if path.exists():
        return
    splits = Splits(seed=0, length=LENGTH, sizes=settings.budget.sizes)
    train = splits.train(PROTOCOL)
    test = Windows.concat([splits.test(cardinality, RATE) for cardinality in PROTOCOL.test])
    wanted = {
        method.name: (method.representation, MAIN_WIDTH) for method in SCALING_METHODS.values()
    }
    wanted |= {_row_of(buckets): ("full image", buckets) for buckets in WIDTHS}
    found: dict[str, Any] = {}
    with progress.task("timing of stages", len(wanted)) as advance:
        for name, (representation, buckets) in wanted.items():
            found[name] = _timed(train, test, representation, buckets)
            advance(1)
    made = provenance("timing", settings.budget.name, [0], "cpu")
    content = {"windows": len(test), "references": len(train), "stages": found, "machine": made}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def stages(plan: Plan) -> Table:
    """Return the table of seconds per stage."""
    title = f"RandProj-kNN stage by stage, {PROTOCOL.name}, L = {LENGTH}"
    try:
        content = json.loads(_path(plan.settings).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return Table("stages", title, COLUMNS, (), ("Not measured yet.",))
    rows = []
    for group, names in (
        ("by representation, m = 128", [method.name for method in SCALING_METHODS.values()]),
        ("by hash width m, full image", [_row_of(buckets) for buckets in WIDTHS]),
    ):
        for name in names:
            seconds = [content["stages"][name][stage] for stage in STAGES]
            cells = [Cell(each) for each in (*seconds, seconds[1] + seconds[2])]
            rows.append(Row(name, tuple(cells), group=group))
    made = content["machine"]
    notes = (
        f"{content['windows']} windows against {content['references']} references, processor "
        f"seconds of all threads, least of {REPEATS}: {made['machine']}, commit "
        f"{made['commit']}, {made['date'][:10]}.",
        "The paper's scoring stage is project and search. It has no table of stages.",
    )
    return Table("stages", title, COLUMNS, tuple(rows), notes)


def _timed(train: Windows, test: Windows, representation: str, buckets: int) -> dict[str, float]:
    sketch = Sketch(buckets=buckets)
    with progress.quiet():
        density = (
            RandProjKnn(window=LENGTH, representation=representation, sketch=sketch)
            .fit(train)
            .density_
        )
    recording, starts = test.recording(), test.starts()
    parsed = Representation.parse(representation)

    def compare() -> Any:
        return features(recording, starts, LENGTH, parsed, sketch)

    made = compare()
    vectors = density.projection.unit_vectors(made)
    return {
        "sketch and compare": _least(compare),
        "project": _least(lambda: density.projection.unit_vectors(made)),
        "search": _least(lambda: density.references.mean_distance(vectors, density.neighbours)),
    }


def _least(work: Callable[[], object]) -> float:
    """Return the least CPU seconds of several runs, all threads added.

    CPU time depends little on other programs, unlike wall-clock time.
    """
    work()  # compile, fill caches
    times = []
    for _ in range(REPEATS):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def _row_of(buckets: int) -> str:
    return f"m = {buckets}"


def _path(settings: RunSettings) -> Path:
    return settings.timings_folder / "stages-cpu.json"
