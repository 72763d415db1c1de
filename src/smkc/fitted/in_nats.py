"""InNats: thresholds of scores that are surprises, minus the logarithm of a p-value.

In: a false-alarm rate. Out: the score that it stands for, the same at every moment, though what was
normal when each row came may differ.
"""

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.errors import CalibrationWarning, SettingError

__all__ = ["InNats"]

# A p-value so many times smaller than independent data could show is a bold extrapolation.
BOLD = 10.0


@dataclass(frozen=True)
class InNats:
    """Scores in nats.

    Parameters
    ----------
    n_independent
        how many independent normal windows the p-values rest on.

    Examples
    --------
    >>> nats = InNats(1000.0)
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
        if not 0 < rate < 1:
            raise SettingError(f"false_alarm_rate={rate!r}: give a rate between 0 and 1")
        if rate * BOLD * (1 + self.n_independent) < 1:
            warnings.warn(
                f"a false-alarm rate of {rate:g} is far below the 1 in "
                f"{1 + self.n_independent:.0f} that the reference data can show: the threshold is "
                "an extrapolation; give more reference data or a higher rate",
                CalibrationWarning,
                stacklevel=3,
            )
        return -math.log(rate)
