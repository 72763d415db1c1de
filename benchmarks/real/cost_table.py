"""The table of costs: processor time per method.

In: figures. Out: a table of runs and seconds.
"""

from benchmarks.real.methods import STAGES
from benchmarks.real.plan import Figures, stage_of
from benchmarks.table import Cell, Row, Table

__all__ = ["cost"]


def cost(figures: Figures) -> Table:
    """Return the table of costs, the most expensive method first."""
    sums: dict[str, dict[str, float]] = {}
    counts: dict[str, int] = {}
    commits: set[str] = set()
    for job, measured in figures.found.items():
        of_method = sums.setdefault(job.row.name, dict.fromkeys(STAGES, 0.0))
        of_method[stage_of(job.condition)] += measured.cpu_seconds
        counts[job.row.name] = counts.get(job.row.name, 0) + 1
        commits.add(measured.commit)
    order = sorted(sums, key=lambda name: -sum(sums[name].values()))
    rows = [_row(name, counts[name], sums[name]) for name in order]
    total = {stage: sum(each[stage] for each in sums.values()) for stage in STAGES}
    rows.append(_row("all", sum(counts.values()), total))
    minutes = sum(total.values()) / 60
    return Table(
        "cost",
        "Seconds of processor time",
        ("runs", *STAGES, "all"),
        tuple(rows) if sums else (),
        (
            f"Fitting and scoring took {minutes:.1f} minutes of one processor in all: "
            f"{minutes / 2:.1f} minutes on two. Reading files and metrics are not in it.",
            f"Scores were made by commit {', '.join(sorted(commits))}.",
        ),
    )


def _row(name: str, n_runs: int, by_stage: dict[str, float]) -> Row:
    seconds = [Cell(by_stage[stage]) for stage in STAGES]
    return Row(name, (Cell(float(n_runs)), *seconds, Cell(sum(by_stage.values()))))
