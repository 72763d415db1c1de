"""Tables of the alert benchmark, and the run that makes them.

In: methods, datasets and a folder. Out: files: scores and alerts, then two tables and a picture.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from pathlib import Path

import numpy as np

from benchmarks.alerts.columns import DATASETS, DEMO, LABELLED, OWN, QUIET, columns
from benchmarks.alerts.jobs import AlertJob, Measures, measured, run_jobs
from benchmarks.alerts.left_out import choices_left_out
from benchmarks.alerts.methods import LEFT_OUT, Method
from benchmarks.alerts.picture import alert_figure
from benchmarks.provenance import provenance
from benchmarks.real.jobs import check_datasets
from benchmarks.real.plan import Column
from benchmarks.report import Outcome, save_png, write_table
from benchmarks.running import Failed
from benchmarks.table import Cell, Row, Table

__all__ = [
    "AlertPlan",
    "dataset_table",
    "headlines",
    "left_out_table",
    "run_tables",
    "summary_table",
]

COUNTS = {"n_events": "events", "n_found": "found", "n_false": "false alerts"}
MEANS = {
    "recall": "recall",
    "opened": "begun at it",
    "false_per_1000": "false per 1,000 rows",
    "false_per_day": "false per day",
    "alerted": "normal rows alerted",
    "r1k": "R1k",
    "named_first": "named first",
    "named_three": "among three",
    "delay": "delay, rows",
}

NOTES = (
    "recall: share of events with an alert between their start and 10 rows after their end.",
    "An alert that never ends finds every later event and is not false. Two columns show it. "
    "Begun at it: share of events at which an alert began, from 20 rows before to 10 after. "
    "Normal rows alerted: share of normal rows within any alert.",
    "False alerts touch no event, from 2 rows before it to 10 after; they are counted per normal "
    "row.",
    "R1k: recall of the score at the best threshold with at most one false episode per 1,000 "
    "normal rows. It tells a bad score from a bad threshold.",
    "Named: share of the events found whose first alert names a responsible variable, or another "
    "of its service, first or among three.",
    "Delay: median of the rows from an event's start to the first row of its alert.",
    "A dataset's figure is the mean of its recordings; events, found and false alerts are counts.",
    "hostwatch, shop-1, cache-1, pipeline-1 and demo (the demo's fleet, 20 seeds, 4 planted "
    "incidents each) are the project's own and in no mean; nor are recordings given as folders. "
    "Quiet recordings count for false alerts only.",
    "petshop has no normal rows (every row is near an event), so that its false alerts are 0 and "
    "its R1k is 1 whatever the method. At least one false episode per recording is allowed in R1k, "
    "so that it says little where recordings are short: random scores have 1 on rcd-sockshop and "
    "skab too.",
    "dbsherlock, jumpstarter and skab do not say which variables are responsible. Most of asd's "
    "variables are, so that naming one is easy there.",
    f"Left out because they are slow, or another form of a row shown: {', '.join(LEFT_OUT)}.",
)

# Digits after the decimal point.
DIGITS = 3

LIBRARIES = ("smkc", "numpy", "numba", "scikit-learn")


@dataclass(frozen=True, kw_only=True)
class AlertPlan:
    """Methods and datasets to run, and the folder of the files."""

    methods: Sequence[Method]
    datasets: Sequence[str]
    folder: Path
    processes: int = 1
    stop_after: float | None = None

    @property
    def columns(self) -> list[Column]:
        """Columns of the datasets, in order."""
        return columns(self.datasets)

    @property
    def jobs(self) -> list[AlertJob]:
        """Every method on every column, grouped by method."""
        return [AlertJob(method.key, column) for method in self.methods for column in self.columns]


Figures = dict[tuple[str, Column], Measures]


def run_tables(plan: AlertPlan, command: str) -> Outcome:
    """Run the jobs that have no results yet, then make tables from all results.

    If jobs fail, the tables are made from the others before the error is raised.
    """
    check_datasets([name for name in plan.datasets if name != DEMO])
    made = provenance(command, "all recordings", [0], "cpu", libraries=LIBRARIES)
    failure, n_left = None, 0
    try:
        n_left = run_jobs(
            plan.jobs, plan.folder, processes=plan.processes, stop_after=plan.stop_after
        )
    except Failed as error:
        failure = error
    figures: Figures = {}
    for job in plan.jobs:
        found = measured(job, plan.folder)
        if found is not None:
            figures[job.method, job.column] = found
    given = [dataset_table(plan, figures)]
    if any(name in DATASETS for name in plan.datasets):  # not only recordings given as folders
        given.insert(0, summary_table(plan, figures))
        given.append(left_out_table(plan, figures))
    tables = [table for table in given if table.rows]
    files = [path for table in tables for path in write_table(table, made, plan.folder)]
    points = _points(plan, figures)
    if points:
        files.append(save_png(alert_figure(points), plan.folder / "alerts.png"))
    if failure is not None:
        raise failure
    return Outcome(tables, files, n_left)


def dataset_table(plan: AlertPlan, figures: Figures) -> Table:
    """Return the table of all columns, grouped by method."""
    rows = []
    for method in plan.methods:
        for column in plan.columns:
            found = figures.get((method.key, column))
            if found is not None:
                cells = [Cell(_total(found, what)) for what in COUNTS]
                cells += [Cell(round(_mean(found, what), DIGITS)) for what in MEANS]
                rows.append(Row(str(column), tuple(cells), None, method.name))
    heads = (*COUNTS.values(), *MEANS.values())
    return Table("datasets", "Alerts: every dataset, method by method", heads, tuple(rows), NOTES)


def summary_table(plan: AlertPlan, figures: Figures) -> Table:
    """Return the table with one row per method.

    Means are over labelled columns; false alerts and alerted rows also count quiet recordings.
    """
    labelled = [column for column in plan.columns if column.dataset in LABELLED]
    counted = [column for column in plan.columns if column.dataset in (*LABELLED, *QUIET)]
    rows = []
    for method in plan.methods:
        by_column = {column: figures.get((method.key, column)) for column in plan.columns}
        if not any(by_column.values()):
            continue

        def over(
            what: str,
            chosen: Sequence[Column],
            join: Callable[[list[float]], float],
            known: dict[Column, Measures | None] = by_column,
        ) -> float:
            """Aggregate a measure over columns; NaN if one has not run."""
            found = [known[column] for column in chosen]
            if not found or any(one is None for one in found):
                return nan
            values = [value for one in found if one and not isnan(value := _mean(one, what))]
            return float(join(values)) if values else nan

        cells = [
            over("recall", labelled, np.mean),
            over("opened", labelled, np.mean),
            over("false_per_1000", counted, np.median),
            over("false_per_1000", counted, max),
            over("alerted", counted, np.mean),
            over("r1k", labelled, np.mean),
            over("named_first", labelled, np.mean),
            over("named_three", labelled, np.mean),
        ]
        for name in OWN:
            own = by_column.get(Column(name))
            cells += [_total(own, what) if own else nan for what in ("n_found", "n_false")]
        rows.append(Row(method.name, tuple(Cell(round(value, DIGITS)) for value in cells)))
    heads = (
        f"recall, mean of {len(labelled)}",
        "begun at it, mean",
        f"false per 1,000 rows, median of {len(counted)}",
        "worst",
        "normal rows alerted, mean",
        "R1k, mean",
        "named first, mean",
        "among three",
        *_heads_of_own(figures),
    )
    return Table("summary", "Alerts: every method over all datasets", heads, tuple(rows), NOTES)


def left_out_table(plan: AlertPlan, figures: Figures) -> Table:
    """Return the table of settings chosen by leave-one-dataset-out; no rows without variants."""
    labelled = [column for column in plan.columns if column.dataset in LABELLED]
    r1k = {
        method.name: {str(column): _mean(figures[method.key, column], "r1k") for column in labelled}
        for method in plan.methods
        if method.is_default and all((method.key, column) in figures for column in labelled)
    }
    rows: list[Row] = []
    if len(r1k) > 1:
        dataset_of = {str(column): column.dataset for column in labelled}
        first = next(iter(r1k.values()))
        chosen: list[float] = []
        for choice in choices_left_out(r1k, dataset_of):
            own = [first[column] for column, of in dataset_of.items() if of == choice.dataset]
            name = f"{choice.dataset}: {choice.setting}"
            rows.append(Row(name, (_mean_cell(choice.r1k), _mean_cell(own))))
            chosen += choice.r1k
        rows.append(Row("mean of all columns", (_mean_cell(chosen), _mean_cell([*first.values()]))))
    return Table(
        "left_out",
        "Alerts: settings chosen without the dataset they are judged on",
        ("R1k", "R1k of the first row"),
        tuple(rows),
        (
            "For each dataset, the setting with the largest mean R1k on all other datasets was "
            "chosen; the figures are of the dataset itself. The first row is the first setting "
            "given, as a rule the default.",
        ),
    )


def _mean_cell(values: Sequence[float]) -> Cell:
    """Return the mean of some figures as a cell."""
    return Cell(round(float(np.mean(values)), DIGITS))


def _heads_of_own(figures: Figures) -> list[str]:
    """Return two headings for each of the project's own recordings, with its number of faults."""
    heads = []
    for name in OWN:
        n_events = {
            _total(one, "n_events") for (_, of), one in figures.items() if of == Column(name)
        }
        count = f" of {max(n_events):.0f}" if n_events else ""
        heads += [f"{name}: found{count}", f"{name}: false"]
    return heads


def headlines(tables: list[Table]) -> list[Table]:
    """Return the tables for the terminal: that of the datasets has the first method only."""
    return [
        replace(table, rows=table.rows_of(table.groups[0]), notes=())
        if table.name == "datasets"
        else table
        for table in tables
    ]


def _points(plan: AlertPlan, figures: Figures) -> dict[str, dict[str, tuple[float, float]]]:
    """Return false alerts per 1,000 rows and recall, by method and labelled column."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for method in plan.methods:
        for column in plan.columns:
            measures = figures.get((method.key, column))
            if measures is not None and column.dataset in LABELLED:
                point = _mean(measures, "false_per_1000"), _mean(measures, "recall")
                found.setdefault(method.name, {})[str(column)] = point
    return found


def _mean(measures: Measures, what: str) -> float:
    """Return the mean of a measure over the recordings that have it; NaN if none has."""
    values = [one[what] for one in measures.values() if not isnan(one[what])]
    return float(np.mean(values)) if values else nan


def _total(measures: Measures, what: str) -> float:
    return float(sum(one[what] for one in measures.values()))
