"""The table of :mod:`smkc.bench.table`, under the name by which this room knows it.

In: cells and rows. Out: tables.
"""

from smkc.bench.table import Cell, Row, Table

__all__ = ["Cell", "Row", "Table"]
