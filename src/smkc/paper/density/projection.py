"""Projection: features -> fewer numbers, by a fixed seeded Gaussian matrix.

In: (B, F) features. Out: (B, components) float32 unit vectors, ready for cosine distances.
"""

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from smkc.errors import SettingError
from smkc.paper.density._loops import to_unit_length

# Stored in the model file: another generator would give another projection.
GENERATOR = "numpy.PCG64.standard_normal.float32"


@dataclass(frozen=True, kw_only=True)
class Projection:
    """A random projection, described by its shape and its seed.

    Parameters
    ----------
    components
        length of a projected vector.
    seed
        seed of the Gaussian matrix, whose entries have variance 1 / components.

    Notes
    -----
    Paper, section 3.3: "project it to 256 dimensions with a fixed random matrix".

    Examples
    --------
    >>> Projection(components=4).unit_vectors(np.ones((2, 100), np.float32)).shape
    (2, 4)
    """

    components: int = 256
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.components, int) or not 1 <= self.components <= 16_384:
            raise SettingError(f"components={self.components!r}: give a number from 1 to 16384")

    def matrix(self, n_features: int) -> NDArray[np.float32]:
        """Return the (F, components) float32 matrix."""
        return _gaussian(n_features, self.components, self.seed)

    def unit_vectors(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Project (B, F) features and normalise; a zero vector becomes the first unit vector.

        All windows with zero features are thus at distance 0 from one another.
        """
        vectors: NDArray[np.float32] = np.matmul(features, self.matrix(features.shape[1]))
        to_unit_length(vectors)
        return vectors

    def digest(self, n_features: int) -> str:
        """Return the matrix's SHA-256, to check that another machine makes the same matrix."""
        return sha256(self.matrix(n_features).tobytes()).hexdigest()


@lru_cache(maxsize=4)
def _gaussian(n_features: int, components: int, seed: int) -> NDArray[np.float32]:
    rng = np.random.Generator(np.random.PCG64(seed))
    matrix = rng.standard_normal((n_features, components), dtype=np.float32)
    matrix /= np.float32(np.sqrt(components))
    matrix.flags.writeable = False
    return matrix
