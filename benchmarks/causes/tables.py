"""The table of the cause benchmark, and the run that makes it.

In: methods, datasets and a folder. Out: files: rankings, then a table and a picture.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan
from pathlib import Path

import numpy as np

from benchmarks.causes.cases import DELAYS
from benchmarks.causes.jobs import LEVELS, CauseJob, Figures, figures_of, run_jobs
from benchmarks.causes.methods import Method
from benchmarks.causes.picture import cause_figure
from benchmarks.provenance import provenance
from benchmarks.real.jobs import check_datasets
from benchmarks.report import Outcome, save_png, write_table
from benchmarks.running import Failed
from benchmarks.table import Cell, Row, Table

__all__ = ["CausePlan", "cause_table", "run_tables"]

ALL = "mean of the datasets"
WHEN = {0: "true time", 60: "60 s late"}
WHAT = {"avg": "Avg@5", "top": "top-1"}
DIGITS = 3
LIBRARIES = ("smkc", "numpy", "numba")

NOTES = (
    "Avg@5: mean over k = 1 to 5 of the share of faults with a responsible variable (or service) "
    "among the first k. Top-1: share of faults with one first.",
    "Every method is told the cut, at the true start of the fault or 60 s later, and explains the "
    "rows from there to the fault's end. Faults that are over 60 s after their start are left out "
    "of the late columns; the number of faults is in brackets, true time and late.",
    "BARO: median and interquartile range of the normal rows, the largest distance above them in "
    "the rows to explain (RobustScorer; Pham et al., FSE 2024, as in RCAEval: falls do not count, "
    "variables that are constant in either part are left out, memory in megabytes). N-Sigma: the "
    "same with mean and standard deviation. Normal rows are the reference and the live rows before "
    "the cut without earlier faults; when late, the first 60 s of the fault are among them.",
    "BARO, reference only: the same with the reference alone for normal, which is what the default "
    "learns from. smkc, default: fitted on the reference, it has watched all live rows and ranks "
    "by Detector.explain from the cut on. Own onset: from the first row of its own alert, where "
    "one covers the cut or ended within 20 rows before it.",
    "petshop and nezha name a node or pod as the cause: all of its metrics are responsible, so "
    "that metric and service level say nearly the same. smd has no services, and several "
    "responsible variables per fault. Chance: variables (services) named at random.",
    "Published for BARO on sock shop (RCAEval, table 5, service level, Avg@5, fault time known): "
    ".99 for processor and .99 for memory faults; N-Sigma .98 and .99. rcd-sockshop here has 29 of "
    "the 50 faults, with values rounded.",
)


@dataclass(frozen=True, kw_only=True)
class CausePlan:
    """Methods and datasets to run, and the folder of the files."""

    methods: Sequence[Method]
    datasets: Sequence[str]
    folder: Path
    processes: int = 1
    stop_after: float | None = None

    @property
    def jobs(self) -> list[CauseJob]:
        """Every method on every dataset, grouped by method."""
        return [CauseJob(method.key, name) for method in self.methods for name in self.datasets]


Found = dict[CauseJob, dict[int, Figures]]


def run_tables(plan: CausePlan, command: str) -> Outcome:
    """Run the jobs that have no results yet, then make the table and the picture from all results.

    If jobs fail, both are made from the others before the error is raised.
    """
    check_datasets(plan.datasets)
    made = provenance(command, "all recordings", [0], "cpu", libraries=LIBRARIES)
    failure, n_left = None, 0
    try:
        n_left = run_jobs(
            plan.jobs, plan.folder, processes=plan.processes, stop_after=plan.stop_after
        )
    except Failed as error:
        failure = error
    found = {job: kept for job in plan.jobs if (kept := figures_of(job, plan.folder)) is not None}
    tables: list[Table] = []
    files: list[Path] = []
    if found:
        tables.append(cause_table(plan, found))
        files += write_table(tables[0], made, plan.folder)
        files.append(save_png(cause_figure(tables[0]), plan.folder / "causes.png"))
    if failure is not None:
        raise failure
    return Outcome(tables, files, n_left)


def cause_table(plan: CausePlan, found: Found) -> Table:
    """Return Avg@5 and top-1 of every method: means over the datasets, then each dataset."""
    columns = tuple(
        f"{level} {WHAT[what]}, {WHEN[delay]}"
        for delay in DELAYS
        for level in LEVELS
        for what in WHAT
    )
    rows = []
    for method in plan.methods:
        some = [found.get(CauseJob(method.key, name)) for name in plan.datasets]
        if all(one is not None for one in some) and len(some) > 1:
            cells = np.array([_cells(one) for one in some if one is not None])
            rows.append(_row(method.name, [_mean(column) for column in cells.T], ALL))
    for name in plan.datasets:
        known = {m.name: found.get(CauseJob(m.key, name)) for m in plan.methods}
        figures = [one for one in known.values() if one is not None]
        if not figures:
            continue
        group = f"{name} ({', '.join(str(int(figures[0][delay]['n'])) for delay in DELAYS)})"
        rows += [_row(method, _cells(one), group) for method, one in known.items() if one]
        rows.append(_row("chance", _cells(figures[0], "chance "), group))
    title = "Causes: Avg@5 and top-1 of what is blamed, by variable and by service"
    return Table("causes", title, columns, tuple(rows), NOTES)


def _row(name: str, values: Sequence[float], group: str) -> Row:
    return Row(name, tuple(Cell(round(value, DIGITS)) for value in values), None, group)


def _cells(figures: dict[int, Figures], of: str = "") -> list[float]:
    """Return the cells of a row, in the order of the columns."""
    return [
        figures[delay][f"{level} {of}{what}"]
        for delay in DELAYS
        for level in LEVELS
        for what in WHAT
    ]


def _mean(values: np.ndarray) -> float:
    """Return the mean over the datasets that have the figure; NaN if none has."""
    some = [float(value) for value in values if not isnan(value)]
    return float(np.mean(some)) if some else nan
