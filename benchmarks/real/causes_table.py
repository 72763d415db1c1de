"""The table of root causes: how often a method names a responsible variable.

In: figures. Out: hit rates among the first 1, 3 and 5 variables named, and those of chance.
"""

from dataclasses import replace

import numpy as np

from benchmarks.real.condition import Condition
from benchmarks.real.main_table import not_run
from benchmarks.real.measures import BLAME_DATASET, Measured
from benchmarks.real.methods import Method
from benchmarks.real.plan import Figures
from benchmarks.real.root_cause import HIT_RANKS
from benchmarks.real.scores import Job
from benchmarks.table import Cell, Row, Table

__all__ = ["causes"]

CHURN = ("none", "full")


def causes(figures: Figures) -> Table:
    """Return the table of root causes."""
    rows, n_events = [], 0
    for churn in CHURN:
        of_methods = {
            method.name: found
            for method in figures.plan.methods
            if (found := _found(figures, method, Condition(churn=churn)))
        }
        if not of_methods:
            continue
        part = f"{BLAME_DATASET}, churn {churn}"
        cells = {name: _cells(found, "named") for name, found in of_methods.items()}
        order = sorted(cells, key=lambda name: -cells[name][-1].value)
        rows += [Row(name, cells[name], None, part) for name in order]
        first = next(iter(of_methods.values()))
        rows.append(Row("chance", _cells(first[:1], "chance"), None, part))
        n_events = int((first[0].hits or {})["events"]["n"])
    return Table(
        "causes",
        f"Root causes on {BLAME_DATASET}: share of events with a responsible variable among the "
        "first k named",
        tuple(f"k = {k}" for k in HIT_RANKS),
        tuple(rows),
        (
            f"{n_events} events. Each method is asked about the row of an event that it scores "
            "highest, whether or not it would have raised an alarm; a renamed variable counts as "
            "what it was before. Chance: variables named at random.",
            "Methods that score a row without saying what made the score are left out.",
            *not_run(figures),
        ),
    )


def _found(figures: Figures, method: Method, condition: Condition) -> list[Measured]:
    """Return the metrics of each seed; [] unless all seeds have run and variables were named."""
    jobs = [
        Job(method=method.key, dataset=BLAME_DATASET, condition=replace(condition, seed=seed))
        for seed in range(figures.plan.seeds_of(method, condition))
    ]
    found = [figures.found[job] for job in jobs if job in figures.found]
    return found if len(found) == len(jobs) and all(each.hits for each in found) else []


def _cells(found: list[Measured], kind: str) -> tuple[Cell, ...]:
    cells = []
    for k in HIT_RANKS:
        rates = [(each.hits or {})[kind][str(k)] for each in found]
        sd = float(np.std(rates, ddof=1)) if len(rates) > 1 else None
        cells.append(Cell(float(np.mean(rates)), sd))
    return tuple(cells)
