"""Jitted loops of the evidences: means, lags, components, counts, surprises.

In: arrays and scalars that the public modules checked. Out: arrays filled in place. A row's result
never depends on how many rows are handed over at once, not even in its last bit.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = [
    "charge",
    "component_residuals",
    "poisson_surprises",
    "pooled_lags",
    "surprises",
    "trailing_means",
]

ZERO = np.float32(0.0)
SOME = np.float32(1e-3)  # added to squared distances before their logarithm


@njit(cache=True, nogil=True)
def trailing_means(
    rows: NDArray[np.float32], length: int, least: float, out: NDArray[np.float32]
) -> None:
    """out[i, j] = mean of what was observed in rows[i : i + length, j]; NaN if too little was."""
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


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def pooled_lags(
    states: NDArray[np.float32],
    length: int,
    lags: int,
    shares: NDArray[np.float64],
    out: NDArray[np.float32],
) -> None:
    """out[i] = quantiles of log squared distances over lags, of states, changes and their sizes.

    ``states`` (length + lags + n, M): row i of ``out`` belongs to the state in line length + lags
    + i and pools the pairs of the last ``length`` states that are a lag apart.
    """
    n_rows, width = out.shape[0], states.shape[1]
    first = length + lags
    n_lines = first + n_rows
    logs = np.zeros((3, lags, n_lines), np.float32)
    for line in range(lags + 1, n_lines):
        for lag in range(1, lags + 1):
            plain, change, size = ZERO, ZERO, ZERO
            for b in range(width):
                a0, a1 = states[line, b], states[line - 1, b]
                b0, b1 = states[line - lag, b], states[line - lag - 1, b]
                d = a0 - b0
                plain += d * d
                da, db = a0 - a1, b0 - b1
                d = da - db
                change += d * d
                d = abs(da) - abs(db)
                size += d * d
            logs[0, lag - 1, line] = np.log(plain + SOME)
            logs[1, lag - 1, line] = np.log(change + SOME)
            logs[2, lag - 1, line] = np.log(size + SOME)
    part = np.empty(length, np.float32)
    for i in range(n_rows):
        at = 0
        for sequence in range(3):
            for lag in range(1, lags + 1):
                n = max(length - lag, 1)
                begin = first + i - n + 1
                for q in range(n):  # put in order: few values
                    x = logs[sequence, lag - 1, begin + q]
                    p = q
                    while p > 0 and part[p - 1] > x:
                        part[p] = part[p - 1]
                        p -= 1
                    part[p] = x
                for q in range(shares.size):
                    out[i, at] = part[int(shares[q] * (n - 1))]
                    at += 1


@njit(cache=True, nogil=True)
def component_residuals(
    rows: NDArray[np.float64],
    loadings: NDArray[np.float64],
    prior: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """out[i, j] = rows[i, j] minus what a ridge regression on loadings (k, C) says of it.

    The normal equations are factored anew only where another set of variables is observed.
    """
    n_rows, n_variables = rows.shape
    k = loadings.shape[0]
    factor = np.zeros((k, k))
    known = np.zeros((k, n_variables))  # loadings of what is observed, 0 elsewhere
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
    """Set ``factor`` to the Cholesky factor of the normal equations over what was seen."""
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
    """Return the sum of products of the first n entries; several are added at a time."""
    total = 0.0
    for j in range(n):
        total += left[j] * right[j]
    return total


@njit(cache=True, nogil=True, fastmath={"contract"})
def _subtract(row: NDArray[np.float64], other: NDArray[np.float64], times: float) -> None:
    """Subtract so many times another from a row."""
    for j in range(row.size):
        row[j] -= times * other[j]


@njit(cache=True, nogil=True)
def poisson_surprises(
    silent: NDArray[np.bool_],
    groups: NDArray[np.bool_],
    onsets: NDArray[np.float64],
    n_there: NDArray[np.float64],
    window: int,
    memory: float,
    rate: NDArray[np.float64],
    surprise: NDArray[np.float64],
    which: NDArray[np.int64],
) -> None:
    """surprise[i] = minus log of the chance that so many of a group fall silent by themselves.

    The largest over groups (G, C), corrected for their number, and which group it was. ``rate``
    (1,) follows ``onsets`` among ``n_there`` variables with a memory of so many rows.
    """
    n_rows, n_variables = silent.shape
    n_groups = groups.shape[0]
    for i in range(n_rows):
        best, at = 0.0, 0
        any_silent = False
        for j in range(n_variables):
            any_silent |= silent[i, j]
        if any_silent:
            for g in range(n_groups):
                count, size = 0, 0
                for j in range(n_variables):
                    if groups[g, j]:
                        size += 1
                        count += silent[i, j]
                if count < 2:
                    continue
                mean = rate[0] * window * size
                # Upper tail by its first terms: mean^k e^-mean / k! (1 + m/(k+1) + ...)
                log_term = count * np.log(mean) - mean
                for q in range(2, count + 1):
                    log_term -= np.log(q)
                total, term = 1.0, 1.0
                for q in range(count + 1, count + 40):
                    term *= mean / q
                    total += term
                value = -(log_term + np.log(total))
                if value > best:
                    best, at = value, g
        surprise[i] = max(best - np.log(n_groups), 0.0)
        which[i] = at
        if n_there[i] > 0:
            rate[0] += (onsets[i] / n_there[i] - rate[0]) / memory
            rate[0] = max(rate[0], 1.0 / memory)


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
    """out[i, e] = minus log p-value of statistics[i, e]: by rank, in the tail by a power law."""
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


@njit(cache=True)
def charge(
    surprises: NDArray[np.float64],
    threshold: float,
    release: float,
    calm_rows: int,
    half_life: float,
    first_row: int,
    spent: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Fill (n,) surprises less log(1 + what earlier alerts count for).

    An alert opens above ``threshold`` and ends after more than ``calm_rows`` rows not above
    ``release``. ``spent`` (4,): what was counted and the row of that, the peak of the alert that
    goes on, 0 if none does, and its latest row above ``release``.
    """
    for i in range(len(surprises)):
        row = first_row + i
        count = spent[0] * 0.5 ** ((row - spent[1]) / half_life)
        surprise = max(surprises[i] - np.log1p(count), 0.0)
        out[i] = surprise
        is_open = spent[2] > 0.0
        if (is_open and surprise > release) or surprise > threshold:
            spent[2] = max(spent[2], surprise)
            spent[3] = row
        elif is_open and row - spent[3] > calm_rows:
            age = spent[3] - spent[1]
            spent[0] = spent[0] * 0.5 ** (age / half_life) + np.exp(threshold - spent[2])
            spent[1] = spent[3]
            spent[2] = 0.0
