"""Upper tail of a null distribution: statistics of normal windows -> p-values of other windows.

In: numbers of normal windows. Out: p-values, by rank, and by an exponential fit in the tail.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["TAIL_SHARE", "Tail"]

# The tail is this share of the largest numbers: too few for p-values by rank.
TAIL_SHARE = 0.03

# Lower bound of log p-values, well above the log of the smallest positive float64.
LOWEST_LOG = -600.0


@dataclass(frozen=True)
class Tail:
    """Empirical distribution of normal windows' numbers, with an exponential tail.

    Parameters
    ----------
    normal
        (n,) the numbers, ascending.

    Notes
    -----
    Exceedances over a high quantile are modelled as exponential: the limit for light-tailed
    distributions (J. Pickands, "Statistical inference using extreme order statistics", Annals of
    Statistics 3, 1975).
    """

    normal: NDArray[np.float64]

    @classmethod
    def of(cls, numbers: NDArray[np.float64]) -> "Tail":
        """Return the tail of (n,) numbers; NaN is ignored."""
        return cls(np.sort(numbers[~np.isnan(numbers)]))

    def log_p(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return log p-values of numbers of any shape; NaN where the number is NaN.

        All are NaN if there are no normal numbers.

        Examples
        --------
        >>> tail = Tail.of(np.arange(1000.0))
        >>> np.exp(tail.log_p(np.array([-5.0, 499.5, 1500.0]))).round(3)
        array([1. , 0.5, 0. ])
        """
        n = len(self.normal)
        if n == 0:
            return np.full(np.shape(numbers), np.nan)
        at_least = n - np.searchsorted(self.normal, numbers, side="left")
        by_rank = np.log((1.0 + at_least) / (1.0 + n))
        start, share, mean = self._start
        with np.errstate(invalid="ignore"):
            beyond = np.log(share) - (numbers - start) / mean if mean > 0 else by_rank
            log_p = np.where(numbers > start, beyond, by_rank)
        return np.where(np.isnan(numbers), np.nan, np.maximum(log_p, LOWEST_LOG))

    @cached_property
    def _start(self) -> tuple[float, float, float]:
        """Start of the tail, share of numbers beyond it, and their mean excess."""
        start = float(np.quantile(self.normal, 1 - TAIL_SHARE))
        above = self.normal[self.normal > start]
        mean = float((above - start).mean()) if len(above) else 0.0
        return start, (1.0 + len(above)) / (1.0 + len(self.normal)), mean
