"""Pooled statistics: a window of any variables -> 6 numbers, for detectors of fixed width.

In: windows. Out: (B, 6) statistics, and their standardisation by training windows.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.windows import Windows
from smkc.errors import InputError

__all__ = ["STATISTICS", "Standardisation", "pooled_statistics"]

STATISTICS = (
    "mean over time of the mean over variables",
    "spread over time of the mean over variables",
    "mean over time of the spread over variables",
    "spread over time of the spread over variables",
    "mean over time of the observed share",
    "spread over time of the observed share",
)

# Standardised statistics are clipped to this range: scikit-learn's trees read float32, and a value
# of 1e38 must give a score, not an error. Windows of the benchmark never come near it.
LARGEST_STANDARDISED = 1e9


def pooled_statistics(windows: Windows) -> NDArray[np.float64]:
    """(B, 6) float64: each window's statistics, in the order of STATISTICS.

    Each time step has 3 numbers: mean and standard deviation over the variables observed then, and
    the observed share (observed variables / cardinality of the window). The statistics are the mean
    and the standard deviation over time of these 3. Standard deviations divide by the count. Steps
    without an observation are left out, except for the observed share; a window without any
    observation has 0 there.

    Notes
    -----
    The paper, section "Baselines and dynamic input handling", says "pooled window-level
    statistics" and names none. With minima and maxima, which it does not mention, the detectors
    would be far better than its rows.
    """
    # Sum variables one by one in the order of their names, so that neither the order of the
    # columns nor padding changes a bit.
    order = np.argsort(windows.variables.astype(np.uint32), axis=1, kind="stable")[:, None, :]
    values = np.take_along_axis(windows.values, order, axis=2).astype(np.float64)
    observed = np.take_along_axis(windows.observed, order, axis=2)
    n_observed = np.count_nonzero(observed, axis=2)
    n_or_one = np.maximum(n_observed, 1)

    n_windows, length, n_places = values.shape
    mean = np.zeros((n_windows, length))
    for place in range(n_places):
        mean += np.where(observed[:, :, place], values[:, :, place], 0.0)
    mean /= n_or_one
    variance = np.zeros((n_windows, length))
    for place in range(n_places):
        difference = np.where(observed[:, :, place], values[:, :, place] - mean, 0.0)
        variance += difference * difference
    spread = np.sqrt(variance / n_or_one)

    share = n_observed / np.maximum(windows.cardinality, 1)[:, None]
    every_step = np.ones((n_windows, length), np.bool_)
    is_seen = n_observed > 0
    return np.stack(
        [*_over_time(mean, is_seen), *_over_time(spread, is_seen), *_over_time(share, every_step)],
        axis=1,
    )


def _over_time(
    series: NDArray[np.float64], counted: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation (B,) of (B, L) series over the counted steps."""
    n_steps = np.maximum(np.count_nonzero(counted, axis=1), 1)
    mean = np.where(counted, series, 0.0).sum(axis=1) / n_steps
    difference = np.where(counted, series - mean[:, None], 0.0)
    return mean, np.sqrt((difference * difference).sum(axis=1) / n_steps)


@dataclass(frozen=True)
class Standardisation:
    """Centre (6,) and spread (6,) of the statistics over the training windows."""

    centre: NDArray[np.float64]
    spread: NDArray[np.float64]

    @classmethod
    def of(cls, statistics: NDArray[np.float64]) -> "Standardisation":
        """Learn from (B, 6) statistics; a constant one is centred but not scaled."""
        if len(statistics) == 0:
            raise InputError("no windows to learn from; give at least one normal window")
        spread = statistics.std(axis=0)
        # The mean of a constant has a rounding error, and thus its deviation is not exactly 0.
        is_constant = spread <= 1e-12 * np.abs(statistics).max(axis=0)
        return cls(statistics.mean(axis=0), np.where(is_constant, 1.0, spread))

    def applied(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """(B, 6) statistics in units of the training windows' spread."""
        standardised = (statistics - self.centre) / self.spread
        return np.clip(standardised, -LARGEST_STANDARDISED, LARGEST_STANDARDISED)
