"""Jitted loops of the evidences: trailing means, components, surprises.

In: arrays and scalars that the public modules have checked. Out: arrays filled in place. The result
for a row does not depend on how many rows are passed at once, to the last bit.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

ZERO = np.float32(0.0)


@njit(cache=True, nogil=True)
def trailing_means(
    rows: NDArray[np.float32], length: int, least: float, out: NDArray[np.float32]
) -> None:
    """Set out[i, j] to the mean of the observations in rows[i : i + length, j].

    NaN if there are fewer than ``least``.
    """
    n_rows, n_variables = out.shape
    sums, counts = np.empty(n_variables), np.empty(n_variables)
    for i in range(n_rows):
        sums[:] = 0.0
        counts[:] = 0.0
        for line in range(i, i + length):
            for j in range(n_variables):
                x = rows[line, j]
                is_seen = x == x
                sums[j] += x if is_seen else 0.0
                counts[j] += is_seen
        for j in range(n_variables):
            out[i, j] = sums[j] / counts[j] if counts[j] >= least else np.nan


@njit(cache=True, nogil=True)
def component_residuals(
    rows: NDArray[np.float64],
    loadings: NDArray[np.float64],
    prior: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Set out[i, j] to the residual of rows[i, j] after ridge regression on loadings (k, C).

    NaN in ``rows`` is not observed. The normal equations are factored again only for a row with
    another set of observed variables than the row before.
    """
    n_rows, n_variables = rows.shape
    k = loadings.shape[0]
    factor = np.zeros((k, k))
    known = np.zeros((k, n_variables))  # loadings of observed variables, 0 for others
    row = np.zeros(n_variables)
    seen_before = np.zeros(n_variables, np.bool_)
    value = np.empty(k)
    for i in range(n_rows):
        is_same = i > 0
        for j in range(n_variables):
            is_seen = rows[i, j] == rows[i, j]
            if is_seen != seen_before[j]:
                is_same = False
            seen_before[j] = is_seen
            row[j] = rows[i, j] if is_seen else 0.0
        if not is_same:
            for a in range(k):
                for j in range(n_variables):
                    known[a, j] = loadings[a, j] if seen_before[j] else 0.0
            _factored(known, prior, factor)
        for a in range(k):
            total = _product(known[a], row, n_variables)
            total -= _product(factor[a], value, a)
            value[a] = total / factor[a, a]
        for a in range(k - 1, -1, -1):
            total = value[a]
            for b in range(a + 1, k):
                total -= factor[b, a] * value[b]
            value[a] = total / factor[a, a]
        for a in range(k):
            _subtract(row, known[a], value[a])
        for j in range(n_variables):
            out[i, j] = row[j] if seen_before[j] else np.nan


@njit(cache=True, nogil=True)
def _factored(
    known: NDArray[np.float64], prior: NDArray[np.float64], factor: NDArray[np.float64]
) -> None:
    """Set ``factor`` to the Cholesky factor of the normal equations of observed variables."""
    k, n_variables = known.shape
    for a in range(k):
        for b in range(a + 1):
            total = prior[a] if a == b else 0.0
            total += _product(known[a], known[b], n_variables)
            total -= _product(factor[a], factor[b], b)
            if a == b:
                factor[a, a] = np.sqrt(max(total, 1e-12))
            else:
                factor[a, b] = total / factor[b, b]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _product(left: NDArray[np.float64], right: NDArray[np.float64], n: int) -> float:
    """Return the dot product of the first n entries; the sum is vectorized."""
    total = 0.0
    for j in range(n):
        total += left[j] * right[j]
    return total


@njit(cache=True, nogil=True, fastmath={"contract"})
def _subtract(row: NDArray[np.float64], other: NDArray[np.float64], times: float) -> None:
    """Subtract ``times`` x ``other`` from a row."""
    for j in range(row.size):
        row[j] -= times * other[j]


@njit(cache=True, nogil=True)
def surprises(
    statistics: NDArray[np.float64],
    logs: NDArray[np.float64],
    counts: NDArray[np.int64],
    middle: NDArray[np.float64],
    spread: NDArray[np.float64],
    start: NDArray[np.float64],
    nats_at_tail: float,
    index: float,
    out: NDArray[np.float64],
) -> None:
    """Set out[i, e] to minus the log p-value of statistics[i, e]; NaN where that is NaN.

    The p-value is based on ranks up to the start of the tail, and on a power law beyond.
    """
    n_rows, n_evidences = statistics.shape
    for e in range(n_evidences):
        n = counts[e]
        for i in range(n_rows):
            x = statistics[i, e]
            if x != x:
                out[i, e] = np.nan
                continue
            log = np.log1p(max((x - middle[e]) / spread[e], 0.0))
            if log > start[e]:
                out[i, e] = nats_at_tail + index * (log - start[e])
            else:
                above = n - np.searchsorted(logs[e, :n], log)
                out[i, e] = min(np.log((1.0 + n) / (1.0 + above)), nats_at_tail)


@njit(cache=True, nogil=True)
def root_mean_squares(rows: NDArray[np.float64], missing: float, out: NDArray[np.float64]) -> None:
    """Set out[i] to the root of the mean square of row i, where NaN counts as ``missing``."""
    n, n_columns = rows.shape
    for i in range(n):
        total = 0.0
        for j in range(n_columns):
            x = rows[i, j]
            total += missing * missing if np.isnan(x) else x * x
        out[i] = np.sqrt(total / n_columns)
