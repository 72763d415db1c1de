"""Thresholds of surprises: scores that are minus the logarithm of a p-value, in nats.

In: a false-alarm rate. Out: the score that it stands for, the same at every moment, though what was
normal when each row came may differ.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.decide.thresholds import check_rate, warn_of_extrapolation

__all__ = ["SurpriseThresholds"]


@dataclass(frozen=True)
class SurpriseThresholds:
    """What normal surprises look like, in nats.

    Parameters
    ----------
    n_independent
        how many independent normal windows the p-values rest on.

    Examples
    --------
    >>> nats = SurpriseThresholds(1000.0)
    >>> round(nats.threshold(0.01), 3), float(nats.p_values(np.array([0.0]))[0])
    (4.605, 1.0)
    """

    n_independent: float

    @property
    def usual(self) -> float:
        """A normal score: the median."""
        return math.log(2.0)

    def p_values(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """(B,) p-values; NaN where the score is NaN."""
        return np.exp(-scores)

    def threshold(self, rate: float) -> float:
        """Return the score above which the p-value is at most ``rate``.

        A warning says when the normal data are too short to know so small a rate.
        """
        check_rate(rate)
        warn_of_extrapolation(rate, self.n_independent)
        return -math.log(rate)
