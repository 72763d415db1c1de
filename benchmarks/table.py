"""The table: ours beside another source's, with what says which differences mean anything.

In: means over seeds, their spread, intervals and p-values. Out: rows that a report can print,
and that stay the same on the way through a file.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from smkc.errors import InputError

__all__ = ["Cell", "Row", "Table"]


@dataclass(frozen=True)
class Cell:
    """One figure of a row.

    Parameters
    ----------
    value
        ours; NaN where there is none.
    sd
        standard deviation over seeds.
    low, high
        interval over what is drawn anew.
    paper
        what the other source reports, if it does: the paper, unless the table names another.
    """

    value: float
    sd: float | None = None
    low: float | None = None
    high: float | None = None
    paper: float | None = None

    @property
    def difference(self) -> float | None:
        """Ours minus the other source's; None where either is missing."""
        if self.paper is None or math.isnan(self.value):
            return None
        return self.value - self.paper


@dataclass(frozen=True)
class Row:
    """One method's figures.

    Parameters
    ----------
    cells
        one a column of the table.
    p_value
        of the paired test against the row below.
    group
        what part of the table the row is in, such as a protocol.
    """

    name: str
    cells: tuple[Cell, ...]
    p_value: float | None = None
    group: str = ""


@dataclass(frozen=True)
class Table:
    """Rows under columns, and what a reader must know to read them.

    Parameters
    ----------
    name
        what its files are called.
    columns
        what each cell of a row measures.
    rows
        those of one group follow each other.
    notes
        sentences below the table.
    beside
        whose figures stand beside ours.
    drawn
        what intervals and tests draw anew.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    beside: str = "paper"
    drawn: str = "windows"

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.cells) != len(self.columns):
                raise InputError(
                    f"table {self.name}, row {row.name!r}: {len(row.cells)} cells under "
                    f"{len(self.columns)} columns; give one cell a column, with the value NaN "
                    "where there is nothing"
                )
        groups = [row.group for row in self.rows]
        starts = [group for at, group in enumerate(groups) if at == 0 or groups[at - 1] != group]
        if len(starts) != len(set(starts)):
            raise InputError(
                f"table {self.name}: the groups {starts} do not follow each other whole; "
                "put all rows of a group together"
            )

    @property
    def groups(self) -> tuple[str, ...]:
        """The parts of the table, in order."""
        return tuple(dict.fromkeys(row.group for row in self.rows))

    def rows_of(self, group: str) -> tuple[Row, ...]:
        """Return the rows of one part, in order."""
        return tuple(row for row in self.rows if row.group == group)

    def place(self, column: str) -> int:
        """Return where in a row's cells a column is."""
        if column not in self.columns:
            raise InputError(
                f"table {self.name} has no column {column!r}; "
                f"choose one of {', '.join(self.columns)}"
            )
        return self.columns.index(column)

    def sorted_by(self, column: str, *, descending: bool = True) -> "Table":
        """Return the table with each group's rows in the order of our values in one column.

        Rows without a value come last. P-values are dropped: they were those of other neighbours.

        Examples
        --------
        >>> rows = (Row("a", (Cell(0.1),)), Row("b", (Cell(0.3),)), Row("c", (Cell(0.2),)))
        >>> [row.name for row in Table("t", "", ("auprc",), rows).sorted_by("auprc").rows]
        ['b', 'c', 'a']
        """
        at = self.place(column)
        sign = -1.0 if descending else 1.0

        def rank(row: Row) -> tuple[bool, float]:
            value = row.cells[at].value
            return math.isnan(value), 0.0 if math.isnan(value) else sign * value

        rows: Iterable[Row] = (
            replace(row, p_value=None)
            for group in self.groups
            for row in sorted(self.rows_of(group), key=rank)
        )
        return replace(self, rows=tuple(rows))

    def as_json(self) -> dict[str, Any]:
        """Return what a file holds of the table, in the order of the file."""
        usual = {field.name: field.default for field in fields(self)}
        told = {name: getattr(self, name) for name in ("beside", "drawn")}
        return {
            "table": self.name,
            "title": self.title,
            "columns": list(self.columns),
            "rows": [
                {
                    "name": row.name,
                    "group": row.group,
                    "cells": [
                        {
                            "column": column,
                            "value": cell.value,
                            "sd": cell.sd,
                            "low": cell.low,
                            "high": cell.high,
                            "paper": cell.paper,
                            "difference": cell.difference,
                        }
                        for column, cell in zip(self.columns, row.cells, strict=True)
                    ],
                    "p_value_vs_next": row.p_value,
                }
                for row in self.rows
            ],
            "notes": list(self.notes),
            **{name: value for name, value in told.items() if value != usual[name]},
        }

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> "Table":
        """Return the table that :meth:`as_json` wrote; a value of null is NaN again."""
        return Table(
            name=content["table"],
            title=content["title"],
            columns=tuple(content["columns"]),
            rows=tuple(
                Row(
                    row["name"],
                    tuple(
                        Cell(
                            math.nan if cell["value"] is None else float(cell["value"]),
                            *(cell[field] for field in ("sd", "low", "high", "paper")),
                        )
                        for cell in row["cells"]
                    ),
                    row["p_value_vs_next"],
                    row["group"],
                )
                for row in content["rows"]
            ),
            notes=tuple(content["notes"]),
            **{name: content[name] for name in ("beside", "drawn") if name in content},
        )
