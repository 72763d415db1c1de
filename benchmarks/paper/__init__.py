"""The paper's benchmark: every table of it, ours beside the figures that were reported.

In: a budget, seeds, methods and a device. Out: files. Runs save their scores first, one file a
method and test set, so that a run which was stopped goes on where it was. Metrics are taken from
those files, joined into tables with intervals and paired tests, and written as Markdown and JSON
with how they were made; the pictures are drawn from the same figures. What the paper reports is
kept here as data (:func:`reported`).
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
