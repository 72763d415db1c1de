"""Grouping: readings with the rows they belong to -> rows, by sorting once.

In: readings in order of arrival. Out: rows with the last value of each variable. The order of
arrival matters only for 2 readings of a variable at the same time: the later arrival is kept.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smkc.serve.rows import LATEST_TIME, Row

MOST_SPARSE = 4  # cells per reading above which sorting takes less memory than a table


class Readings(NamedTuple):
    """N readings: the end of each one's row, its variable's code, its time and value; (N,) each."""

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
        """Return the concatenation of several parts."""
        if not parts:
            none = np.empty(0, np.int64)
            return Readings(none, none, none, np.empty(0))
        return Readings(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


class Grouped(NamedTuple):
    """Rows in order of time, and counts of the readings that were left out.

    ``duplicates`` counts readings with the variable and time of another, ``refused`` those beyond
    ``max_series``, ``infinite`` those that are infinite as float32; ``infinite_name`` is the
    variable of one of the latter.
    """

    rows: list[Row]
    duplicates: int
    refused: int
    infinite: int = 0
    infinite_name: str = ""


def ends_of(times: NDArray[np.int64], step: int) -> NDArray[np.int64]:
    """Return (N,) row ends: for each time, the first multiple of the step at or after it."""
    return np.asarray(-(-np.clip(times, -LATEST_TIME, LATEST_TIME) // step) * step)


def is_possible(times: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return (N,) whether each time and its row's end are in the range that can be stored."""
    return np.asarray((times >= 0) & (times <= LATEST_TIME) & (ends <= LATEST_TIME))


def keep_last(readings: Readings) -> tuple[Readings, int]:
    """Return the last reading of each variable in each row, ordered by row and code.

    Also return the number of readings with the variable and time of another.
    """
    ends, codes, times, _ = readings
    n = len(ends)
    if not n:
        return readings, 0
    width = int(codes.max()) + 1
    key = _row_numbers(ends) * width + codes
    if np.array_equal(times, ends) and (n_cells := int(key.max()) + 1) <= MOST_SPARSE * n:
        # All times are on the grid and most cells are filled: write each reading to its cell, later
        # arrivals over earlier ones.
        cells = np.full(n_cells, -1, np.int64)
        cells[key] = np.arange(n)
        order = cells[cells >= 0]
        return readings.take(order), n - len(order)
    # lexsort is stable: readings with equal keys and times stay in order of arrival.
    order = np.lexsort((times, key))
    key, times = key[order], times[order]
    is_last = np.ones(n, np.bool_)
    is_last[:-1] = key[1:] != key[:-1]
    duplicates = int((~is_last[:-1] & (times[1:] == times[:-1])).sum())
    return readings.take(order[is_last]), duplicates


def _row_numbers(ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (N,) the index of each reading's row among the rows, from 0."""
    if ends.min() == ends.max():
        return np.zeros(len(ends), np.int64)
    return np.asarray(np.unique(ends, return_inverse=True)[1], np.int64)


def group(
    readings: Readings, names: Sequence[str], max_series: int, previous: Sequence[str]
) -> Grouped:
    """Turn readings into rows, with variables sorted by name.

    Readings are in order of arrival, and their codes are indices into ``names``. A row has at most
    ``max_series`` variables: those of the row before, then the first by name. ``previous`` are the
    names of the row before the first one here.
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
            chosen = _chosen(row_names, max_series, frozenset(previous))
            refused += len(row_names) - max_series
            row_names = [row_names[one] for one in chosen.tolist()]
            row_values = row_values[chosen]
        previous = tuple(row_names)
        rows.append(Row(time=int(ends[first]), names=previous, values=row_values.copy()))
    return Grouped(rows, duplicates, refused, infinite, infinite_name)


def infinite_values(n: int, name: str) -> str:
    """Return the problem text for n infinite values that were left out, with a variable's name."""
    return (
        f"{n} infinite value{'s' * (n != 1)} left out of the latest rows, of {name[:200]!a}; it "
        "counts as not observed: see whether something is divided by zero where it is computed"
    )


def _chosen(names: Sequence[str], n: int, previous: frozenset[str]) -> NDArray[np.int64]:
    """Return (n,) indices into ``names`` of the variables to keep, ascending."""
    is_new = np.array([name not in previous for name in names])
    return np.sort(np.argsort(is_new, kind="stable")[:n])
