"""Thresholds: what is asked of anything that knows what normal scores look like.

In: scores, or a false-alarm rate. Out: p-values, or the score that stands for the rate.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Thresholds"]


class Thresholds(Protocol):
    """What normal scores look like."""

    @property
    def usual(self) -> float:
        """A normal score: the median."""

    def p_values(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """(B,) p-values; NaN where the score is NaN."""

    def threshold(self, rate: float) -> float:
        """Return the score above which the p-value is at most ``rate``."""
