"""Shares: how the budget of false alerts is divided among columns.

In: names of the columns and their reference rows. Out: the nats subtracted from each column's
surprise as a correction for the number of columns and questions.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.settings import SETTINGS
from smkc.recording import parse

# Characters that end the first word of a name.
_WORDS = re.compile(r"[^A-Za-z0-9]")


def shares(
    names: Sequence[str], n_questions: NDArray[np.integer[Any]], values: NDArray[np.float32]
) -> tuple[NDArray[np.float64], int]:
    """Return (C,) the correction of each column in nats, and the number of groups.

    Every group has the same share of the budget, so that hundreds of series of one exporter do not
    use up the share of a few others; newcomers are a group of their own. Within a group, columns
    that were extreme in the same reference rows ``values`` (n, C) count once. ``n_questions`` (C,)
    are asked of the columns; without any, a column's correction is 0.
    """
    members: dict[str, list[int]] = {}
    for column in np.flatnonzero(n_questions).tolist():
        members.setdefault(_group(names[column]), []).append(column)
    n_groups = len(members) + 1
    nats = np.zeros(len(names))
    for columns in members.values():
        n_independent = effective_number(values[:, columns])
        nats[columns] = np.log(n_groups * n_independent * n_questions[columns].mean())
    return nats, n_groups


def effective_number(values: NDArray[np.float32]) -> float:
    """Return the number of independent columns that are extreme in as many rows as these are.

    The k most extreme of n rows are marked for each of the (n, C) columns, such that the marks
    would suffice for every row, but no more than both tails hold. C independent columns leave a
    share of (1 - k / n)^C of the rows without a mark; columns that are extreme together leave more.

    Notes
    -----
    This is the extremal coefficient of the columns: M. Schlather and J. A. Tawn, A dependence
    measure for multivariate and spatial extreme values, Biometrika 90 (2003), section 2.

    Examples
    --------
    >>> column = np.random.default_rng(0).normal(size=(1000, 1)).astype(np.float32)
    >>> effective_number(np.repeat(column, 5, axis=1)), effective_number(column)
    (1.0, 1.0)
    """
    n, n_columns = values.shape
    if n < 2 or n_columns < 2:
        return float(max(n_columns, 1))
    k = max(1, min(round(n / n_columns), int(2 * SETTINGS.tail_share * n)))
    is_marked = np.zeros(n, bool)
    for column in values.T:
        is_marked[_most_extreme(column, k)] = True
    is_unmarked = max(1.0 - is_marked.mean(), 1.0 / n)
    return float(np.clip(np.log(is_unmarked) / np.log1p(-k / n), 1.0, n_columns))


def _most_extreme(column: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Return the k rows farthest from the median; of rows equally far, some that are spread out."""
    seen = np.flatnonzero(~np.isnan(column))
    if len(seen) <= k:
        return seen
    distance = np.abs(column[seen] - np.median(column[seen]))
    edge = np.partition(distance, len(seen) - k)[len(seen) - k]
    beyond, at_edge = seen[distance > edge], seen[distance == edge]
    some = np.linspace(0, len(at_edge) - 1, k - len(beyond)).astype(np.int64)
    return np.concatenate([beyond, at_edge[some]])


def _group(name: str) -> str:
    """Return the first word of a variable's name, which for Prometheus metrics is the exporter.

    Examples
    --------
    >>> _group('node_load1{instance="a"}'), _group("carts/cpu"), _group("x")
    ('node', 'carts', 'x')
    """
    parts = parse(name)
    return _WORDS.split(name if parts is None else parts[0], maxsplit=1)[0]
