"""Tables of our figures beside another source's, with spreads, intervals and p-values.

In: means over seeds, their spread, intervals and p-values. Out: rows that a report can print, and
that can be saved as JSON and read back unchanged.
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
        our figure; NaN if there is none.
    sd
        standard deviation over seeds.
    low, high
        bootstrap confidence interval; ``Table.drawn`` says what is resampled.
    paper
        figure of the other source, if it has one: of the paper, unless ``Table.beside`` names
        another source.
    """

    value: float
    sd: float | None = None
    low: float | None = None
    high: float | None = None
    paper: float | None = None

    @property
    def difference(self) -> float | None:
        """Our figure minus the other source's; None if either is missing."""
        if self.paper is None or math.isnan(self.value):
            return None
        return self.value - self.paper


@dataclass(frozen=True)
class Row:
    """One method's figures.

    Parameters
    ----------
    cells
        one per column of the table.
    p_value
        of the paired test against the row below.
    group
        part of the table that the row belongs to, such as a protocol.
    """

    name: str
    cells: tuple[Cell, ...]
    p_value: float | None = None
    group: str = ""


@dataclass(frozen=True)
class Table:
    """Rows and columns of figures, with a title and notes.

    Parameters
    ----------
    name
        base name of its files.
    columns
        what each cell of a row measures.
    rows
        rows of one group must be adjacent.
    notes
        sentences below the table.
    beside
        name of the other source, whose figures are shown beside ours.
    drawn
        what the bootstrap of intervals and tests resamples.
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
        """Groups of the table, in order."""
        return tuple(dict.fromkeys(row.group for row in self.rows))

    def rows_of(self, group: str) -> tuple[Row, ...]:
        """Return the rows of one group, in order."""
        return tuple(row for row in self.rows if row.group == group)

    def place(self, column: str) -> int:
        """Return the index of a column in a row's cells."""
        if column not in self.columns:
            raise InputError(
                f"table {self.name} has no column {column!r}; "
                f"choose one of {', '.join(self.columns)}"
            )
        return self.columns.index(column)

    def sorted_by(self, column: str, *, descending: bool = True) -> "Table":
        """Return the table with each group's rows sorted by our values in one column.

        Rows without a value come last. P-values are dropped, because they compare rows that
        were neighbours before.

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
        """Return the table as JSON-serializable data, in the order of the file."""
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
        """Return the table that :meth:`as_json` wrote; a value of null becomes NaN."""
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
