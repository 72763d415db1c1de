"""Whitening: embeddings -> unit vectors in which every direction counts by how much it varies.

In: embeddings of normal windows, then any. Out: unit vectors for cosine distances.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError

__all__ = ["Whitening"]

# Share of the mean variance that is added to every direction's: those that hardly vary among
# normal windows are rounding and chance. Between 0.0001 and 0.1 detection moves by 0.02.
RIDGE = 0.03


@dataclass(frozen=True)
class Whitening:
    """Centre (D,) and matrix (D, D), both float32.

    A few directions hold most of what varies among embeddings, such as how many variables there
    are; the others, where anomalies show, would count for nothing. One constant component is
    added, as long as a typical whitened vector: without it, cosines would tell directions apart
    but not a window in the middle from one far out.

    Notes
    -----
    Mahalanobis distance to neighbours rather than to the mean. Of embeddings of a detector:
    Lee et al., "A simple unified framework for detecting out-of-distribution samples", NeurIPS
    2018, section 2.1.
    """

    centre: NDArray[np.float32]
    matrix: NDArray[np.float32]

    @classmethod
    def of(cls, embeddings: NDArray[np.float32]) -> "Whitening":
        """Measure (n, D) embeddings of normal windows."""
        n, width = embeddings.shape
        if n < 2:
            raise InputError(f"{n} embeddings have no spread; give at least 2 windows")
        vectors = embeddings.astype(np.float64)
        centre = vectors.mean(axis=0)
        variances, directions = np.linalg.eigh(np.cov(vectors, rowvar=False).reshape(width, width))
        least = RIDGE * max(float(variances.mean()), float(np.finfo(np.float32).tiny))
        matrix = directions / np.sqrt(np.maximum(variances, 0.0) + least)
        return cls(centre.astype(np.float32), matrix.astype(np.float32))

    def unit_vectors(self, embeddings: NDArray[np.float32]) -> NDArray[np.float32]:
        """(B, D + 1) float32 of length 1."""
        n, width = embeddings.shape
        vectors = np.empty((n, width + 1), np.float32)
        vectors[:, :width] = np.matmul(embeddings - self.centre, self.matrix)
        vectors[:, width] = np.sqrt(width)
        vectors /= np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
        return vectors
