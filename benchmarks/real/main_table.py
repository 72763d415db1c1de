"""The main table: every metric of every method, dataset by dataset, and under full churn.

In: figures. Out: a table with one part per metric, rows sorted by mean VUS-PR.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from benchmarks.real.condition import Condition
from benchmarks.real.datasets import recording_name
from benchmarks.real.first_figures import first_figure, first_mean
from benchmarks.real.measures import METRICS
from benchmarks.real.methods import Method
from benchmarks.real.plan import Column, Figures, by_value, mean_cell
from benchmarks.table import Cell, Row, Table

__all__ = [
    "FIRST",
    "HEADLINE",
    "in_order",
    "main",
    "main_cells",
    "not_run",
    "with_values",
]

# The metric that rows are ranked by.
HEADLINE = "vus_tsb_ad"

FIRST = "first measurement"

STATIC = Condition()


def main(figures: Figures) -> Table:
    """Return the main table."""
    columns = [str(column) for column in figures.plan.columns]
    means, beside = figures.plan.means, figures.plan.beside
    rows = []
    for metric, heading in METRICS.items():
        for method in in_order(figures):
            cells = main_cells(figures, method, metric)
            if metric == HEADLINE:
                cells = [
                    replace(cell, paper=first_figure(method.key, name))
                    for cell, name in zip(cells, columns, strict=True)
                ]
            averages = [_mean(figures, method, metric, one) for one in means.values()]
            further = main_cells(figures, method, metric, columns=beside)
            rows.append(Row(method.name, (*cells, *averages, *further), None, heading))
    return Table(
        "main",
        "Real data: every method on every dataset",
        (*columns, *means, *map(str, beside)),
        tuple(rows),
        (
            "A cell is the mean over a dataset's recordings, +- its sd over seeds where chance is "
            "in it. Churn is added to smd, asd and skab; nezha, lro and petshop churn by "
            "themselves.",
            "Steps without a score count as the least anomalous. Delays are those of the events "
            "that are found: who finds only the easy ones is quick.",
            *_told_means(means),
            *_told_beside(beside),
            *not_run(figures),
        ),
        beside=FIRST,
        drawn="recordings",
    )


def main_cells(
    figures: Figures,
    method: Method,
    metric: str = HEADLINE,
    *,
    under: Condition = STATIC,
    seeds: int | None = None,
    columns: Sequence[Column] | None = None,
) -> list[Cell]:
    """Return a method's cells under the main columns, with the drift and mode of a condition.

    ``columns`` defaults to the columns that means are taken over.
    """
    return [
        figures.cell(method, column.dataset, replace(under, churn=column.churn), metric, seeds)
        for column in (figures.plan.columns if columns is None else columns)
    ]


def in_order(figures: Figures) -> list[Method]:
    """Return the methods with results, by descending mean VUS-PR."""
    by_key = {method.key: method for method in figures.plan.methods if figures.has_run(method)}
    means = {key: mean_cell(main_cells(figures, method)).value for key, method in by_key.items()}
    return [by_key[key] for key in by_value(means)]


def with_values(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Return the rows that have at least one figure."""
    return tuple(row for row in rows if any(cell.value == cell.value for cell in row.cells))


def not_run(figures: Figures) -> tuple[str, ...]:
    """Return notes on runs that are missing, and on methods run under fewer conditions."""
    notes = []
    missing: dict[str, int] = {}
    for job in figures.plan.jobs():
        if job not in figures.found:
            missing[job.row.name] = missing.get(job.row.name, 0) + 1
    if missing:
        told = ", ".join(f"{name} ({n} runs)" for name, n in missing.items())
        notes.append(f"Not run yet: {told}.")
    held = [
        f"{method.name} ({_held(method)})"
        for method in figures.plan.methods
        if method.is_held_back and figures.plan.settings.budget.holds_back
    ]
    if held:
        notes.append(f"Run under less, because it is dear: {'; '.join(held)}.")
    return tuple(notes)


def _mean(figures: Figures, method: Method, metric: str, columns: Sequence[Column]) -> Cell:
    """Return a method's mean over columns, beside the first measurement where there is one."""
    if metric == "delay":  # a step is a second in one dataset and an hour in another
        return Cell(float("nan"))
    mean = mean_cell(main_cells(figures, method, metric, columns=columns))
    if metric == HEADLINE:
        mean = replace(mean, paper=first_mean(method.key, [str(column) for column in columns]))
    return mean


def _told_means(means: Mapping[str, Sequence[Column]]) -> tuple[str, ...]:
    """Return a note on what each mean is over, if there are several."""
    told: list[str] = []
    before: list[str] = []
    for name, columns in means.items():
        names = list(dict.fromkeys(column.dataset for column in columns))
        more = ", ".join(recording_name(one) for one in names if one not in before)
        told.append(f"{name}: {'these and ' if {*before} & {*names} else ''}{more}")
        before = names
    return (f"{'; '.join(told)}; each as recorded and with churn.",) if len(told) > 1 else ()


def _told_beside(columns: Sequence[Column]) -> tuple[str, ...]:
    names = list(dict.fromkeys(column.dataset for column in columns))
    return (f"Beside the mean, which leaves it out: {', '.join(names)}.",) if names else ()


def _held(method: Method) -> str:
    words = [" and ".join(method.stages)]
    if method.most_seeds is not None:
        words.append(f"{method.most_seeds} seed")
    if method.datasets is not None:
        words.append(" and ".join(method.datasets))
    return ", ".join(words)
