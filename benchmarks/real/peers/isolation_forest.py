"""Isolation forest: windows that few random splits isolate from the reference's windows.

In: windows over aligned columns. Out: scikit-learn's score with its sign reversed.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.libraries import library
from benchmarks.real.peers.aligned import AlignedRows, require_fitted
from smkc.recording import Recording

__all__ = ["IsolationForest"]


class IsolationForest:
    """scikit-learn's isolation forest over short windows of aligned columns.

    Columns are aligned as in :mod:`benchmarks.real.peers.aligned`.

    Parameters
    ----------
    window
        rows per window.
    trees
        number of trees.
    reference_size
        maximum number of reference windows, evenly spread.
    seed
        random seed of the trees.

    Notes
    -----
    F. T. Liu, K. M. Ting and Z.-H. Zhou, "Isolation forest", ICDM 2008.
    """

    look_ahead = 0
    aligned_: AlignedRows
    forest_: Any

    def __init__(
        self, *, window: int = 8, trees: int = 100, reference_size: int = 4000, seed: int = 0
    ) -> None:
        self.window = window
        self.trees = trees
        self.reference_size = reference_size
        self.seed = seed

    def fit(self, reference: Recording) -> Self:
        """Grow the trees."""
        ensemble = library("sklearn.ensemble", "scikit-learn")
        self.aligned_ = AlignedRows(reference, self.window)
        forest = ensemble.IsolationForest(n_estimators=self.trees, random_state=self.seed)
        with threadpool_limits(limits=1):
            self.forest_ = forest.fit(self.aligned_.reference_windows(self.reference_size))
        return self

    def score(self, test: Recording) -> NDArray[np.float64]:
        """Return (T,) the score of the window that ends at each row."""
        require_fitted(self, "forest_")
        windows = self.aligned_.windows(test)
        if len(windows) == 0:
            return np.empty(0)
        with threadpool_limits(limits=1):
            return -np.asarray(self.forest_.score_samples(windows), np.float64)
