"""The report of :mod:`smkc.bench.report`, under the name by which this room knows it.

In: a table and its provenance. Out: files.
"""

from smkc.bench.provenance import provenance
from smkc.bench.report import read_table, write_table

__all__ = ["provenance", "read_table", "write_table"]
