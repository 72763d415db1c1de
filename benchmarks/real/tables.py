"""All tables of the real-data benchmark, and the run that makes them.

In: a plan. Out: files: scores, then tables and pictures.
"""

from collections.abc import Callable
from dataclasses import replace

from benchmarks.provenance import provenance
from benchmarks.real.album import draw
from benchmarks.real.causes_table import causes
from benchmarks.real.churn_table import churn
from benchmarks.real.comparison import comparison
from benchmarks.real.cost_table import cost
from benchmarks.real.drift_table import drift, drift_columns
from benchmarks.real.jobs import check_datasets, run, write_recorded
from benchmarks.real.main_table import main
from benchmarks.real.plan import Figures, Plan
from benchmarks.report import Outcome, write_table
from benchmarks.running import Failed
from benchmarks.table import Table
from smkc.errors import SettingError

__all__ = ["TABLES", "headlines", "run_tables"]

TABLES: dict[str, Callable[[Figures], Table]] = {
    "main": main,
    "churn": churn,
    "drift": drift,
    "drift-columns": drift_columns,
    "causes": causes,
    "comparison": comparison,
    "cost": cost,
}

# Libraries that results depend on.
LIBRARIES = ("smkc", "numpy", "numba", "scikit-learn", "pyod", "river", "stumpy", "torch")


def run_tables(plan: Plan, command: str) -> Outcome:
    """Run the jobs that have no results yet, then make all tables from the results.

    If jobs fail, the tables are made from the others before the error is raised.
    """
    settings, jobs = plan.settings, plan.jobs()
    if not jobs:
        raise SettingError(
            "nothing is planned for these methods, datasets and conditions; a method that is held "
            "back runs under all of them with --budget thorough"
        )
    check_datasets(plan.datasets)
    made = provenance(command, settings.budget.name, range(plan.seeds), "cpu", libraries=LIBRARIES)
    failure, n_left = None, 0
    try:
        n_left = run(jobs, settings)
    except Failed as error:
        failure = error
    figures = Figures(plan)
    tables = [table for make in TABLES.values() if (table := make(figures)).rows]
    files = [path for table in tables for path in write_table(table, made, settings.folder)]
    files += draw(tables, settings.folder)
    files.append(write_recorded(settings, figures.found))
    if failure is not None:
        raise failure
    return Outcome(tables, files, n_left)


def headlines(tables: list[Table]) -> list[Table]:
    """Return the tables for the terminal: the main one has its first part only."""
    return [
        replace(table, rows=table.rows_of(table.groups[0])) if table.name == "main" else table
        for table in tables
        if table.name != "drift-columns"
    ]
