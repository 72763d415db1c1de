"""The tables of drift: the loss under drift, and the gain from learning from past rows.

In: figures. Out: means over the main columns, static and prequential, as recorded and with drift;
and the same figures column by column.
"""

from collections.abc import Sequence

from benchmarks.real.condition import Condition
from benchmarks.real.main_table import (
    HEADLINE,
    in_order,
    main_cells,
    not_run,
    with_values,
)
from benchmarks.real.measures import METRICS
from benchmarks.real.plan import Figures, mean_cell, mean_name
from benchmarks.table import Row, Table

__all__ = ["SETTINGS", "drift", "drift_columns"]

# Columns of the table, with their conditions.
SETTINGS = {
    "static": Condition(),
    "static, drift": Condition(drift=True),
    "prequential": Condition(prequential=True),
    "prequential, drift": Condition(drift=True, prequential=True),
}


def drift(figures: Figures) -> Table:
    """Return the table of means over the columns, with and without drift."""
    columns = figures.plan.columns
    without = [at for at, column in enumerate(columns) if column.churn == "none"]
    parts: dict[str, Sequence[int]] = {mean_name(len(columns)): range(len(columns))}
    if len(without) not in (0, len(columns)):
        parts[f"{mean_name(len(without))}, without churn"] = without
    rows = []
    for part, places in parts.items():
        for method in in_order(figures):
            cells = []
            for setting in SETTINGS.values():
                found = main_cells(figures, method, under=setting, seeds=_seeds(figures))
                cells.append(mean_cell([found[at] for at in places]))
            rows.append(Row(method.name, tuple(cells), None, part))
    return Table(
        "drift",
        f"Drift added to half of the recordings, {METRICS[HEADLINE]}",
        tuple(SETTINGS),
        with_values(rows) if True in figures.plan.drift else (),
        _notes(figures),
    )


def drift_columns(figures: Figures) -> Table:
    """Return the table of the same figures, column by column."""
    columns = [str(column) for column in figures.plan.columns]
    beside = figures.plan.beside
    rows = []
    for name, setting in SETTINGS.items():
        for method in in_order(figures):
            n = _seeds(figures)
            cells = main_cells(figures, method, under=setting, seeds=n)
            further = main_cells(figures, method, under=setting, seeds=n, columns=beside)
            rows.append(Row(method.name, (*cells, mean_cell(cells), *further), None, name))
    return Table(
        "drift-columns",
        f"Drift by dataset, {METRICS[HEADLINE]}",
        (*columns, mean_name(len(columns)), *map(str, beside)),
        with_values(rows) if True in figures.plan.drift else (),
        _notes(figures),
    )


def _notes(figures: Figures) -> tuple[str, ...]:
    n = _seeds(figures)
    return (
        f"All four from the same {n} seed{'s' if n > 1 else ''}, so that they can be compared; the "
        "main table may have more.",
        "Drift: a permanent shift, a slow ramp or more noise in some variables of half of the "
        "recordings; nothing of it is labelled. Prequential: fitted anew at the start of each "
        "fifth of the test rows, on the reference and all rows before; never on labels.",
        *not_run(figures),
    )


def _seeds(figures: Figures) -> int:
    """Return the number of seeds that all four settings have."""
    plan = figures.plan
    has_past = True in plan.modes
    return min(plan.seeds, plan.settings.budget.prequential_seeds) if has_past else plan.seeds
