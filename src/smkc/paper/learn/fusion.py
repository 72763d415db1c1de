"""Fusion: the standardised components of a window -> one score.

In: (B, k) components. Out: (B,) scores, higher = more anomalous. There are 2 methods: a fixed
weighted sum, and tail probabilities among normal windows.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Share of normal windows, the largest, that an exponential tail is fitted to; below them, p is
# empirical.
TAIL_SHARE = 0.1


@dataclass(frozen=True)
class WeightedSum:
    """A fixed weighted sum, by ``weights`` (k,): the paper's fusion for one objective.

    Examples
    --------
    >>> WeightedSum(np.array([1.0, 0.5]))(np.array([[2.0, 4.0]]))
    array([4.])
    """

    weights: NDArray[np.float64]

    def __call__(self, components: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (B,) weighted sums."""
        return summed(components * self.weights)


@dataclass(frozen=True)
class TailFusion:
    """Sum of -log p, where p is the share of normal windows whose component is at least as large.

    No labels are needed. A component within the normal range contributes little, one far outside
    contributes much, so that one clear component outweighs several weak ones. ``ordered`` (n, k)
    are the sorted components of normal windows, ``scale`` (k,) the mean excess of the largest
    TAIL_SHARE over the smallest of these.

    Notes
    -----
    R. A. Fisher, Statistical Methods for Research Workers, 1932, section 21.1. The tail from the
    largest tenth on is exponential, so that scores keep rising beyond the largest normal component.
    """

    ordered: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def fitted(cls, components: NDArray[np.float64]) -> "TailFusion":
        """Learn from (n, k) components of normal windows."""
        # In Fortran order, so that sums do not depend on how the components lie in memory.
        ordered = np.sort(np.asfortranarray(components), axis=0)
        first = _tail(len(ordered))
        excess = (ordered[first:] - ordered[first]).sum(axis=0) / max(len(ordered) - first - 1, 1)
        return cls(ordered, np.maximum(excess, 1e-12))

    def __call__(self, components: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (B,) sums of -log p."""
        n, k = self.ordered.shape
        first = _tail(n)
        surprising = np.empty(components.shape)
        for at in range(k):
            values, normal = components[:, at], self.ordered[:, at]
            # Interpolate p between neighbouring normal components, to avoid ties.
            rank = np.interp(values, normal, np.arange(n))
            p = (n - rank) / (n + 1)
            beyond = values > normal[first]
            surprising[:, at] = -np.log(p)
            excess = (values[beyond] - normal[first]) / self.scale[at]
            surprising[beyond, at] = excess - np.log((n - first) / (n + 1))
        return summed(surprising)


Fusion = WeightedSum | TailFusion

# Fusions by the name that model files give them.
FUSIONS: dict[str, type[Fusion]] = {
    "WeightedSum": WeightedSum,
    "TailFusion": TailFusion,
}


def summed(terms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (B,) sums over k, added in order: the result does not depend on the number B."""
    total = np.zeros(len(terms))
    for at in range(terms.shape[1]):
        total += terms[:, at]
    return total


def _tail(n: int) -> int:
    """Return the index at which the largest tenth of n sorted numbers begins."""
    return min(n - 1, int(np.ceil((1 - TAIL_SHARE) * n)))
