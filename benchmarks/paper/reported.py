"""The paper's figures as data, read from ``reported.json`` beside this file.

In: a table, a row and a column by name. Out: the paper's figure, or None where it gives none. The
source is arXiv 2601.21050; rows and columns have the same names there.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from smkc.errors import InputError

__all__ = ["SOURCE", "reported", "reported_about", "reported_columns", "reported_rows"]

SOURCE = "arXiv 2601.21050"


def reported(
    table: str,
    row: str | int,
    column: str | float,
    *,
    group: str | None = None,
    sd: bool = False,
) -> float | None:
    """Return a figure of the paper, or None where it gives none.

    Parameters
    ----------
    table
        "average", "cardinality", "rate", "hash-width", "scaling", "end-to-end", "ablation" or
        "diagnostic".
    row
        as the paper names it; the number of buckets in "hash-width".
    column
        a metric's name; the cardinality in "cardinality", the anomaly rate in "rate".
    group
        the protocol, "in_dist_C" or "holdout_C"; optional if the table has only one.
    sd
        return the standard deviation over seeds, not the mean.

    Examples
    --------
    >>> reported("average", "StatsPool-kNN", "auprc", group="holdout_C")
    0.33
    >>> reported("cardinality", "TS-MAE(gseq)", 16, group="holdout_C", sd=True)
    0.072
    >>> reported("average", "TranAD", "auprc", group="holdout_C") is None
    True
    """
    part = _part(table, group)
    figures = part.get("sd" if sd else "rows", {}).get(str(row))
    name = column if isinstance(column, str) else f"{column:g}"
    if figures is None or name not in part["columns"]:
        return None
    figure = figures[part["columns"].index(name)]
    return None if figure is None else float(figure)


def reported_rows(table: str, group: str | None = None) -> tuple[str, ...]:
    """Return the names of a table's rows, in the paper's order."""
    return tuple(_part(table, group)["rows"])


def reported_columns(table: str, group: str | None = None) -> tuple[str, ...]:
    """Return the names of a table's columns, in the paper's order."""
    return tuple(_part(table, group)["columns"])


def reported_about(table: str) -> Mapping[str, Any]:
    """Return what the paper says about a whole table: its seeds, anomaly rate, sizes."""
    return dict(_table(table)["about"])


def _part(table: str, group: str | None) -> Mapping[str, Any]:
    groups = _table(table)["groups"]
    if group is None and len(groups) == 1:
        group = next(iter(groups))
    if group not in groups:
        raise InputError(
            f"the paper's table {table!r} has no part {group!r}; give group as one of "
            f"{', '.join(map(repr, groups))}"
        )
    part: Mapping[str, Any] = groups[group]
    return part


def _table(table: str) -> Mapping[str, Any]:
    tables = _content()["tables"]
    if table not in tables:
        raise InputError(
            f"the paper has no table {table!r}; choose one of {', '.join(sorted(tables))}"
        )
    content: Mapping[str, Any] = tables[table]
    return content


@cache
def _content() -> Mapping[str, Any]:
    path = Path(__file__).with_name("reported.json")
    content: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content
