"""Thresholds: what is asked of anything that knows what normal scores look like.

In: scores, or a false-alarm rate. Out: p-values, or the score that stands for the rate.
"""

import warnings
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from smkc.errors import CalibrationWarning, SettingError

__all__ = ["Thresholds", "check_rate", "warn_of_extrapolation"]

# A p-value smaller than independent data could show by this factor is an extrapolation.
EXTRAPOLATION_FACTOR = 10.0


class Thresholds(Protocol):
    """What normal scores look like."""

    @property
    def usual(self) -> float:
        """A normal score: the median."""

    def p_values(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """(B,) p-values; NaN where the score is NaN."""

    def threshold(self, rate: float) -> float:
        """Return the score above which the p-value is at most ``rate``."""


def check_rate(rate: Any) -> None:
    """Refuse what is not a false-alarm rate."""
    if not isinstance(rate, float) or not 0 < rate < 1:
        raise SettingError(f"false_alarm_rate={rate!r}: give a rate between 0 and 1")


def warn_of_extrapolation(rate: float, n_independent: float) -> None:
    """Warn of a rate that the normal data are too short to show."""
    if rate * EXTRAPOLATION_FACTOR * (1 + n_independent) < 1:
        warnings.warn(
            f"a false-alarm rate of {rate:g} is far below the 1 in "
            f"{1 + n_independent:.0f} that the reference data can show: the threshold is "
            "an extrapolation; give more reference data or a higher rate",
            CalibrationWarning,
            stacklevel=4,
        )
