"""Robust standardisation: components of a score on a common scale, whatever a few of them do.

In: components of held-out normal windows. Out: the same in units of their own spread.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError

__all__ = ["Standard"]

# Interquartile range of the standard normal distribution: spread is 1 for a Gaussian component.
GAUSSIAN_IQR = 1.3489795003921634


@dataclass(frozen=True)
class Standard:
    """Median and spread of k components, each (k,) float64.

    Notes
    -----
    The paper asks for robust standardisation and names no measure; here it is the median and the
    interquartile range, in units in which a Gaussian component has spread 1.

    Examples
    --------
    >>> standard = Standard.of(np.array([[0.0], [1.0], [2.0], [3.0], [100.0]]))
    >>> standard.centre, (standard.spread * GAUSSIAN_IQR).round(3)
    (array([2.]), array([2.]))
    """

    centre: NDArray[np.float64]
    spread: NDArray[np.float64]

    @classmethod
    def of(cls, components: NDArray[np.float64]) -> "Standard":
        """Measure (B, k) components of normal windows."""
        if len(components) < 2:
            raise InputError(
                f"{len(components)} held-out normal windows tell no spread; give at least 2, "
                "better some hundred"
            )
        low, centre, high = np.quantile(components, [0.25, 0.5, 0.75], axis=0)
        spread = (high - low) / GAUSSIAN_IQR
        # A component that hardly varies among normal windows is not blown up without bound.
        least = np.finfo(np.float32).eps * np.maximum(np.abs(centre), 1.0)
        return cls(centre, np.maximum(spread, least))

    def __call__(self, components: NDArray[np.float64]) -> NDArray[np.float64]:
        """(B, k) components less their median, in spreads."""
        return (components - self.centre) / self.spread
