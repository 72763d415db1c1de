"""Speeds: a mixture model of how fast the factors of reference windows move.

In: log likelihoods of a grid of speeds in reference windows. Out: the speeds that occur, the
frequency of each, and the pairs of them that count as a change.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.single_window._loops import Prior
from benchmarks.single_window.couplings import Couplings, is_mixture

__all__ = ["SPEED_GRID", "Speeds"]

# Variances of a factor's step in octaves, in squares of the reference windows' unit.
_LEVELS = 2.0 ** np.arange(-9.0, 2.0)
SPEED_GRID = np.stack([np.repeat(_LEVELS, len(_LEVELS)), np.tile(_LEVELS, len(_LEVELS))])

ATOMS = 16
ROUNDS = 300

# Two speeds count as a change if they differ by this many octaves, summed over both factors.
LEAST_CHANGE = 1.5


@dataclass(frozen=True)
class Speeds:
    """A mixture of speeds.

    Parameters
    ----------
    unit
        median of the reference windows' units (root mean square deviations); variances are in its
        square.
    variances
        (2, A) variances of the two factors' steps.
    weights
        (A,) frequency of each pair of variances; they sum to 1.
    """

    unit: float
    variances: NDArray[np.float64]
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, unit: float, log_likelihoods: NDArray[np.float64]) -> "Speeds":
        """Fit the mixture to (n, G) log likelihoods of SPEED_GRID in reference windows.

        Notes
        -----
        Non-parametric maximum likelihood of a mixing distribution, by EM on a grid: N. Laird,
        "Nonparametric maximum likelihood estimation of a mixing distribution", JASA 73, 1978.
        The order of the factors is arbitrary, so both orders get the same weight.
        """
        n_levels = len(_LEVELS)
        swapped = np.arange(n_levels * n_levels).reshape(n_levels, n_levels).T.ravel()
        known = log_likelihoods[~np.isnan(log_likelihoods).any(axis=1)]
        weights = np.full(n_levels * n_levels, 1.0 / (n_levels * n_levels))
        if len(known):
            likelihoods = np.exp(known - known.max(axis=1, keepdims=True))
            for _ in range(ROUNDS):
                # Sums, not matrix products: the same bits on every machine and with any threads.
                shares = likelihoods * weights
                shares /= shares.sum(axis=1, keepdims=True)
                weights = shares.mean(axis=0)
                weights = 0.5 * (weights + weights[swapped])
        chosen = np.argsort(-weights, kind="stable")[:ATOMS]
        kept = weights[chosen] / weights[chosen].sum()
        return cls(unit, SPEED_GRID[:, chosen], kept)

    def is_sound(self) -> bool:
        """Return whether this is a valid mixture; one read from a file may not be."""
        return (
            isinstance(self.unit, float)
            and 0 < self.unit < np.inf
            and is_mixture(self.variances, self.weights)
            and len(self.variances) == 2
            and bool((self.variances > 0).all())
        )

    def prior(self, couplings: Couplings) -> Prior:
        """Return both mixtures in the form that the compiled loops take.

        A pair of speeds counts as a change if they differ by at least LEAST_CHANGE octaves in total
        and no factor speeds up while the other slows down.
        """
        log_weights = np.log(self.weights + 1e-9)
        octaves = np.log2(self.variances[:, :, None] / self.variances[:, None, :])
        is_change = np.abs(octaves).sum(axis=0) >= LEAST_CHANGE
        is_change &= (octaves > -0.01).all(axis=0) | (octaves < 0.01).all(axis=0)
        pairs = np.where(is_change, log_weights[:, None] + log_weights[None, :], -np.inf)
        if is_change.any():
            highest = pairs.max()
            pairs -= highest + np.log(np.exp(pairs - highest).sum())
        return Prior(
            self.unit,
            np.ascontiguousarray(self.variances),
            log_weights,
            pairs,
            couplings.table(),
        )
