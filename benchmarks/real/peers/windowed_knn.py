"""Windowed kNN: the distance of a window to the nearest windows of the reference.

In: windows over aligned columns. Out: the mean Euclidean distance to the nearest windows.
"""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.real.peers.aligned import AlignedRows, guiltiest, require_fitted
from smkc.errors import SettingError
from smkc.parallel import products_on_one_thread
from smkc.recording import Recording

__all__ = ["WindowedKnn"]

# Windows compared at a time, to bound memory.
BLOCK = 1024


class WindowedKnn:
    """Mean distance to the K nearest windows of the reference.

    Columns are aligned as in :mod:`benchmarks.real.peers.aligned`.

    Parameters
    ----------
    window
        rows per window.
    neighbours
        K; fewer if the reference has fewer windows.
    reference_size
        maximum number of reference windows, evenly spread.

    Notes
    -----
    S. Ramaswamy, R. Rastogi and K. Shim, SIGMOD 2000, rank by the distance to the K-th neighbour;
    F. Angiulli and C. Pizzuti, PKDD 2002, by the sum over the K nearest, of which the mean is used
    here.
    """

    look_ahead = 0
    aligned_: AlignedRows
    kept_: NDArray[np.float64]

    def __init__(
        self, *, window: int = 8, neighbours: int = 20, reference_size: int = 4000
    ) -> None:
        if neighbours < 1:
            raise SettingError(f"neighbours={neighbours!r} is none; give 1 or more")
        self.window = window
        self.neighbours = neighbours
        self.reference_size = reference_size

    def fit(self, reference: Recording) -> Self:
        """Keep windows of the reference."""
        self.aligned_ = AlignedRows(reference, self.window)
        self.kept_ = self.aligned_.reference_windows(self.reference_size)
        return self

    def score(self, test: Recording) -> NDArray[np.float64]:
        """Return (T,) the mean distance of the window that ends at each row."""
        require_fitted(self, "kept_")
        windows = self.aligned_.windows(test)
        n_nearest = min(self.neighbours, len(self.kept_))
        squares = np.sum(self.kept_**2, axis=1)
        scores = np.empty(len(windows))
        with products_on_one_thread():
            for start in range(0, len(windows), BLOCK):
                block = windows[start : start + BLOCK]
                distances = np.sum(block**2, axis=1)[:, None] + squares - 2 * block @ self.kept_.T
                nearest = np.partition(distances, n_nearest - 1, axis=1)[:, :n_nearest]
                scores[start : start + BLOCK] = np.sqrt(np.maximum(nearest, 0.0)).mean(axis=1)
        return scores

    def blame(self, test: Recording, row: int) -> list[str]:
        """Return the columns by their part in the squared distances to the nearest windows."""
        require_fitted(self, "kept_")
        window = self.aligned_.windows(test.rows(0, row + 1))[-1]
        squares = (self.kept_ - window) ** 2
        n_nearest = min(self.neighbours, len(squares))
        nearest = np.argpartition(squares.sum(axis=1), n_nearest - 1)[:n_nearest]
        parts = squares[nearest].mean(axis=0).reshape(-1, self.window).sum(axis=1)
        return guiltiest(self.aligned_.columns.names, parts)
