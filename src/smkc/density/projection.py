"""Projection: features -> fewer numbers, by a fixed seeded Gaussian matrix.

In: (B, F) features. Out: (B, components) float32 unit vectors, ready for cosine distances.
"""

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from smkc.density._loops import products_in_tiles, to_unit_length, weighted_sum
from smkc.density._tiles import BLOCK, has_tiles, packed_blocks
from smkc.errors import SettingError

__all__ = ["GENERATOR", "Projection", "padded_rows", "stable_product"]

# Part of the model file: another generator would be another projection.
GENERATOR = "numpy.PCG64.standard_normal.float32"


@dataclass(frozen=True, kw_only=True)
class Projection:
    """A random projection, described by its shape and its seed.

    Parameters
    ----------
    components
        how many numbers remain.
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
        """(F, components) float32."""
        return _gaussian(n_features, self.components, self.seed)

    def unit_vectors(
        self, features: NDArray[np.float32], band: tuple[int, int] | None = None
    ) -> NDArray[np.float32]:
        """Project (B, F) features and normalise; a zero vector becomes the first axis.

        So two windows without any structure are alike, and unlike all others. Of a ``band``, that
        is features (channels, lags, L) with lags and L given, the places past the window's end are
        zero and need no multiplication.
        """
        if self._in_tiles:
            items, packed = _packed_gaussian(features.shape[1], self.components, self.seed, band)
            vectors = np.empty((len(features), self.components), np.float32)
            products_in_tiles(np.ascontiguousarray(features), items, packed, vectors)
        else:
            vectors = stable_product(features, self.matrix(features.shape[1]))
        to_unit_length(vectors)
        return vectors

    def unit_vector(
        self, features: NDArray[np.float32], band: tuple[int, int] | None = None
    ) -> NDArray[np.float32]:
        """Project (F,) features of one window: as :meth:`unit_vectors`, to rounding."""
        if self._in_tiles:
            return self.unit_vectors(features[None], band).reshape(-1)
        vectors = np.empty((1, self.components), np.float32)
        weighted_sum(features, self.matrix(len(features)), vectors[0])
        to_unit_length(vectors)
        return vectors.reshape(-1)

    @property
    def _in_tiles(self) -> bool:
        """Whether the product is quicker in tiles of our own than by NumPy's library."""
        return self.components % BLOCK == 0 and has_tiles()

    def digest(self, n_features: int) -> str:
        """Fingerprint of the matrix: it tells whether another machine makes the same one."""
        return sha256(self.matrix(n_features).tobytes()).hexdigest()


# OpenBLAS sums products of few rows, and products of so few multiplications, in another order.
FEWEST_ROWS = 16
SMALL_PRODUCT = 1_000_000
MOST_PADDED = 256


def padded_rows(n: int, matrix: NDArray[np.float32]) -> int:
    """How many rows a product of n rows is padded to, so that it is summed like a large one."""
    enough = SMALL_PRODUCT // max(matrix.size, 1) + 1
    return max(n, FEWEST_ROWS, min(enough, MOST_PADDED))


def stable_product(
    rows: NDArray[np.float32],
    matrix: NDArray[np.float32],
    out: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """(B, F) @ (F, d), each row's result the same to the bit however many stand beside it.

    ``out``, if given, has :func:`padded_rows` rows.
    """
    n = len(rows)
    n_padded = padded_rows(n, matrix)
    if n_padded > n:
        padded = np.zeros((n_padded, rows.shape[1]), np.float32)
        padded[:n] = rows
        rows = padded
    return np.matmul(rows, matrix, out=out)[:n]


@lru_cache(maxsize=4)
def _gaussian(n_features: int, components: int, seed: int) -> NDArray[np.float32]:
    rng = np.random.Generator(np.random.PCG64(seed))
    matrix = rng.standard_normal((n_features, components), dtype=np.float32)
    matrix /= np.float32(np.sqrt(components))
    matrix.flags.writeable = False
    return matrix


@lru_cache(maxsize=4)
def _packed_gaussian(
    n_features: int, components: int, seed: int, band: tuple[int, int] | None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return (f,) numbers of the features that can differ from zero, and their packed rows."""
    items = np.arange(n_features)
    if band is not None:
        n_lags, length = band
        lag, step = items // length % n_lags + 1, items % length
        items = items[step + lag < length]
    return items, packed_blocks(_gaussian(n_features, components, seed)[items].T)
