"""The paper's benchmark: all of its tables, with our figures beside those reported.

In: a budget, seeds, methods and a device. Out: files. Runs first save their scores, one file per
job, so that an interrupted run can be resumed. Metrics are computed from these files, joined into
tables with intervals and paired tests, and written as Markdown and JSON with their provenance; the
pictures are drawn from the same figures. The paper's own figures are stored as data
(:func:`reported`).
"""

from benchmarks.paper.pictures import (
    Curve,
    Point,
    WindowView,
    cardinality_figure,
    channels_figure,
    collapse_figure,
    rate_figure,
    scatter_figure,
    transform_figure,
)
from benchmarks.paper.reported import reported, reported_columns, reported_rows
from benchmarks.provenance import provenance
from benchmarks.report import read_table, write_table
from benchmarks.table import Cell, Row, Table

__all__ = [
    "Cell",
    "Curve",
    "Point",
    "Row",
    "Table",
    "WindowView",
    "cardinality_figure",
    "channels_figure",
    "collapse_figure",
    "provenance",
    "rate_figure",
    "read_table",
    "reported",
    "reported_columns",
    "reported_rows",
    "scatter_figure",
    "transform_figure",
    "write_table",
]
