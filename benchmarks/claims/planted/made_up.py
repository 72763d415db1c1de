"""Made-up worlds with a planted fault or a known season, and what the default detector finds.

In: seeds and sizes. Out: counts, and recordings with a daily season to plant other faults in.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.claims.planted.counts import Count, alerts_of, fitted, judged
from smkc.recording import Recording

__all__ = [
    "DAILY",
    "PERIODS",
    "daily_counts",
    "daily_waves",
    "seasons_found",
    "shifted_count",
    "shifted_gaussian",
]

SHIFT_SPREADS = 8.0
SHIFTED_ROWS = 100
ROWS_BEFORE_SHIFT = 200
LIVE_ROWS = 400
SHIFTED = 11  # number of the variable

HOUR, FIVE_MINUTES = 3600, 300
START = np.datetime64("2026-01-05T00", "ns")  # a Monday

# Periods in rows. The longest is a day of 5-minute rows; 12.5 and 36.25 are no whole numbers.
PERIODS = (24, 48, 60, 96, 144, 288, 12.5, 7, 100, 36.25)
SHAPES = ("wave", "peaks")
PERIODS_SEEN, FEWEST_ROWS = 6, 300
SEASONAL_VARIABLES = 4
FOUR_WEEKS = 28 * 288  # rows of 5 minutes

# A season agrees with a known period if it is a multiple of it, but for this share of the period.
PERIOD_TOLERANCE = 0.02


def shifted_count(seed: int, *, n_variables: int = 160, n_weeks: int = 6) -> Count:
    """Shift one of many hourly counts, each with a season, by 8 of its standard deviations."""
    rng = np.random.default_rng(seed)
    n_reference = n_weeks * 7 * 24
    hours = np.arange(n_reference + LIVE_ROWS)[:, None]
    season = 1 + 0.6 * np.sin(2 * np.pi * hours / 24 + rng.uniform(0, 2 * np.pi, n_variables))
    values = rng.poisson(rng.uniform(5, 50, n_variables) * season).astype(float)
    size = np.round(SHIFT_SPREADS * values[:n_reference, SHIFTED].std())
    return _shifted("counts", seed, values, n_reference, size)


def shifted_gaussian(seed: int, *, n_variables: int = 2000, n_reference: int = 1000) -> Count:
    """Shift one of many independent Gaussian variables by 8 standard deviations."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_reference + LIVE_ROWS, n_variables))
    return _shifted("gaussian", seed, values, n_reference, SHIFT_SPREADS)


def _shifted(
    case: str, seed: int, values: NDArray[np.float64], n_reference: int, size: float
) -> Count:
    """Shift one variable of (n, C) values for 100 of the live rows, and judge these."""
    first = ROWS_BEFORE_SHIFT
    stop = first + SHIFTED_ROWS
    values[n_reference + first : n_reference + stop, SHIFTED] += size
    times = np.arange(len(values))
    detector = fitted(_frame(times[:n_reference], values[:n_reference]))
    alerts = alerts_of(detector, _frame(times[n_reference:], values[n_reference:]))
    is_found, is_named, n_false = judged(alerts, first, stop, [_name(SHIFTED)])
    return Count(
        case=case,
        part=f"seed {seed}",
        found=int(is_found),
        of=1,
        named=int(is_named),
        false_alerts=n_false,
        rows=LIVE_ROWS - SHIFTED_ROWS,
    )


