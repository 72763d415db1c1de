"""Jitted loops of the decision: the budget, the recent median, and surprises held over some rows.

In: arrays and scalars that the public modules have checked. Out: arrays filled in place. The result
for a row does not depend on how many rows are passed at once.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray


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
    """Fill (n,) with surprises minus log(1 + k), at least 0; k is the count of earlier alerts.

    An alert opens above ``threshold`` and ends after more than ``calm_rows`` rows not above
    ``release``. It then adds exp(``threshold`` - peak) to k, which halves every ``half_life`` rows.
    ``spent`` (4,) is updated: k, the row that k was updated in, the peak of the open alert, 0 if
    there is none, and the alert's latest row above ``release``.
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


@njit(cache=True, nogil=True)
def rise_above_median(
    values: NDArray[np.float64],
    latest: NDArray[np.float64],
    ordered: NDArray[np.float64],
    at: int,
    out: NDArray[np.float64],
) -> int:
    """Set out[i] to values[i] minus the median of the m values before it, at least 0.

    ``latest`` (m,) are these values, the oldest of them in position ``at``; ``ordered`` are the
    same in ascending order. Both are updated; return the new position of the oldest.
    """
    m = len(latest)
    for i in range(len(values)):
        middle = 0.5 * (ordered[(m - 1) // 2] + ordered[m // 2])
        out[i] = max(values[i] - middle, 0.0)
        new, place = values[i], np.searchsorted(ordered, latest[at])
        while place + 1 < m and ordered[place + 1] < new:
            ordered[place] = ordered[place + 1]
            place += 1
        while place > 0 and ordered[place - 1] > new:
            ordered[place] = ordered[place - 1]
            place -= 1
        ordered[place] = new
        latest[at] = new
        at = (at + 1) % m
    return at


@njit(cache=True, nogil=True)
def hold(covered: NDArray[np.float64], n_rows: int, out: NDArray[np.float64]) -> None:
    """Set out[i] to the mean, over the last ``n_rows`` rows, of the largest of ``n_rows`` rows.

    ``covered`` has 2 ``n_rows`` - 2 rows before the first.
    """
    largest = np.empty(len(out) + n_rows - 1)
    for i in range(len(largest)):
        largest[i] = covered[i]
        for row in range(i + 1, i + n_rows):
            largest[i] = max(largest[i], covered[row])
    for i in range(len(out)):
        total = 0.0
        for row in range(i, i + n_rows):
            total += largest[row]
        out[i] = total / n_rows
