"""The table of comparisons: paired tests between methods over recordings, and mean ranks.

In: figures. Out: each method against windowed kNN and against the best peer, and mean ranks.
"""

from collections.abc import Mapping, Sequence
from math import nan, sqrt

import numpy as np
from numpy.typing import NDArray

from benchmarks.bootstrap import PairedTest
from benchmarks.libraries import library
from benchmarks.real.condition import Condition
from benchmarks.real.draws import Draws
from benchmarks.real.main_table import HEADLINE, in_order, not_run
from benchmarks.real.measures import METRICS
from benchmarks.real.methods import Method
from benchmarks.real.plan import Column, Figures, mean_name
from benchmarks.table import Cell, Row, Table
from smkc.errors import InputError

__all__ = ["COMMON", "comparison", "critical_difference", "mean_ranks", "paired_series"]

# The usual workaround for churn, with which every method is compared.
COMMON = "windowed-knn"

LEVEL = 0.95

Values = Mapping[Column, NDArray[np.float64]]


def comparison(figures: Figures) -> Table:
    """Return the table of differences and ranks of the methods that ran on all main columns."""
    columns, n = figures.plan.columns, figures.plan.settings.budget.replicates
    values = {method: _values(figures, method) for method in in_order(figures)}
    complete = {method: found for method, found in values.items() if found is not None}
    peers = [method for method in complete if not method.is_ours]
    rivals = {method.name: method for method in peers[:1]}
    rivals |= {method.name: method for method in peers if method.key == COMMON}
    ranks = mean_ranks([_means(found) for found in complete.values()]) if complete else []
    rows = []
    for (method, found), rank in zip(complete.items(), ranks, strict=True):
        cells = [Cell(float(np.mean(_means(found)))), Cell(rank)]
        for rival in rivals.values():
            if rival is method:
                cells += [Cell(nan), Cell(nan)]
                continue
            test = paired_series(found, complete[rival], n=n)
            cells += [
                Cell(test.difference, None, test.low, test.high),
                Cell(test.p_value),
            ]
        rows.append(Row(method.name, tuple(cells)))
    notes = [
        f"Differences: paired bootstrap over recordings, {n:,} draws within each dataset, the same "
        "recordings without churn and with it. What other datasets would say is not in it; lro and "
        "petshop are one recording each.",
        "Rank: mean over the columns, 1 is best.",
    ]
    if len(complete) > 1:
        least = critical_difference(len(complete), len(columns))
        notes.append(
            f"Ranks that are less than {least:.1f} apart do not differ by Nemenyi's test at 5% "
            f"(J. Demsar, JMLR 7, 2006), taking the {len(columns)} columns as independent, which "
            "those of one dataset are not."
        )
    heads = [f"{word} {name}" for name in rivals for word in ("minus", "p against")]
    return Table(
        "comparison",
        f"Differences between methods, {METRICS[HEADLINE]}, {mean_name(len(columns))}",
        ("mean", "rank", *heads),
        tuple(rows) if len(complete) > 1 else (),
        (*notes, *not_run(figures)),
        drawn="recordings",
    )


def paired_series(ours: Values, theirs: Values, *, n: int = 10_000, seed: int = 0) -> PairedTest:
    """Test whether two methods differ in their mean over columns, by resampling recordings.

    Parameters
    ----------
    ours, theirs
        (S,) a metric of each recording, by column; both have the same columns.
    n
        number of times that all recordings are resampled.

    Notes
    -----
    Recordings are resampled within their dataset, and all columns of a dataset use the same sample,
    because they share the recordings. The p-value is that of :func:`benchmarks.bootstrap.paired`.
    """
    if list(ours) != list(theirs) or not ours:
        raise InputError("the methods were measured on different columns; give both on the same")
    drawn: dict[str, NDArray[np.int64]] = {}
    total = np.zeros(n)
    for column, values in ours.items():
        difference = values - theirs[column]
        size = len(difference)
        if column.dataset not in drawn:
            draws = Draws("paired series", column.dataset, seed=seed)
            drawn[column.dataset] = (
                (draws.uniform(n * size) * size).astype(np.int64).reshape(n, size)
            )
        total += difference[drawn[column.dataset]].mean(axis=1) / len(ours)
    measured = float(np.mean(_means(ours)) - np.mean(_means(theirs)))
    return PairedTest.of(measured, total, level=LEVEL)


def mean_ranks(methods: Sequence[Sequence[float]]) -> list[float]:
    """Return each method's mean rank over columns, 1 = largest value; ties get their mean rank.

    Examples
    --------
    >>> mean_ranks([[0.9, 0.5], [0.8, 0.5], [0.7, 0.1]])
    [1.25, 1.75, 3.0]
    """
    table = np.array(methods, np.float64)  # (K, N)
    larger = (table[None] > table[:, None]).sum(axis=1)
    equal = (table[None] == table[:, None]).sum(axis=1)
    ranks: list[float] = (larger + (equal + 1) / 2).mean(axis=1).tolist()
    return ranks


def critical_difference(n_methods: int, n_columns: int) -> float:
    """Return the critical difference of mean ranks in Nemenyi's test at 5%.

    Examples
    --------
    >>> round(critical_difference(4, 14), 2)  # the example in Demsar's paper: 1.25
    1.25
    """
    of_range = library("scipy.stats", "scipy").studentized_range
    quantile = float(of_range.ppf(0.95, n_methods, np.inf)) / sqrt(2)
    return quantile * sqrt(n_methods * (n_methods + 1) / (6 * n_columns))


def _values(figures: Figures, method: Method) -> dict[Column, NDArray[np.float64]] | None:
    """Return each recording's mean metric over seeds, by column; None if a column is missing."""
    found = {}
    for column in figures.plan.columns:
        condition = Condition(churn=column.churn)
        values = figures.of_series(method, column.dataset, condition, HEADLINE)
        if values is None:
            return None
        found[column] = values.mean(axis=0)
    return found


def _means(values: Values) -> list[float]:
    return [float(each.mean()) for each in values.values()]
