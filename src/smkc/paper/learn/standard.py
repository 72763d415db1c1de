"""Standardisation by normal windows: components of a score by spread, embeddings by whitening.

In: components or embeddings of normal windows to fit, then of any windows. Out: components in units
of their spread; unit vectors in which all directions vary about equally.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Interquartile range of the standard normal distribution: spread is 1 for a Gaussian component.
GAUSSIAN_IQR = 1.3489795003921634

# Share of the mean variance that is added to the variance of every direction: directions that
# hardly vary among normal windows are rounding and chance. Between 0.0001 and 0.1 detection changes
# by 0.02.
RIDGE = 0.03


@dataclass(frozen=True)
class Standard:
    """Median and spread of k components, each (k,) float64.

    Notes
    -----
    The paper uses robust standardisation and states no measure; here it is the median and the
    interquartile range, scaled so that a standard normal component has spread 1.

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
        """Compute median and spread of (B, k) components of normal windows."""
        low, centre, high = np.quantile(components, [0.25, 0.5, 0.75], axis=0)
        spread = (high - low) / GAUSSIAN_IQR
        # Limit the magnification of components that hardly vary among normal windows.
        least = np.finfo(np.float32).eps * np.maximum(np.abs(centre), 1.0)
        return cls(centre, np.maximum(spread, least))

    def __call__(self, components: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (B, k) components minus their median, in spreads."""
        return (components - self.centre) / self.spread


@dataclass(frozen=True)
class Whitening:
    """A whitening transform: centre (D,) and matrix (D, D), both float32.

    A few directions hold most of the variance of embeddings, such as that due to the number of
    variables; without whitening, the other directions, where anomalies show, would have no weight.
    A constant component, as long as a typical whitened vector, is appended: without it, cosines
    would distinguish directions but not a vector near the centre from one far away.

    Notes
    -----
    This gives a Mahalanobis distance to neighbours instead of to the mean. For embeddings, see Lee
    et al., "A simple unified framework for detecting out-of-distribution samples", NeurIPS 2018,
    section 2.1.
    """

    centre: NDArray[np.float32]
    matrix: NDArray[np.float32]

    @classmethod
    def of(cls, embeddings: NDArray[np.float32]) -> "Whitening":
        """Fit the transform to (n, D) embeddings of normal windows."""
        width = embeddings.shape[1]
        vectors = embeddings.astype(np.float64)
        centre = vectors.mean(axis=0)
        variances, directions = np.linalg.eigh(np.cov(vectors, rowvar=False).reshape(width, width))
        least = RIDGE * max(float(variances.mean()), float(np.finfo(np.float32).tiny))
        matrix = directions / np.sqrt(np.maximum(variances, 0.0) + least)
        return cls(centre.astype(np.float32), matrix.astype(np.float32))

    def unit_vectors(self, embeddings: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return (B, D + 1) float32 unit vectors of (B, D) embeddings."""
        n, width = embeddings.shape
        vectors = np.empty((n, width + 1), np.float32)
        vectors[:, :width] = np.matmul(embeddings - self.centre, self.matrix)
        vectors[:, width] = np.sqrt(width)
        vectors /= np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
        return vectors
