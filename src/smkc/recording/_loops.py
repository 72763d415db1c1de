"""Jitted loops that scale observations and update a table of the state of each variable.

In: the table and observations, rows in order of time. Out: scaled values, NaN where a value counts
as not observed; the table is changed in place.
"""

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

# State of one variable; one row of the table per slot.
KNOWN = np.dtype(
    [
        ("settled", np.bool_),  # centre and spread come from the reference data and are fixed
        ("counter", np.bool_),  # values are turned into a rate first
        ("count", np.int64),  # observations that have updated centre and spread
        ("centre", np.float64),
        ("spread", np.float64),
        ("prior", np.float64),  # the family's spread, 0 if not known
        ("last_value", np.float64),  # a counter's previous reading
        ("last_clock", np.float64),  # its time, NaN before the first
        ("seen", np.int64),  # number of the row last observed in, -1 before the first
    ],
    align=True,
)

WARMUP = 8  # observations before a variable's own spread is trusted, if its family has none
HORIZON = 512  # observations that a running centre and spread effectively average over
PRIOR_WEIGHT = 32  # observations that the family's spread counts for
BEND = 1.5  # Huber's bend: a residual counts as at most this many spreads
# The variance of a unit normal clipped at BEND, so that the running spread is unbiased.
BENT_VARIANCE = (
    math.erf(BEND / math.sqrt(2))
    - 2 * BEND * math.exp(-BEND * BEND / 2) / math.sqrt(2 * math.pi)
    + BEND * BEND * math.erfc(BEND / math.sqrt(2))
)
ROUNDING = 1e-6  # share of the centre: a smaller spread is float32 rounding of a constant
CONSTANT_SHARE = 0.01  # share of the centre: the spread assigned to a constant variable
TINY = 1e-60  # below any difference of two float32 numbers, and its square is still a float64
RATE_LIMIT = 1e60  # above any rate of float32 readings a nanosecond apart; its square is finite


@njit(cache=True)
def scale_rows(
    table: NDArray[Any],
    clocks: NDArray[np.float64],
    indptr: NDArray[np.int64],
    codes: NDArray[np.int32],
    slot_of: NDArray[np.int64],
    values: NDArray[np.float32],
    first: int,
    tick: int,
    clip: float,
    room: int,
    out: NDArray[np.float32],
    plain: NDArray[np.float32],
) -> tuple[int, int]:
    """Scale rows from ``first`` on; stop after the row that brings newcomers above ``room``.

    ``out`` receives the scaled values, ``plain`` the values before scaling, counters as rates.

    Returns
    -------
    next_row
        the first row that was not scaled.
    newcomers
        number of unsettled variables that were seen for the first time.
    """
    newcomers = 0
    for row in range(first, len(clocks)):
        for i in range(indptr[row], indptr[row + 1]):
            known = table[slot_of[codes[i]]]
            newcomers += known.seen < 0 and not known.settled
            x = _plain(known, clocks[row], values[i], tick + row - first)
            plain[i] = x
            out[i] = _scale(known, x, clip)
        if newcomers > room:
            return row + 1, newcomers
    return len(clocks), newcomers


@njit(cache=True)
def _plain(known: Any, clock: float, value: np.float32, tick: int) -> float:
    """Return an observation's value, or a counter's rate, which is NaN at its first reading."""
    x = float(np.float64(value))
    known.seen = tick
    return _rate(known, clock, x) if known.counter else x


@njit(cache=True)
def _scale(known: Any, x: float, clip: float) -> float:
    """Scale one plain value; if the variable is not settled, update its centre and spread."""
    if math.isnan(x):
        return x
    if known.settled:
        deviation: float = (x - known.centre) / known.spread
        return min(max(deviation, -clip), clip)
    return _follow(known, x, clip)


@njit(cache=True)
def _rate(known: Any, clock: float, x: float) -> float:
    """Return the increase per unit of time since the previous reading; NaN if there is none."""
    increase: float = x - known.last_value if x >= known.last_value else x
    elapsed: float = clock - known.last_clock
    known.last_value = x
    known.last_clock = clock
    if not elapsed > 0.0:
        return np.nan
    return min(max(increase / elapsed, -RATE_LIMIT), RATE_LIMIT)


@njit(cache=True)
def _follow(known: Any, x: float, clip: float) -> float:
    """Scale with the variable's own past, then update its centre and spread by Huber's rule."""
    k = known.count
    if k == 0:
        known.count = 1
        known.centre = x
        known.spread = known.prior
        return 0.0
    residual = x - known.centre
    least = max(ROUNDING * abs(known.centre), TINY)
    is_constant = known.spread <= least
    if is_constant and abs(residual) > least:
        k = min(k, WARMUP)  # a constant past says little about the spread: reduce its weight
    known.count = k + 1
    weight = min(k + 1, HORIZON)
    is_warming_up = known.prior == 0.0 and k < WARMUP
    if is_constant:
        width = max(CONSTANT_SHARE * abs(known.centre), TINY)
    else:
        width = known.spread * math.sqrt(1.0 + 1.0 / k)  # the centre is uncertain too
    deviation = residual / width
    if is_warming_up or is_constant:
        # Plain running mean and variance: there is no spread yet to clip residuals with.
        known.centre += residual / weight
        variance = known.spread**2 * (weight - 2) / (weight - 1) + residual**2 / weight
        known.spread = math.sqrt(variance)
    else:
        bent = min(max(deviation, -BEND), BEND)
        known.centre += bent * width / weight
        if known.prior > 0.0:
            weight += PRIOR_WEIGHT
        known.spread *= math.sqrt(1.0 + (bent * bent / BENT_VARIANCE - 1.0) / weight)
    return 0.0 if is_warming_up else min(max(deviation, -clip), clip)
