"""Coarse references: the reference set in bytes, to see at a glance which ones are far away.

In: unit vectors. Out: the mean cosine distance to the K nearest references, as exact as by
measuring all distances, for a fraction of the work.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.density._tiles import GROUPS, has_tiles, in_large_pages, packed_blocks
from smkc.density.coarse._loops import (
    BLOCK_QUERIES,
    LARGEST_BYTE,
    SHIFT,
    mean_of_nearest_coarse,
)
from smkc.parallel import scratch

__all__ = ["CoarseReferences"]

# With fewer references measuring all takes no longer; with more neighbours a share of the groups
# that is too large would have to be among the nearest.
FEWEST_REFERENCES, MOST_NEIGHBOURS = 1024, GROUPS // 4

# Where more than this share of the references remains, measuring all of them is quicker: products
# of many vectors at once take about a quarter of the time.
MOST_MEASURED = 1 / 4

# Rows of products lie so many numbers further apart than they are long: at a distance of a power
# of two they would push one another out of the processor's caches.
APART = 16

# Largest relative error of one operation in float32.
EPSILON = 2.0**-24

TINY, FAR = np.float32(1e-30), 1e38


@dataclass(frozen=True)
class CoarseReferences:
    """References less their mean, rounded to bytes, and how far off that can be.

    Parameters
    ----------
    vectors
        (n, d) float32, of length 1: the references themselves.
    centre
        (d,) float32, their mean. Features are positive and thus all alike; what tells windows
        apart is what is left without the mean, and only that is rounded.
    packed
        (N / 64, f, 64) int32: four bytes of each of 64 references, for every four of the d
        numbers. N is n rounded up to whole groups, 4 f is d rounded up.
    about
        (3, N) float32: what 1 in a reference's bytes stands for; the length of what it was rounded
        to; and 2 + |centre|^2 - centre . reference, which is what the mean contributes to the
        distance, and 1 more so that no bound is negative.
    doubt
        length of what rounding took from a reference, at most, as a share of its length.

    Notes
    -----
    With a centre c, q . r = x . y + q . c + c . r - c . c for x = q - c and y = r - c. If these are
    rounded to u and v, x . y differs from u . v by |x - u| |v| + |x| |y - v| at most (Cauchy and
    Schwarz). The lengths are known, so bounds of the distance are.
    """

    vectors: NDArray[np.float32]
    centre: NDArray[np.float32]
    packed: NDArray[np.int32]
    about: NDArray[np.float32]
    doubt: float

    @classmethod
    def of(cls, vectors: NDArray[np.float32]) -> "CoarseReferences":
        """Round (n, d) unit vectors."""
        n, d = vectors.shape
        n_whole, d_whole = -(-n // GROUPS) * GROUPS, -(-d // 4) * 4
        centre = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
        residuals = vectors - centre
        units = np.maximum(np.abs(residuals).max(axis=1), TINY) / LARGEST_BYTE
        rounded = np.rint(residuals / units[:, None])
        lost = _lengths(residuals - rounded * units[:, None])
        lengths = _lengths(rounded) * units
        wide_centre = centre.astype(np.float64)
        about = np.zeros((3, n_whole), np.float32)
        about[:, :n] = units, lengths, 2.0 + wide_centre @ wide_centre - vectors @ wide_centre
        about[2, n:] = FAR
        shifted = np.full((n_whole, d_whole), SHIFT, np.uint8)
        shifted[:n, :d] = (rounded + SHIFT).astype(np.uint8)
        return cls(
            vectors=in_large_pages(vectors),
            centre=centre,
            packed=packed_blocks(shifted.view(np.int32)),
            about=about,
            doubt=float(np.max(lost / np.maximum(lengths, TINY))),
        )

    @staticmethod
    def fits(n: int, neighbours: int) -> bool:
        """Whether a first look at n references is worth its while, and can be had here."""
        return n >= FEWEST_REFERENCES and neighbours <= MOST_NEIGHBOURS and has_tiles()

    def mean_distance(self, vectors: NDArray[np.float32], neighbours: int) -> NDArray[np.float64]:
        """(B,) mean cosine distance of (B, d) unit vectors to their nearest references.

        NaN for vectors to which too many references are about equally near.
        """
        n, d = self.vectors.shape
        n_together = min(BLOCK_QUERIES, len(vectors))
        distances = np.empty(len(vectors), np.float64)
        mean_of_nearest_coarse(
            np.ascontiguousarray(vectors),
            self.vectors,
            self.packed,
            self.about,
            self.centre,
            np.float32(self.doubt),
            # Sums over d numbers in 16 lanes, and a few operations before and after.
            np.float32(EPSILON * (d / 8 + 64)),
            neighbours,
            int(n * MOST_MEASURED),
            scratch("bounds", (n_together, self.about.shape[1] + APART)),
            distances,
        )
        return distances


def _lengths(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """(n,) lengths of (n, d) rows, if anything too large."""
    squares: NDArray[np.float64] = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    return (np.sqrt(squares) * (1 + 8 * EPSILON)).astype(np.float32)
