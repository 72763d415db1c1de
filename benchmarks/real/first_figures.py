"""The project's first measurements of some rows, read from ``first_figures.json`` beside this file.

In: a method's key and a column. Out: the first figure measured, or None.
"""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

__all__ = ["first_figure", "first_mean"]


def first_figure(method: str, column: str) -> float | None:
    """Return the VUS-PR (tsb_ad) first measured, to 2 digits; None if there is none.

    Examples
    --------
    >>> first_figure("windowed-knn", "smd"), first_figure("stumpy", "smd")
    (0.54, None)
    """
    return _figures().get((method, column))


def first_mean(method: str, columns: Sequence[str]) -> float | None:
    """Return the mean over columns; None unless all were measured."""
    values = [first_figure(method, column) for column in columns]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


@cache
def _figures() -> dict[tuple[str, str], float | None]:
    content = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return {
        (method, column): value
        for method, values in content["rows"].items()
        for column, value in zip(content["columns"], values, strict=True)
    }
