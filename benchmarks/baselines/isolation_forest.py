"""IsolationForest: the number of random splits that isolate a window's pooled statistics.

In: normal windows, then any windows. Out: the forest's anomaly score.
"""

from typing import Any

from benchmarks.baselines.scikit import StatisticsDetector
from benchmarks.libraries import library

__all__ = ["IsolationForestStats"]


class IsolationForestStats(StatisticsDetector):
    """scikit-learn's isolation forest over standardised pooled statistics.

    Parameters
    ----------
    trees
        number of trees; 100, as in the method's paper. Each is grown on 256 windows, also as in
        that paper, or on all windows if there are fewer.
    seed
        seed of the trees.

    Notes
    -----
    F. T. Liu, K. M. Ting and Z.-H. Zhou, "Isolation forest", ICDM 2008; the score is its
    equation 2.
    """

    def __init__(self, *, trees: int = 100, seed: int = 0) -> None:
        self.trees = trees
        self.seed = seed

    def estimator(self) -> Any:
        """Return the forest."""
        ensemble = library("sklearn.ensemble", "scikit-learn")
        return ensemble.IsolationForest(n_estimators=self.trees, random_state=self.seed)
