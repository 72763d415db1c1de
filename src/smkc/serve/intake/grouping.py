"""Grouping: readings with the rows they belong to -> rows, by sorting once.

In: readings in the order of their arrival. Out: for each row and variable the last value; the same
rows whatever the order, except that of two readings of one time the later arrival counts.
"""

from collections.abc import Container, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smkc.serve.rows import LATEST_TIME, Row

__all__ = [
    "Grouped",
    "Readings",
    "ends_of",
    "group",
    "infinite_values",
    "is_possible",
    "keep_last",
]

MOST_SPARSE = 4  # cells a reading, above which sorting takes less room than a table


class Readings(NamedTuple):
    """N readings: (N,) the end of the row each belongs to, its variable's code, time and value."""

    ends: NDArray[np.int64]
    codes: NDArray[np.int64]
    times: NDArray[np.int64]
    values: NDArray[np.float64]

    def take(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> "Readings":
        """Return some of the readings."""
        ends, codes, times, values = self
        return Readings(ends[chosen], codes[chosen], times[chosen], values[chosen])

    @staticmethod
    def joined(parts: "Sequence[Readings]") -> "Readings":
        """Return one after another."""
        if not parts:
            none = np.empty(0, np.int64)
            return Readings(none, none, none, np.empty(0))
        return Readings(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


class Grouped(NamedTuple):
    """Rows in order of time, and what was left out of them.

    ``duplicates`` and ``refused`` count readings that were doubled or had no place, ``infinite``
    those that no 32-bit number can hold; ``infinite_name`` is the variable of one of these.
    """

    rows: list[Row]
    duplicates: int
    refused: int
    infinite: int = 0
    infinite_name: str = ""


def ends_of(times: NDArray[np.int64], step: int) -> NDArray[np.int64]:
    """(N,) for each time the first multiple of the step that is not before it."""
    return np.asarray(-(-np.clip(times, -LATEST_TIME, LATEST_TIME) // step) * step)


def is_possible(times: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(N,) whether each time can be meant and the store can keep the row that it belongs to."""
    return np.asarray((times >= 0) & (times <= LATEST_TIME) & (ends <= LATEST_TIME))


def keep_last(readings: Readings) -> tuple[Readings, int]:
    """Keep the last reading of each variable in each row, ordered by row and code.

    Also returns how many readings had the variable and the time of another.
    """
    ends, codes, times, _ = readings
    n = len(ends)
    if not n:
        return readings, 0
    width = int(codes.max()) + 1
    key = _row_numbers(ends) * width + codes
    if np.array_equal(times, ends) and (n_cells := int(key.max()) + 1) <= MOST_SPARSE * n:
        # On the grid, and most cells are filled: each goes straight to its place, the later over
        # the earlier.
        cells = np.full(n_cells, -1, np.int64)
        cells[key] = np.arange(n)
        order = cells[cells >= 0]
        return readings.take(order), n - len(order)
    # A stable sort: readings that are equal in all this stay in the order of their arrival.
    order = np.lexsort((times, key))
    key, times = key[order], times[order]
    is_last = np.ones(n, np.bool_)
    is_last[:-1] = key[1:] != key[:-1]
    duplicates = int((~is_last[:-1] & (times[1:] == times[:-1])).sum())
    return readings.take(order[is_last]), duplicates


def _row_numbers(ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """(N,) numbers that order the rows as their ends do, without gaps where sorting is cheap."""
    if ends.min() == ends.max():
        return np.zeros(len(ends), np.int64)
    return np.asarray(np.unique(ends, return_inverse=True)[1], np.int64)


def group(
    readings: Readings,
    names: Sequence[str],
    max_series: int,
    known: Container[str],
    previous: Sequence[str],
) -> Grouped:
    """Turn readings into rows, variables in the order of their names.

    Parameters
    ----------
    readings
        in the order of their arrival; codes are indices into names.
    names
        of the variables, each once.
    max_series
        variables a row takes; where it is offered more, those of ``known`` and of the row before
        come first, then by name.
    known, previous
        names; ``previous`` are those of the row before the first.
    """
    used = np.flatnonzero(np.bincount(readings.codes, minlength=len(names)))
    by_name = sorted(used.tolist(), key=names.__getitem__)
    sorted_names = [names[code] for code in by_name]
    rank = np.zeros(len(names), np.int64)
    rank[by_name] = np.arange(len(used))
    last, duplicates = keep_last(readings._replace(codes=rank[readings.codes]))
    with np.errstate(over="ignore"):
        values = last.values.astype(np.float32)
    refused = 0
    is_infinite = np.isinf(values)
    infinite = int(is_infinite.sum())
    infinite_name = sorted_names[last.codes[int(is_infinite.argmax())]] if infinite else ""
    is_seen = np.isfinite(values)
    ends, ranks, values = last.ends[is_seen], last.codes[is_seen], values[is_seen]
    starts = np.flatnonzero(np.diff(ends, prepend=ends[:1] - 1))
    rows = []
    for first, end in pairwise([*starts.tolist(), len(ends)]):
        row_names = [sorted_names[one] for one in ranks[first:end].tolist()]
        row_values = values[first:end]
        if len(row_names) > max_series:
            chosen = _chosen(row_names, max_series, known, frozenset(previous))
            refused += len(row_names) - max_series
            row_names = [row_names[one] for one in chosen.tolist()]
            row_values = row_values[chosen]
        previous = tuple(row_names)
        rows.append(Row(time=int(ends[first]), names=previous, values=row_values.copy()))
    return Grouped(rows, duplicates, refused, infinite, infinite_name)


def infinite_values(n: int, name: str) -> str:
    """Return what is said of infinite values that were left out, one of them of this variable."""
    return (
        f"{n} infinite value{'s' * (n != 1)} left out of the latest rows, of {name[:200]!a}; it "
        "counts as not observed: see whether something is divided by zero where it is computed"
    )


def _chosen(
    names: Sequence[str], n: int, known: Container[str], previous: frozenset[str]
) -> NDArray[np.int64]:
    """(n,) places in ``names`` to keep, in order."""
    is_new = np.array([name not in previous and name not in known for name in names])
    return np.sort(np.argsort(is_new, kind="stable")[:n])
