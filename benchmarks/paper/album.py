"""The album: the pictures that belong to each table, drawn into the results folder.

In: tables. Out: PNG files.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.paper import pictures
from benchmarks.paper.diagnostic_table import diagnose
from benchmarks.paper.plan import Plan
from benchmarks.protocols import CARDINALITIES, RATES
from benchmarks.report import save_png
from benchmarks.table import Table
from benchmarks.windows import Windows
from benchmarks.world import EVALUATION, find_world, generate
from smkc.paper.kernel import images
from smkc.paper.sketch import Sketch

__all__ = ["draw"]

# The window shown in the paper's figures. 6 variables are enough to see them apart and few enough
# to read.
SHOWN_CARDINALITY = 6
SHOWN_KIND = "coupling change"


def draw(tables: Sequence[Table], plan: Plan, folder: Path) -> list[Path]:
    """Draw the pictures of the given tables; return their paths."""
    drawn = []
    for table in tables:
        kind = table.name.removesuffix(f"-{plan.world}")
        if kind == "cardinality" and table.rows:
            figure = pictures.cardinality_figure(_curves(table, CARDINALITIES))
            drawn.append(save_png(figure, folder / f"{table.name}.png"))
        elif kind == "rate" and table.rows:
            figure = pictures.rate_figure(_curves(table, RATES))
            drawn.append(save_png(figure, folder / f"{table.name}.png"))
        elif kind == "average":
            points = _points(table)
            if points:
                figure = pictures.scatter_figure(points)
                drawn.append(save_png(figure, folder / f"{table.name}.png"))
        elif kind == "diagnostic":
            drawn += _papers_figures(plan, folder)
    return drawn


def _curves(table: Table, places: Sequence[float]) -> list[pictures.Curve]:
    curves = []
    for row in table.rows:
        known = [at for at, cell in enumerate(row.cells) if not np.isnan(cell.value)]
        cells = [row.cells[at] for at in known]
        curves.append(
            pictures.Curve(
                row.name,
                [places[at] for at in known],
                [cell.value for cell in cells],
                [_number(cell.low) for cell in cells],
                [_number(cell.high) for cell in cells],
                [_number(cell.paper) for cell in cells],
                row.group,
            )
        )
    return curves


def _points(table: Table) -> list[pictures.Point]:
    at = table.place("AUPRC")
    cells = [(row, row.cells[at]) for row in table.rows]
    return [
        pictures.Point(row.name, cell.value, cell.paper, row.group)
        for row, cell in cells
        if cell.paper is not None
    ]


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _papers_figures(plan: Plan, folder: Path) -> list[Path]:
    """Draw the paper's 3 figures: the transform, the 6 channels, the cosine collapse."""
    normal, anomalous = _view(plan, 0.0), _view(plan, 1.0)
    example = diagnose(plan).example
    return [
        save_png(pictures.transform_figure(normal, anomalous), folder / "figure-transform.png"),
        save_png(pictures.channels_figure(normal.image), folder / "figure-channels.png"),
        save_png(
            pictures.collapse_figure(example.before, example.after, example.segment),
            folder / "figure-collapse.png",
        ),
    ]


def _view(plan: Plan, rate: float) -> pictures.WindowView:
    """Return values, states and kernel image of one window from the evaluation pool."""
    windows: Windows = generate(
        find_world(plan.world),
        pool=EVALUATION,
        n_windows=1,
        cardinality=SHOWN_CARDINALITY,
        rate=rate,
        kind=SHOWN_KIND,
    )
    recording, sketch = windows.recording(), Sketch()
    image, _ = images(recording, windows.starts(), windows.length, sketch)
    first, end = windows.segments[0].tolist()
    return pictures.WindowView(
        np.where(windows.observed[0], windows.values[0], np.nan),
        sketch.states(recording),
        image[0],
        (first, end) if rate else None,
    )
