"""Jitted loops of distances between windows: of rows, to the nearest window, per variable.

In: arrays and scalars that the public module has checked. Out: arrays filled in place. The result
for a row does not depend on how many rows are passed at once, to the last bit.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

TILE = 512  # stored rows per pass, so that their values and the sums stay in the cache
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
    """Find the nearest stored window of each of the latest rows.

    Parameters
    ----------
    history
        (w - 1 + n, S) squared distances of rows; those of row i are in line w - 1 + i.
    rows
        (w - 1 + n, C) the rows themselves, NaN where not observed.
    penalty
        (S,) 0 where a window ends that may be the nearest, else infinity.
    distances
        (n,) filled with the root mean squared distance from that window, per observed entry; 0
        where nothing was observed.
    places
        (n,) filled with the positions of these windows.
    """
    n_rows = len(places)
    w = history.shape[0] - n_rows + 1
    n_stored, n_variables = history.shape[1], rows.shape[1]
    total = np.empty(n_stored, np.float32)
    for i in range(n_rows):
        line = w - 1 + i
        n_observed = 0
        for lag in range(w):
            for j in range(n_variables):
                x = rows[line - lag, j]
                n_observed += x == x
        _window_sums(history, line, w, total)
        for s in range(n_stored):
            total[s] += penalty[s]
        nearest = _smallest(total)
        place = 0
        while place < n_stored - 1 and total[place] != nearest:
            place += 1
        places[i] = place
        distances[i] = np.sqrt(nearest / max(n_observed, 1))


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


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _smallest(values: NDArray[np.float32]) -> np.float32:
    """Return the smallest value; there is no NaN, so that the loop is vectorized."""
    smallest: np.float32 = values[0]
    for value in values:
        smallest = min(smallest, value)
    return smallest


@njit(cache=True, nogil=True)
def window_residuals(
    rows: NDArray[np.float32],
    stored: NDArray[np.float32],
    places: NDArray[np.int64],
    out: NDArray[np.float32],
) -> None:
    """Set out[i, j] to the mean squared difference of variable j from the nearest window.

    NaN where the variable was not observed in the window. ``rows`` (w - 1 + n, C) has NaN where not
    observed; ``places`` (n,) are the positions in ``stored`` (C, S) of the nearest windows' last
    rows.
    """
    n_rows = len(places)
    w = rows.shape[0] - n_rows + 1
    n_variables = stored.shape[0]
    for i in range(n_rows):
        for j in range(n_variables):
            summed, count = ZERO, 0
            for lag in range(w):
                x = rows[w - 1 + i - lag, j]
                if x == x:
                    d = x - stored[j, places[i] - lag]
                    summed += d * d
                    count += 1
            out[i, j] = summed / np.float32(count) if count else np.nan
