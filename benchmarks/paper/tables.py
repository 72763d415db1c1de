"""All tables of the paper's benchmark: the jobs that each reads, and the function that makes it.

In: the names of tables and a plan. Out: files of scores, then of tables and pictures.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from benchmarks.baselines.device import check_device
from benchmarks.paper.ablation import (
    ablation,
    ablation_jobs,
    ablation_tuned,
    ablation_tuned_jobs,
)
from benchmarks.paper.album import draw
from benchmarks.paper.concentration import concentration
from benchmarks.paper.contradictions import contradiction_jobs, contradictions
from benchmarks.paper.diagnostic_table import diagnostic
from benchmarks.paper.end_to_end import end_to_end, time_end_to_end
from benchmarks.paper.hash_width import hash_width, hash_width_jobs
from benchmarks.paper.jobs import run
from benchmarks.paper.likeness import likeness, likeness_jobs
from benchmarks.paper.main_tables import average, cardinality, main_jobs, rate, types
from benchmarks.paper.plan import Plan
from benchmarks.paper.record import check_record, write_record
from benchmarks.paper.scaling import scaling, scaling_jobs
from benchmarks.paper.scores import Job
from benchmarks.paper.seeds import seeds, seeds_jobs
from benchmarks.paper.stages import stages, time_stages
from benchmarks.paper.timing import time_representations
from benchmarks.provenance import provenance
from benchmarks.report import Outcome, write_table
from benchmarks.table import Table

__all__ = ["TABLES", "run_tables"]


@dataclass(frozen=True)
class TableMaker:
    """The jobs that a table reads, the function that makes it, and its number of seeds."""

    jobs: Callable[[Plan], list[Job]]
    make: Callable[[Plan], Table]
    seeds: Callable[[Plan], int] = attrgetter("seeds")


def _no_jobs(plan: Plan) -> list[Job]:
    return []


def _one_seed(plan: Plan) -> int:
    return 1


TABLES = {
    "average": TableMaker(main_jobs, average),
    "cardinality": TableMaker(main_jobs, cardinality),
    "rate": TableMaker(main_jobs, rate),
    "types": TableMaker(main_jobs, types),
    "likeness": TableMaker(likeness_jobs, likeness),
    "hash-width": TableMaker(hash_width_jobs, hash_width, attrgetter("hash_width_seeds")),
    "scaling": TableMaker(scaling_jobs, scaling, attrgetter("scaling_seeds")),
    "ablation": TableMaker(ablation_jobs, ablation),
    "ablation-tuned": TableMaker(ablation_tuned_jobs, ablation_tuned),
    "contradictions": TableMaker(contradiction_jobs, contradictions),
    "seeds": TableMaker(seeds_jobs, seeds, attrgetter("paired_seeds")),
    "end-to-end": TableMaker(_no_jobs, end_to_end, _one_seed),
    "diagnostic": TableMaker(_no_jobs, diagnostic, _one_seed),
    "concentration": TableMaker(_no_jobs, concentration, _one_seed),
    "stages": TableMaker(_no_jobs, stages, _one_seed),
}

# Tables with measured times, and the prefix of the files that hold them.
TIMINGS = {"scaling": "timing", "end-to-end": "end-to-end", "stages": "stages"}


def run_tables(
    names: Sequence[str], plan: Plan, command: str, *, record: Path | None = None
) -> Outcome:
    """Run the missing jobs of the tables, then make the tables from the scores.

    Tables show only methods whose scores are complete. If the settings name a record to read,
    nothing is run. With ``record``, the scores and measured times that the tables read are also
    written to that folder.
    """
    settings = plan.settings
    check_device(settings.device)
    made = provenance(command, settings.budget.name, range(plan.seeds), settings.device)
    jobs = list(dict.fromkeys(job for name in names for job in TABLES[name].jobs(plan)))
    n_left = 0
    if settings.record is not None:
        check_record(settings.record)
    else:
        n_left = run(jobs, settings)
        if "scaling" in names:
            time_representations(settings)
        if "end-to-end" in names:
            time_end_to_end(settings)
        if "stages" in names:
            time_stages(settings)
    tables = [TABLES[name].make(plan) for name in names]
    folder = settings.folder
    files: list[Path] = []
    for name, table in zip(names, tables, strict=True):
        own = {**made, "seeds": list(range(TABLES[name].seeds(plan)))}
        files += write_table(table, own, folder)
    files += draw(tables, plan, folder)
    if record is not None:
        found = {job: scores for job in jobs if (scores := settings.read(job)) is not None}
        timings = [
            path
            for name, stem in TIMINGS.items()
            if name in names
            for path in settings.timings_folder.glob(f"{stem}-*.json")
        ]
        files += write_record(record, found, settings.budget, timings)
    return Outcome(tables, files, n_left)
