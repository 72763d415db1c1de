"""Jitted loops over observations: a table of what is known of each variable, advanced in order.

In: the table and observations, rows in order of time. Out: scaled values, NaN where a value counts
as not observed; the table is changed in place.
"""

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["KNOWN", "TINY", "scale_row", "scale_rows"]

# What is known of one variable; a row of the table a slot.
KNOWN = np.dtype(
    [
        ("settled", np.bool_),  # centre and spread come from the reference data and stay
        ("counter", np.bool_),  # values are turned into a rate first
        ("count", np.int64),  # observations that centre and spread have followed
        ("centre", np.float64),
        ("spread", np.float64),
        ("prior", np.float64),  # the family's spread, 0 if not known
        ("last_value", np.float64),  # a counter's previous reading
        ("last_clock", np.float64),  # and when that was, NaN before the first
        ("seen", np.int64),  # the row of the latest observation, -1 before the first
    ],
    align=True,
)

WARMUP = 8  # observations without a family's spread before the own spread is trusted
HORIZON = 512  # observations that a followed centre and spread look back on
PRIOR_WEIGHT = 32  # observations that a family's spread counts for
BEND = 1.5  # Huber's bend: a residual moves the estimates by no more than this many spreads
# The variance of a unit normal clipped at BEND, so that the followed spread is unbiased.
BENT_VARIANCE = (
    math.erf(BEND / math.sqrt(2))
    - 2 * BEND * math.exp(-BEND * BEND / 2) / math.sqrt(2 * math.pi)
    + BEND * BEND * math.erfc(BEND / math.sqrt(2))
)
ROUNDING = 1e-6  # of the centre: a smaller spread is the rounding of float32, so constant
CONSTANT_SHARE = 0.01  # of the centre: the spread that a constant variable is given
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
    """Scale rows from ``first`` on; stop after a row that brought more than ``room`` newcomers.

    ``plain`` gets the values before scaling, counters as rates.

    Returns
    -------
    next_row
        the first row that was not scaled.
    newcomers
        how many unsettled variables were seen for the first time.
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
def scale_row(
    table: NDArray[Any],
    clock: float,
    slots: NDArray[np.int64],
    values: NDArray[np.floating[Any]],
    tick: int,
    clip: float,
    out: NDArray[np.float32],
) -> int:
    """Scale one row; values that are not finite float32 numbers count as not observed."""
    newcomers = 0
    for i in range(len(slots)):
        value = np.float32(values[i])
        if not math.isfinite(value):
            out[i] = np.nan
            continue
        known = table[slots[i]]
        newcomers += known.seen < 0 and not known.settled
        out[i] = _scale(known, _plain(known, clock, value, tick), clip)
    return newcomers


@njit(cache=True)
def _plain(known: Any, clock: float, value: np.float32, tick: int) -> float:
    """Return one observation as it is, or a counter's rate; NaN at its first reading."""
    x = float(np.float64(value))
    known.seen = tick
    return _rate(known, clock, x) if known.counter else x


@njit(cache=True)
def _scale(known: Any, x: float, clip: float) -> float:
    """Scale one plain value with what is known, then add it to what is known."""
    if math.isnan(x):
        return x
    if known.settled:
        deviation: float = (x - known.centre) / known.spread
        return min(max(deviation, -clip), clip)
    return _follow(known, x, clip)


@njit(cache=True)
def _rate(known: Any, clock: float, x: float) -> float:
    """Increase a unit of time since the previous reading; NaN if there was none."""
    increase: float = x - known.last_value if x >= known.last_value else x
    elapsed: float = clock - known.last_clock
    known.last_value = x
    known.last_clock = clock
    if not elapsed > 0.0:
        return np.nan
    return min(max(increase / elapsed, -RATE_LIMIT), RATE_LIMIT)


@njit(cache=True)
def _follow(known: Any, x: float, clip: float) -> float:
    """Scale with the variable's own past, then move its centre and spread by Huber's rule."""
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
        k = min(k, WARMUP)  # a constant past tells of no spread: once it moves it is young again
    known.count = k + 1
    weight = min(k + 1, HORIZON)
    is_warming_up = known.prior == 0.0 and k < WARMUP
    if is_constant:
        width = max(CONSTANT_SHARE * abs(known.centre), TINY)
    else:
        width = known.spread * math.sqrt(1.0 + 1.0 / k)  # the centre is uncertain too
    deviation = residual / width
    if is_warming_up or is_constant:
        # The plain running mean and variance: there is no spread yet to bend residuals at.
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
