"""Couplings: how variables of reference windows follow the factors, as a mixture of a few ways.

In: what each variable of reference windows says of its loadings and its noise. Out: the couplings
that occur and how often each does. No variable is known by name: a coupling is a kind of variable.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.single_window._couplings import CELL_VARIANCE, N_MOMENTS

__all__ = ["Couplings", "is_mixture"]

# Loadings by half units: factors are such that the variables that follow one do so by about 1.
# Noise by octaves, in squared units of the reference windows' spread.
_LOADINGS = np.arange(-3.0, 4.0) / 2
_NOISES = 2.0 ** np.arange(-8.0, 3.0)
_GRID = np.stack(
    [part.ravel() for part in np.meshgrid(_LOADINGS, _LOADINGS, _NOISES, indexing="ij")]
)

ATOMS = 16
ROUNDS = 100

# Couplings are learned from so many variables at most.
MOST_VARIABLES = 4000


@dataclass(frozen=True)
class Couplings:
    """A mixture of couplings.

    Parameters
    ----------
    loadings
        (2, A) by how much a variable follows each factor, in common units.
    noise
        (A,) variance of its noise, in squares of the same unit.
    weights
        (A,) how often each coupling occurs; they sum to 1.
    """

    loadings: NDArray[np.float64]
    noise: NDArray[np.float64]
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, moments: NDArray[np.float64]) -> "Couplings":
        """Find the mixture from (n, P * 7) moments of windows' variables, NaN where there is none.

        Notes
        -----
        Non-parametric maximum likelihood by EM on a grid, as for speeds. Signs of the factors, and
        which is the first, are arbitrary: all these have the same weight.
        """
        rows = moments.reshape(-1, N_MOMENTS)
        rows = rows[~np.isnan(rows).any(axis=1)]
        if len(rows) > MOST_VARIABLES:
            rows = rows[np.arange(MOST_VARIABLES) * len(rows) // MOST_VARIABLES]
        weights = np.full(_GRID.shape[1], 1.0 / _GRID.shape[1])
        if len(rows):
            likelihoods = _likelihoods(rows)
            for _ in range(ROUNDS):
                # Sums rather than products of matrices: the same bits on every machine and thread.
                shares = likelihoods * weights
                shares /= shares.sum(axis=1, keepdims=True)
                weights = _made_even(shares.mean(axis=0))
        chosen = np.argsort(-weights, kind="stable")[:ATOMS]
        kept = weights[chosen] / weights[chosen].sum()
        return cls(_GRID[:2, chosen], _GRID[2, chosen], kept)

    def is_sound(self) -> bool:
        """Whether this may be a mixture, as one read from a file need not be."""
        return (
            is_mixture(self.loadings, self.weights)
            and len(self.loadings) == 2
            and is_mixture(self.noise[None], self.weights)
            and bool((self.noise > 0).all())
        )

    def table(self) -> NDArray[np.float64]:
        """Return (A, 4) loadings, noise and log weight of each, as the loops read them."""
        log_weights = np.log(self.weights + 1e-9)
        return np.ascontiguousarray(np.stack([*self.loadings, self.noise, log_weights], axis=1))


def is_mixture(atoms: NDArray[np.float64], weights: NDArray[np.float64]) -> bool:
    """Whether (k, A) atoms and (A,) weights are finite floats, and the weights not negative."""
    return (
        atoms.dtype == weights.dtype == np.float64
        and atoms.ndim == 2
        and weights.shape == atoms.shape[1:]
        and bool(np.isfinite(atoms).all() and np.isfinite(weights).all())
        and bool((weights >= 0).all())
    )


def _likelihoods(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, G) likelihoods of the grid's couplings given (n, 7) moments, over the largest of each."""
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
    """(G,) weights, the same for couplings that differ in signs or in which factor is the first."""
    cube = weights.reshape(len(_LOADINGS), len(_LOADINGS), len(_NOISES))
    cube = 0.5 * (cube + cube[::-1])
    cube = 0.5 * (cube + cube[:, ::-1])
    return (0.5 * (cube + cube.transpose(1, 0, 2))).ravel()