def seasons_found(kind: str, *, periods: tuple[float, ...] = PERIODS) -> Count:
    """Count the recordings in all variables of which a season of the known period was found.

    ``kind`` is "rows" (six periods and at least 300 rows, without dates), "dates" (the same rows
    5 minutes apart), "four weeks" (of such rows), or "noise" (as "rows", without any season; counts
    the recordings in which any was found).
    """
    n_found = 0
    for period in periods:
        for shape in SHAPES:
            rng = np.random.default_rng(int(period))
            n_rows = FOUR_WEEKS if kind == "four weeks" else PERIODS_SEEN * int(np.ceil(period))
            rows = np.arange(max(n_rows, FEWEST_ROWS))
            phase = rows / period % 1.0
            wave, peak = np.sin(2 * np.pi * phase), np.exp(-(((phase - 0.5) / 0.1) ** 2))
            sizes = rng.uniform(1, 3, SEASONAL_VARIABLES) * (kind != "noise")
            values = (wave if shape == "wave" else peak)[:, None] * sizes
            values += 0.2 * rng.normal(size=values.shape)
            has_dates = kind in ("dates", "four weeks")
            step = FIVE_MINUTES if has_dates else 1
            times: NDArray[Any] = _dates(len(rows), step) if has_dates else rows
            seasons = fitted(_frame(times, values)).fitted_.seasons
            if kind == "noise":
                n_found += bool(seasons)
            else:
                n_found += _agree(seasons, period * step)
    return Count(case=f"season, {kind}", part="", found=n_found, of=len(periods) * len(SHAPES))


def _agree(seasons: Mapping[str, float], period: float) -> bool:
    """Return whether all variables have a season that is a multiple of the period."""
    ratios = np.array(list(seasons.values())) / period
    is_multiple = (ratios > 0.5) & (np.abs(ratios - np.round(ratios)) <= PERIOD_TOLERANCE)
    return len(ratios) == SEASONAL_VARIABLES and bool(is_multiple.all())


def daily_waves(
    *, n_reference_days: int = 40, n_live_days: int = 40
) -> tuple[Recording, Recording]:
    """Return a reference and live rows of 6 hourly variables that rise and fall with the day."""
    rng = np.random.default_rng(7)
    hours = np.arange(24 * (n_reference_days + n_live_days))
    load = 100 + 50 * np.sin(2 * np.pi * (hours - 9) / 24)
    values = load[:, None] * rng.uniform(0.5, 2.0, 6) + 4 * rng.normal(size=(len(hours), 6))
    return _parts(values, HOUR, 24 * n_reference_days)


def daily_counts(
    *, n_reference_days: int = 28, n_live_days: int = 14
) -> tuple[Recording, Recording]:
    """Return a reference and live rows of 8 counts per 5 minutes, with quieter weekends."""
    rng = np.random.default_rng(8)
    rows = np.arange(288 * (n_reference_days + n_live_days))
    day = 1 + 0.6 * np.sin(2 * np.pi * rows[:, None] / 288 + rng.uniform(0, 2 * np.pi, 8))
    week = np.where(rows // 288 % 7 >= 5, 0.6, 1.0)[:, None]
    values = rng.poisson(rng.uniform(20, 200, 8) * day * week).astype(float)
    return _parts(values, FIVE_MINUTES, 288 * n_reference_days)


DAILY = MappingProxyType({"made-up waves": daily_waves, "made-up counts": daily_counts})
"""Made-up recordings with a daily season, by name."""


def _parts(values: NDArray[np.float64], step: int, cut: int) -> tuple[Recording, Recording]:
    """Return (n, C) values as a recording of the first rows and one of the others."""
    rows, codes = np.divmod(np.arange(values.size), values.shape[1])
    names = tuple(_name(j) for j in range(values.shape[1]))
    times = _dates(len(values), step)
    whole = Recording.from_observations(times, rows, codes, values.ravel(), names)
    return whole.rows(0, cut).canonical(), whole.rows(cut).canonical()


def _frame(times: NDArray[Any], values: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    return {"time": times, **{_name(j): column for j, column in enumerate(values.T)}}


def _dates(n_rows: int, step: int) -> NDArray[np.datetime64]:
    """Return (n_rows,) dates with ``step`` seconds from one to the next."""
    return START + (step * np.arange(n_rows)).astype("timedelta64[s]")


def _name(number: int) -> str:
    return f"v{number:04d}"
