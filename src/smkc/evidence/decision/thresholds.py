"""Thresholds of surprises: scores that are minus the logarithm of a p-value, in nats.

In: a false-alarm rate. Out: the corresponding score. It is the same for every row, although what is
normal may differ from row to row.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.decide.calibration import check_rate, warn_of_extrapolation


@dataclass(frozen=True)
class SurpriseThresholds:
    """The distribution of normal surprises, in nats.

    Parameters
    ----------
    n_independent
        number of independent normal observations that the p-values are based on.

    Examples
    --------
    >>> nats = SurpriseThresholds(1000.0)
    >>> round(nats.threshold(0.01), 3), float(nats.p_values(np.array([0.0]))[0])
    (4.605, 1.0)
    """

    n_independent: float

    @property
    def usual(self) -> float:
        """Median of normal scores."""
        return math.log(2.0)

    def p_values(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (B,) p-values of (B,) scores; NaN where the score is NaN."""
        return np.exp(-scores)

    def threshold(self, rate: float) -> float:
        """Return the score above which the p-value is at most ``rate``.

        Warn if the normal data are too short for so small a rate.
        """
        check_rate(rate)
        warn_of_extrapolation(rate, self.n_independent)
        return -math.log(rate)
