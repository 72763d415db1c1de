"""The PNG files of the real-data benchmark, drawn from its tables.

In: tables and a folder. Out: PNG files in that folder.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.real import pictures
from benchmarks.real.main_table import HEADLINE
from benchmarks.real.measures import METRICS
from benchmarks.report import save_png
from benchmarks.table import Table

__all__ = ["draw"]


def draw(tables: Sequence[Table], folder: Path) -> list[Path]:
    """Draw the pictures of the given tables; return their paths."""
    drawn = []
    for table in tables:
        if table.name == "main":
            rows = table.rows_of(METRICS[HEADLINE])
            values = [[cell.value for cell in row.cells] for row in rows]
            names = [row.name for row in rows]
            figure = pictures.heat_map(names, table.columns, values, METRICS[HEADLINE])
        elif table.name == "churn" and (panels := _panels(table, 3)):
            figure = pictures.churn_figure(panels, METRICS[HEADLINE])
        elif table.name == "drift" and (panels := _panels(table, 4)):
            figure = pictures.drift_figure(panels, METRICS[HEADLINE])
        else:
            continue
        drawn.append(save_png(figure, folder / f"{table.name}.png"))
    return drawn


def _panels(table: Table, n: int) -> dict[str, dict[str, list[float]]]:
    """Return the first n figures of every row that has any of them, by group and method."""
    found = {
        group: {row.name: [cell.value for cell in row.cells[:n]] for row in table.rows_of(group)}
        for group in table.groups
    }
    panels = {
        group: {name: values for name, values in rows.items() if not np.isnan(values).all()}
        for group, rows in found.items()
    }
    return {group: rows for group, rows in panels.items() if rows}
