"""Calibration: score -> p-value, from normal data that the density has not seen.

In: scores of normal windows or time steps, each computed with the block of rows around it left out
of the reference set. Out: p-values, or the threshold for a false-alarm rate.
"""

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from smkc.errors import CalibrationWarning, SettingError

# The tail holds about this many independent scores, but at least and at most these shares of all.
TAIL_SCORES = 20
LEAST_TAIL, MOST_TAIL = 0.03, 0.2

# Smallest p-value: none is zero, however far a score is from all normal ones.
SMALLEST = float(np.finfo(np.float64).tiny)

# A rate is an extrapolation if it is below 1 / (1 + number of independent scores) by this factor.
EXTRAPOLATION_FACTOR = 10.0


class Thresholds(Protocol):
    """Distribution of normal scores."""

    @property
    def usual(self) -> float:
        """A normal score: the median."""

    def p_values(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (B,) p-values; NaN where the score is NaN."""

    def threshold(self, rate: float) -> float:
        """Return the score above which the p-value is at most ``rate``."""


def check_rate(rate: Any) -> None:
    """Raise SettingError unless ``rate`` is a float between 0 and 1."""
    if not isinstance(rate, float) or not 0 < rate < 1:
        raise SettingError(f"false_alarm_rate={rate!r}: give a rate between 0 and 1")


def warn_of_extrapolation(rate: float, n_independent: float) -> None:
    """Warn if there are too few normal data to support so small a rate."""
    if rate * EXTRAPOLATION_FACTOR * (1 + n_independent) < 1:
        warnings.warn(
            f"a false-alarm rate of {rate:g} is far below the 1 in "
            f"{1 + n_independent:.0f} that the reference data can show: the threshold is "
            "an extrapolation; give more reference data or a higher rate",
            CalibrationWarning,
            stacklevel=4,
        )


@dataclass(frozen=True)
class Calibration:
    """Distribution of the scores of normal data.

    Parameters
    ----------
    null
        (n,) scores of normal data, ascending.
    n_independent
        number of independent scores they are worth: neighbouring windows share rows, so that n
        scores of windows that advance by 1 row are worth about n / window.

    Notes
    -----
    Conformal p-values treat the test score as one more of the normal ones: (1 + number of null
    scores >= score) / (n + 1). For blocks of dependent scores the same holds if the scores of each
    block together count as one. Beyond the last few independent scores, ranks say nothing; there
    the tail is assumed to be exponential with unknown scale: the predictive tail is
    (1 + x / (k b))^-k for k independent exceedances of mean b, which is heavier for smaller k.
    """

    null: NDArray[np.float64]
    n_independent: float

    @property
    def usual(self) -> float:
        """A normal score: the median."""
        return float(np.median(self.null))

    def p_values(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (B,) p-values; NaN where the score is NaN.

        Examples
        --------
        >>> calibration = Calibration(np.arange(1000.0), n_independent=1000)
        >>> calibration.p_values(np.array([-1.0, 500.0, 2000.0])).round(4)
        array([1.    , 0.5005, 0.    ])
        """
        n = len(self.null)
        share = (n - np.searchsorted(self.null, scores, side="left")) / n
        by_rank = (1 + self.n_independent * share) / (1 + self.n_independent)
        start, p_start, k, mean = self._tail
        excess = np.maximum(scores - start, 0.0)
        by_tail = p_start * (1 + excess / (k * mean)) ** -k if mean > 0 else by_rank
        by_tail = np.maximum(by_tail, SMALLEST)
        return np.where(np.isnan(scores), np.nan, np.where(scores > start, by_tail, by_rank))

    def threshold(self, rate: float) -> float:
        """Return the score above which the p-value is at most ``rate``.

        Warns if there are too few normal data for so small a rate.

        Examples
        --------
        >>> Calibration(np.arange(1000.0), n_independent=1000).threshold(0.1)
        900.0
        """
        check_rate(rate)
        warn_of_extrapolation(rate, self.n_independent)
        start, p_start, k, mean = self._tail
        if rate < p_start and mean > 0:
            return float(start + k * mean * ((p_start / rate) ** (1 / k) - 1))
        share = (rate * (1 + self.n_independent) - 1) / self.n_independent
        n_above = int(np.floor(max(share, 0.0) * len(self.null) + 1e-9))
        return float(self.null[max(len(self.null) - 1 - n_above, 0)])

    @cached_property
    def _tail(self) -> tuple[float, float, float, float]:
        """Score where the tail begins, p-value there, independent exceedances, their mean."""
        wanted = float(np.clip(TAIL_SCORES / max(self.n_independent, 1), LEAST_TAIL, MOST_TAIL))
        n = len(self.null)
        start = float(self.null[n - 1 - int(n * wanted)])
        above = self.null[self.null > start]
        share = len(above) / n
        k = max(self.n_independent * share, 1.0)
        p_start = (1 + self.n_independent * share) / (1 + self.n_independent)
        mean = float((above - start).mean()) if len(above) else 0.0
        return start, p_start, k, mean

    def merged(self, more: "Calibration", most: int, seed: int) -> "Calibration":
        """Return a calibration with more null scores; at most ``most``, drawn at random."""
        null = np.concatenate([self.null, more.null])
        if len(null) > most:
            rng = np.random.Generator(np.random.PCG64([seed, len(null)]))
            null = rng.choice(null, most, replace=False)
        return Calibration(np.sort(null), self.n_independent + more.n_independent)
