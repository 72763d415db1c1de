"""LOF: how much lower a window's local density is than that of its neighbours.

In: normal windows, then any windows. Out: the local outlier factor.
"""

from typing import Any, Self

from benchmarks.baselines.scikit import StatisticsDetector
from benchmarks.libraries import library
from benchmarks.windows import Windows
from smkc.errors import InputError

__all__ = ["LofStats"]


class LofStats(StatisticsDetector):
    """scikit-learn's local outlier factor over standardised pooled statistics.

    Windows are compared only with the training windows, never with one another.

    Parameters
    ----------
    neighbours
        MinPts; 20, scikit-learn's default and the K of the other nearest-neighbour detectors.

    Notes
    -----
    M. M. Breunig, H.-P. Kriegel, R. T. Ng and J. Sander, "LOF: identifying density-based local
    outliers", SIGMOD 2000, definition 7.
    """

    def __init__(self, *, neighbours: int = 20) -> None:
        self.neighbours = neighbours

    def fit(self, windows: Windows, validation: Windows | None = None) -> Self:
        """Learn from normal windows; ``validation`` is not used."""
        if len(windows) <= self.neighbours:
            raise InputError(
                f"{len(windows)} training windows, neighbours={self.neighbours}; give more "
                "windows than that or ask for fewer neighbours"
            )
        return super().fit(windows, validation)

    def estimator(self) -> Any:
        """Return the estimator, in the mode that scores new windows."""
        neighbors = library("sklearn.neighbors", "scikit-learn")
        return neighbors.LocalOutlierFactor(n_neighbors=self.neighbours, novelty=True)
