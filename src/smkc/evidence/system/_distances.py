"""Jitted loops of distances between windows: of rows, to the nearest windows, per variable.

In: arrays and scalars that the public module has checked. Out: arrays filled in place. The result
for a row does not depend on how many rows are passed at once, to the last bit.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

TILE = 512  # stored rows per pass, so that their values and the sums stay in the cache
GROUP = 16
ZERO = np.float32(0.0)
INFINITE = np.float32(np.inf)


@njit(cache=True, nogil=True, fastmath={"contract"})
def row_distances(
    rows: NDArray[np.float32], stored: NDArray[np.float32], out: NDArray[np.float32]
) -> None:
    """Set out[i, s] to the squared distance of row i from stored row s, over observed variables.

    ``rows`` (n, C), NaN where not observed, and ``stored`` (C, S) are already scaled. Variables are
    added 4 at a time.
    """
    n_rows, n_variables = rows.shape
    n_stored = stored.shape[1]
    for first in range(0, n_stored, TILE):
        last = min(first + TILE, n_stored)
        for i in range(n_rows):
            sums = out[i, first:last]
            sums[:] = ZERO
            j = 0
            while j + 4 <= n_variables:
                x0, x1, x2, x3 = rows[i, j], rows[i, j + 1], rows[i, j + 2], rows[i, j + 3]
                r0, r1 = stored[j, first:last], stored[j + 1, first:last]
                r2, r3 = stored[j + 2, first:last], stored[j + 3, first:last]
                total = x0 + x1 + x2 + x3
                if total == total:
                    for s in range(sums.size):
                        d0, d1, d2, d3 = x0 - r0[s], x1 - r1[s], x2 - r2[s], x3 - r3[s]
                        sums[s] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)
                else:
                    for part in range(4):
                        x = rows[i, j + part]
                        if x == x:
                            r = stored[j + part, first:last]
                            for s in range(sums.size):
                                d = x - r[s]
                                sums[s] += d * d
                j += 4
            while j < n_variables:
                x = rows[i, j]
                if x == x:
                    r = stored[j, first:last]
                    for s in range(sums.size):
                        d = x - r[s]
                        sums[s] += d * d
                j += 1


@njit(cache=True, nogil=True)
def nearest_windows(
    history: NDArray[np.float32],
    rows: NDArray[np.float32],
    penalty: NDArray[np.float32],
    distances: NDArray[np.float64],
    places: NDArray[np.int64],
) -> None:
    """Find the nearest stored windows of each of the latest rows.

    Parameters
    ----------
    history
        (w - 1 + n, S) squared distances of rows; those of row i are in line w - 1 + i.
    rows
        (w - 1 + n, C) the rows themselves, NaN where not observed.
    penalty
        (S,) 0 where a window ends that may be a neighbour, else infinity.
    distances
        (n,) filled with the root mean squared distance, per observed entry, from the k nearest
        windows; 0 where nothing was observed.
    places
        (n, k) filled with the positions of these windows, the nearest first; -1 for none.
    """
    n_rows, k = places.shape
    w = history.shape[0] - n_rows + 1
    n_stored, n_variables = history.shape[1], rows.shape[1]
    total = np.empty(n_stored, np.float32)
    best = np.empty(k, np.float32)
    for i in range(n_rows):
        line = w - 1 + i
        n_observed = 0
        for lag in range(w):
            for j in range(n_variables):
                x = rows[line - lag, j]
                n_observed += x == x
        _window_sums(history, line, w, total)
        place = places[i]
        best[:] = INFINITE
        place[:] = -1
        _keep_nearest(total, penalty, best, place)
        distances[i] = _mean_distance(best, n_observed)


@njit(cache=True, nogil=True)
def _window_sums(
    history: NDArray[np.float32], line: int, w: int, total: NDArray[np.float32]
) -> None:
    """Set total[s] to the sum of history[line - lag, s - lag] over lags below w.

    It is infinite for s < w - 1.
    """
    n = total.size
    total[: w - 1] = INFINITE
    out = total[w - 1 :]
    first = history[line, w - 1 :]
    for s in range(out.size):
        out[s] = first[s]
    lag = 1
    while lag + 3 < w:
        a, b = history[line - lag], history[line - lag - 1]
        c, d = history[line - lag - 2], history[line - lag - 3]
        a, b = a[w - 1 - lag : n - lag], b[w - 2 - lag : n - lag - 1]
        c, d = c[w - 3 - lag : n - lag - 2], d[w - 4 - lag : n - lag - 3]
        for s in range(out.size):
            out[s] += (a[s] + b[s]) + (c[s] + d[s])
        lag += 4
    while lag < w:
        a = history[line - lag, w - 1 - lag : n - lag]
        for s in range(out.size):
            out[s] += a[s]
        lag += 1


@njit(cache=True, nogil=True)
def _mean_distance(best: NDArray[np.float32], n_observed: int) -> float:
    """Return the root mean squared distance per entry over the neighbours found."""
    summed, n_found = 0.0, 0
    for value in best:
        if value < INFINITE:
            summed += value
            n_found += 1
    return float(np.sqrt(summed / max(n_found * n_observed, 1)))


@njit(cache=True, nogil=True)
def _keep_nearest(
    total: NDArray[np.float32],
    penalty: NDArray[np.float32],
    best: NDArray[np.float32],
    place: NDArray[np.int64],
) -> None:
    """Insert the smallest values of ``total`` plus ``penalty`` into ``best``.

    Values are tested in groups of 16, as most groups have no value that is small enough.
    """
    last = total.size
    worst = best[best.size - 1]
    s = 0
    while s + GROUP <= last:
        group = total[s : s + GROUP]
        n_small = np.int32(0)
        for q in range(GROUP):
            n_small += np.int32(group[q] < worst)
        if n_small > 0:
            for q in range(GROUP):
                if group[q] < worst:
                    _insert(group[q] + penalty[s + q], s + q, best, place)
            worst = best[best.size - 1]
        s += GROUP
    while s < last:
        if total[s] < best[best.size - 1]:
            _insert(total[s] + penalty[s], s, best, place)
        s += 1


@njit(cache=True, nogil=True)
def _insert(
    value: np.float32, at: int, best: NDArray[np.float32], place: NDArray[np.int64]
) -> None:
    """Insert a value into ``best``, the smallest values in ascending order, if it is one."""
    last = best.size - 1
    if not value < best[last]:
        return
    while last > 0 and best[last - 1] > value:
        best[last] = best[last - 1]
        place[last] = place[last - 1]
        last -= 1
    best[last] = value
    place[last] = at


@njit(cache=True, nogil=True)
def window_residuals(
    rows: NDArray[np.float32],
    stored: NDArray[np.float32],
    where: NDArray[np.int64],
    out: NDArray[np.float32],
) -> None:
    """Set out[i, j] to the mean squared difference of variable j over neighbours and rows.

    NaN where the variable was not observed in the window. ``rows`` (w - 1 + n, C) has NaN where not
    observed; ``where`` (n, k) are the positions in ``stored`` (C, S) of the windows' last rows.
    """
    n_rows, k = where.shape
    w = rows.shape[0] - n_rows + 1
    n_variables = stored.shape[0]
    for i in range(n_rows):
        for j in range(n_variables):
            summed, count = ZERO, 0
            for lag in range(w):
                x = rows[w - 1 + i - lag, j]
                if x != x:
                    continue
                for near in range(k):
                    s = where[i, near]
                    if s < 0:
                        break
                    d = x - stored[j, s - lag]
                    summed += d * d
                    count += 1
            out[i, j] = summed / np.float32(count) if count else np.nan
