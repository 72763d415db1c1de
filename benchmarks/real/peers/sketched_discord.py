"""Sketched discords: discords of a few random signed sums of columns.

In: aligned columns. Out: the largest distance, over the sums, of the shape that ends at a row to
the nearest shape in the reference.
"""

from math import ceil, sqrt
from typing import Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.real.peers.aligned import AlignedRows, evenly, require_fitted, sliding
from smkc.errors import SettingError
from smkc.parallel import products_on_one_thread
from smkc.recording import Recording

__all__ = ["SketchedDiscord", "nearest_shape"]

# Shapes compared at a time, to bound memory.
BLOCK = 1024

# A shape with a standard deviation up to this is constant.
STILL = 1e-9


class SketchedDiscord:
    """Discords of signed random sums of columns.

    Columns are aligned as in :mod:`benchmarks.real.peers.aligned`.

    Parameters
    ----------
    window
        rows per shape; shapes are compared without their level and scale.
    groups
        number of sums; None takes the square root of the number of columns, rounded up.
    reference_size
        maximum number of reference shapes, evenly spread.
    seed
        random seed of signs and groups.

    Notes
    -----
    C.-C. M. Yeh et al., "Sketching multidimensional time series for fast discord mining",
    arXiv 2311.03393, 2023. Written from its abstract and from general knowledge of such sketches,
    without the authors' code or the full text. As in the paper, each column is standardised, gets a
    random sign and a random group, and is added to its group's sum; the sums of the test part are
    compared with those of the reference. Three choices may differ from the paper: the number of
    groups, the standardisation (here the robust one of all peers), and taking the maximum of the
    groups' distances. The paper's search for the responsible column is left out. Columns can be
    added to and removed from such a sketch only if both parts have them, so churn needs the same
    workaround as for other peers.
    """

    look_ahead = 0
    aligned_: AlignedRows
    signs_: NDArray[np.float64]

    def __init__(
        self,
        *,
        window: int = 16,
        groups: int | None = None,
        reference_size: int = 4000,
        seed: int = 0,
    ) -> None:
        if window < 3:
            raise SettingError(f"window={window!r} rows is no shape; give 3 or more")
        if groups is not None and groups < 1:
            raise SettingError(f"groups={groups!r} is none; give 1 or more")
        self.window = window
        self.groups = groups
        self.reference_size = reference_size
        self.seed = seed

    def fit(self, reference: Recording) -> Self:
        """Draw signs and groups, and keep the reference's sums."""
        self.aligned_ = AlignedRows(reference, self.window)
        n_columns = self.aligned_.rows.shape[1]
        n_groups = ceil(sqrt(n_columns)) if self.groups is None else self.groups
        rng = np.random.default_rng(self.seed)
        self.signs_ = np.zeros((n_columns, n_groups))
        group = rng.integers(n_groups, size=n_columns)
        self.signs_[np.arange(n_columns), group] = rng.choice([-1.0, 1.0], size=n_columns)
        return self

    def score(self, test: Recording) -> NDArray[np.float64]:
        """Return (T,) the largest distance, over the sums, of the shape that ends at each row."""
        require_fitted(self, "signs_")
        rows = self.aligned_.columns.filled(test)
        rows = np.concatenate([self.aligned_.before(test, rows), rows])
        largest = np.zeros(len(test))
        with products_on_one_thread():
            kept, sums = self.aligned_.rows @ self.signs_, rows @ self.signs_
            for group in range(sums.shape[1]):
                shapes = sliding(kept[:, [group]], self.window)
                shapes = shapes[evenly(len(shapes), self.reference_size)]
                distance = nearest_shape(sliding(sums[:, [group]], self.window), shapes)
                np.maximum(largest, distance, out=largest)
        return largest


def nearest_shape(shapes: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (n,) z-normalised Euclidean distances of (n, m) shapes to the nearest of the others.

    The distance of two constant shapes is 0, that of a constant and a changing one is sqrt(m).
    """
    normal, other = _normalised(shapes), _normalised(others)
    squares = np.sum(other**2, axis=1)
    nearest = np.empty(len(normal))
    for start in range(0, len(normal), BLOCK):
        block = normal[start : start + BLOCK]
        least = np.min(squares - 2.0 * block @ other.T, axis=1)
        nearest[start : start + BLOCK] = np.sum(block**2, axis=1) + least
    return np.sqrt(np.maximum(nearest, 0.0))


def _normalised(shapes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (n, m) shapes with mean 0 and standard deviation 1; constant shapes become 0."""
    centred = shapes - shapes.mean(axis=1, keepdims=True)
    deviation = shapes.std(axis=1, keepdims=True)
    is_still = deviation <= STILL
    normal: NDArray[np.float64] = np.where(
        is_still, 0.0, centred / np.where(is_still, 1, deviation)
    )
    return normal
