"""Couplings: a mixture model of how variables of reference windows follow the factors.

In: moments that determine the loadings and noise of each variable of reference windows. Out: the
couplings that occur and the frequency of each. Variables have no names here: a coupling describes
a type of variable.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.single_window._couplings import CELL_VARIANCE, N_MOMENTS

__all__ = ["Couplings", "is_mixture"]

# Grid of loadings in steps of 1/2: factors are scaled so that variables that follow one have
# loadings of about 1. Noise variance in octaves, in squares of the reference windows' unit.
_LOADINGS = np.arange(-3.0, 4.0) / 2
_NOISES = 2.0 ** np.arange(-8.0, 3.0)
_GRID = np.stack(
    [part.ravel() for part in np.meshgrid(_LOADINGS, _LOADINGS, _NOISES, indexing="ij")]
)

ATOMS = 16
ROUNDS = 100

# Maximum number of variables from which couplings are learned.
MOST_VARIABLES = 4000


@dataclass(frozen=True)
class Couplings:
    """A mixture of couplings.

    Parameters
    ----------
    loadings
        (2, A) loadings of a variable on each factor, in common units.
    noise
        (A,) variance of its noise, in squares of the same unit.
    weights
        (A,) frequency of each coupling; they sum to 1.
    """

    loadings: NDArray[np.float64]
    noise: NDArray[np.float64]
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, moments: NDArray[np.float64]) -> "Couplings":
        """Fit the mixture to (n, P * 7) moments of windows' variables; rows of NaN are ignored.

        Notes
        -----
        Non-parametric maximum likelihood by EM on a grid, as for speeds. The signs and the order
        of the factors are arbitrary, so couplings that differ only in these get the same weight.
        """
        rows = moments.reshape(-1, N_MOMENTS)
        rows = rows[~np.isnan(rows).any(axis=1)]
        if len(rows) > MOST_VARIABLES:
            rows = rows[np.arange(MOST_VARIABLES) * len(rows) // MOST_VARIABLES]
        weights = np.full(_GRID.shape[1], 1.0 / _GRID.shape[1])
        if len(rows):
            likelihoods = _likelihoods(rows)
            for _ in range(ROUNDS):
                # Sums, not matrix products: the same bits on every machine and with any threads.
                shares = likelihoods * weights
                shares /= shares.sum(axis=1, keepdims=True)
                weights = _made_even(shares.mean(axis=0))
        chosen = np.argsort(-weights, kind="stable")[:ATOMS]
        kept = weights[chosen] / weights[chosen].sum()
        return cls(_GRID[:2, chosen], _GRID[2, chosen], kept)

    def is_sound(self) -> bool:
        """Return whether this is a valid mixture; one read from a file may not be."""
        return (
            is_mixture(self.loadings, self.weights)
            and len(self.loadings) == 2
            and is_mixture(self.noise[None], self.weights)
            and bool((self.noise > 0).all())
        )

    def table(self) -> NDArray[np.float64]:
        """Return (A, 4) loadings, noise and log weight of each coupling, for the compiled loops."""
        log_weights = np.log(self.weights + 1e-9)
        return np.ascontiguousarray(np.stack([*self.loadings, self.noise, log_weights], axis=1))


def is_mixture(atoms: NDArray[np.float64], weights: NDArray[np.float64]) -> bool:
    """Return whether (k, A) atoms and (A,) weights are finite floats and no weight is negative."""
    return (
        atoms.dtype == weights.dtype == np.float64
        and atoms.ndim == 2
        and weights.shape == atoms.shape[1:]
        and bool(np.isfinite(atoms).all() and np.isfinite(weights).all())
        and bool((weights >= 0).all())
    )


def _likelihoods(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, G) likelihoods of the grid's couplings given (n, 7) moments; each row's largest is 1."""
    a, b, d, x0, x1, xx, n = rows.T[:, :, None]
    u, v, noise = _GRID
    wide = CELL_VARIANCE / noise
    u00, u01, u11 = 1.0 + wide * a, wide * b, 1.0 + wide * d
    determinant = u00 * u11 - u01 * u01
    g0, g1 = (x0 - a * u - b * v) / noise, (x1 - b * u - d * v) / noise
    inside = CELL_VARIANCE * (u11 * g0 * g0 - 2.0 * u01 * g0 * g1 + u00 * g1 * g1) / determinant
    logs = 0.5 * ((u * x0 + v * x1 - xx) / noise + u * g0 + v * g1 + inside)
    logs -= 0.5 * (np.log(determinant) + n * np.log(noise))
    likelihoods: NDArray[np.float64] = np.exp(logs - logs.max(axis=1, keepdims=True))
    return likelihoods


def _made_even(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """(G,) weights averaged over couplings that differ only in signs or in the factors' order."""
    cube = weights.reshape(len(_LOADINGS), len(_LOADINGS), len(_NOISES))
    cube = 0.5 * (cube + cube[::-1])
    cube = 0.5 * (cube + cube[:, ::-1])
    return (0.5 * (cube + cube.transpose(1, 0, 2))).ravel()
