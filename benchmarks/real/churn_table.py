"""The table of loss under churn: the same recordings without, with mild and with full churn.

In: figures. Out: a table with a part for each dataset that takes churn, and one for their mean.
"""

import math

from benchmarks.real.churn import LEVELS
from benchmarks.real.condition import Condition
from benchmarks.real.datasets import dataset
from benchmarks.real.main_table import HEADLINE, in_order, not_run, with_values
from benchmarks.real.measures import METRICS
from benchmarks.real.plan import Figures, mean_cell
from benchmarks.table import Cell, Row, Table

__all__ = ["MEAN", "churn"]

MEAN = "mean"


def churn(figures: Figures) -> Table:
    """Return the table of loss under churn."""
    names = [name for name in figures.plan.datasets if dataset(name).takes_churn]
    cells = {
        (name, method): [
            figures.cell(method, name, Condition(churn=level), HEADLINE) for level in LEVELS
        ]
        for name in names
        for method in in_order(figures)
    }
    rows = [
        Row(method.name, (*found, _kept(found)), None, name)
        for (name, method), found in cells.items()
    ]
    if len(names) > 1:
        for method in in_order(figures):
            of_all = [cells[name, method] for name in names]
            found = [mean_cell([each[at] for each in of_all]) for at in range(len(LEVELS))]
            rows.append(Row(method.name, (*found, _kept(found)), None, MEAN))
    is_empty = set(figures.plan.churn) == {"none"}
    return Table(
        "churn",
        f"Loss under churn, {METRICS[HEADLINE]}",
        (*LEVELS, "full / none"),
        () if is_empty else with_values(rows),
        (
            "full: 30% of the variables renamed, 20% vanish, 20% withheld from the reference, 10% "
            "of the entries missing in bursts; mild is half of it.",
            *not_run(figures),
        ),
    )


def _kept(cells: list[Cell]) -> Cell:
    """Return the ratio of the metric under full churn to that without churn."""
    before, after = cells[0].value, cells[-1].value
    return Cell(after / before if before > 0 else math.nan)
