"""Counters: which variables only ever count up, and their rates per unit of time.

In: readings ordered by variable and time. Out: one verdict per variable, or rates.
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from smkc.errors import SettingError
from smkc.recording._loops import RATE_LIMIT
from smkc.recording.identity import parse

Counters = Literal["auto"] | None

MIN_HISTORY = 32  # observations that settle a variable
MOST_RESETS = 0.01  # share of the steps
FEWEST_INCREASES = 0.1  # share of the steps
SUFFIXES = ("_total", "_count", "_sum", "_bucket")  # Prometheus' naming of counters
NANOSECONDS_PER_SECOND = 1e9


def check_counters(counters: object) -> None:
    """Raise SettingError unless ``counters`` is "auto" or None."""
    if counters not in ("auto", None):
        raise SettingError(
            f'counters={counters!r} is not known; use "auto" to turn counters into rates, '
            "or None to take every value as it is"
        )


def clock(times: NDArray[Any], origin: Any) -> NDArray[np.float64]:
    """Return (T,) time since ``origin``: in seconds for dates, else in the times' own unit."""
    elapsed = times - origin
    if times.dtype.kind == "M":
        return np.asarray(elapsed.astype(np.int64) / NANOSECONDS_PER_SECOND)
    return np.asarray(elapsed, np.float64)


def is_counter_name(variable: str) -> bool:
    """Return whether the metric is named like a Prometheus counter.

    Examples
    --------
    >>> is_counter_name('http_requests_total{code="200"}'), is_counter_name("memory_bytes")
    (True, False)
    """
    parts = parse(variable)
    return (variable if parts is None else parts[0]).endswith(SUFFIXES)


def verdicts(
    codes: NDArray[np.integer[Any]], values: NDArray[np.float64], n_variables: int
) -> NDArray[np.int8]:
    """Return for each variable 1 if it is a counter, 0 if not, -1 if its readings do not tell.

    ``codes`` and ``values`` (N,) are ordered by variable, then by time. A counter is never
    negative, falls only by a reset, to below half of its previous value, in at most 1% of the
    steps, and rises in at least 10% of them. With fewer than 32 readings, or too few rises, the
    verdict is -1.
    """
    same = codes[1:] == codes[:-1]
    before, after = values[:-1][same], values[1:][same]
    step_codes = codes[1:][same]

    def tally(chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.bincount(step_codes[chosen], minlength=n_variables)

    steps = np.bincount(step_codes, minlength=n_variables)
    is_reset = after < 0.5 * before
    falls = tally((after < before) & ~is_reset)
    negatives = np.bincount(codes[values < 0], minlength=n_variables)
    is_none = (falls > 0) | (negatives > 0) | (tally(is_reset) > MOST_RESETS * steps)
    is_one = (steps + 1 >= MIN_HISTORY) & (tally(after > before) >= FEWEST_INCREASES * steps)
    return np.where(is_none, 0, np.where(is_one, 1, -1)).astype(np.int8)


def rates(
    codes: NDArray[np.integer[Any]], values: NDArray[np.float64], clocks: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return (N,) increase per unit of time since the variable's previous reading.

    NaN for its first reading. Observations are ordered by variable, then by time. After a reset
    the increase is the new reading, as in Prometheus: the counter restarted from 0.

    Examples
    --------
    >>> rates(np.zeros(4, int), np.array([5.0, 9.0, 9.0, 2.0]), np.array([0.0, 2.0, 3.0, 4.0]))
    array([nan,  2.,  0.,  2.])
    """
    result = np.full(len(values), np.nan)
    before, after = values[:-1], values[1:]
    increase = np.where(after >= before, after - before, after)
    elapsed = np.diff(clocks)
    usable = (codes[1:] == codes[:-1]) & (elapsed > 0)
    with np.errstate(over="ignore", invalid="ignore"):
        result[1:][usable] = np.clip(increase[usable] / elapsed[usable], -RATE_LIMIT, RATE_LIMIT)
    return result
