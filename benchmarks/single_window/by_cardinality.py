"""Standardisation of a statistic by cardinality.

In: a statistic and the cardinalities of normal windows. Out: the statistic of any window, minus the
median of normal windows at that cardinality, divided by their high quantile minus median. Values
between the cardinalities of normal windows are interpolated.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["HIGH", "ByCardinality"]

HIGH = 0.9

# A cardinality with fewer normal windows beyond the high quantile is pooled with its neighbour.
FEWEST_BEYOND = 2

# The excess at one cardinality is at least this share of the median excess, and at least this many
# nats: differences of hundredths of a nat mean nothing.
LEAST_SHARE, LEAST_EXCESS = 0.1, 0.02


@dataclass(frozen=True)
class ByCardinality:
    """Median and excess of a statistic as functions of log cardinality.

    Parameters
    ----------
    log_cardinality
        (n,) points of interpolation, ascending.
    usual, log_excess
        (n,) the median there, and the log of the high quantile minus the median.
    grows
        whether to extrapolate linearly beyond these points; otherwise the end values are used.
    """

    log_cardinality: NDArray[np.float64]
    usual: NDArray[np.float64]
    log_excess: NDArray[np.float64]
    grows: bool

    @classmethod
    def of(
        cls,
        numbers: NDArray[np.float64],
        cardinality: NDArray[np.int64],
        grows: bool,
        high: float = HIGH,
    ) -> "ByCardinality":
        """Learn from (n,) statistics of normal windows; NaN is ignored."""
        is_known = ~np.isnan(numbers)
        numbers, cardinality = numbers[is_known], cardinality[is_known]
        at, usual, excess = [], [], []
        for group in _groups(cardinality, round(FEWEST_BEYOND / (1 - high))):
            middle, upper = np.quantile(numbers[group], [0.5, high])
            at.append(np.log(cardinality[group]).mean())
            usual.append(middle)
            excess.append(upper - middle)
        least = max(LEAST_SHARE * float(np.median(excess)), LEAST_EXCESS) if excess else 1.0
        return cls(
            np.array(at),
            np.array(usual),
            np.log(np.maximum(np.array(excess), least)),
            grows,
        )

    def standardised(
        self, numbers: NDArray[np.float64], cardinality: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """(n,) statistics, minus the median and divided by the excess at their cardinality."""
        if len(self.usual) == 0:
            return np.full(len(numbers), np.nan)
        x = np.log(np.maximum(cardinality, 1))
        excess = np.exp(self._at(self.log_excess, x))
        return (numbers - self._at(self.usual, x)) / excess

    def _at(self, values: NDArray[np.float64], x: NDArray[np.float64]) -> NDArray[np.float64]:
        knots = self.log_cardinality
        if len(knots) == 1:
            return np.full(len(x), values[0])
        left = np.clip(np.searchsorted(knots, x) - 1, 0, len(knots) - 2)
        share = (x - knots[left]) / (knots[left + 1] - knots[left])
        if not self.grows:
            share = np.clip(share, 0.0, 1.0)
        return (1 - share) * values[left] + share * values[left + 1]


def _groups(cardinality: NDArray[np.int64], fewest: int) -> list[NDArray[np.bool_]]:
    """Return masks of windows that are pooled, by ascending cardinality."""
    groups: list[NDArray[np.bool_]] = []
    waiting = np.zeros(len(cardinality), np.bool_)
    for value in np.unique(cardinality):
        waiting = waiting | (cardinality == value)
        if waiting.sum() >= fewest:
            groups.append(waiting)
            waiting = np.zeros(len(cardinality), np.bool_)
    if waiting.any():
        if groups:
            groups[-1] = groups[-1] | waiting
        else:
            groups.append(waiting)
    return groups
