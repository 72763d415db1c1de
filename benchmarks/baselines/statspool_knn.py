"""StatsPool-kNN: the distance of a window's pooled statistics from those of normal windows.

In: normal windows, then any windows. Out: the mean Euclidean distance to the nearest normal ones.
"""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.pooled_statistics import Standardisation, pooled_statistics
from benchmarks.windows import Windows
from smkc.errors import InputError, NotFittedError

__all__ = ["StatsPoolKnn"]

# Windows per block: the distances of a block to all normal windows are in memory at once.
BLOCK_WINDOWS = 256


class StatsPoolKnn:
    """Mean distance to the K nearest training windows, in standardised pooled statistics.

    Parameters
    ----------
    neighbours
        K; 20 in the paper's nearest-neighbour detectors.

    Notes
    -----
    Distance-based outliers: E. M. Knorr and R. T. Ng, "Algorithms for mining distance-based
    outliers in large datasets", VLDB 1998. The mean over the K nearest, instead of a count
    within a radius: F. Angiulli and C. Pizzuti, "Fast outlier detection in high dimensional
    spaces", PKDD 2002.
    """

    standardisation_: Standardisation
    normal_: NDArray[np.float64]

    def __init__(self, *, neighbours: int = 20) -> None:
        self.neighbours = neighbours

    def fit(self, windows: Windows, validation: Windows | None = None) -> Self:
        """Keep the statistics of normal windows; ``validation`` is not used."""
        if len(windows) < self.neighbours:
            raise InputError(
                f"{len(windows)} training windows, neighbours={self.neighbours}; give more "
                "windows or ask for fewer neighbours"
            )
        statistics = pooled_statistics(windows)
        self.standardisation_ = Standardisation.of(statistics)
        self.normal_ = self.standardisation_.applied(statistics)
        return self

    def score(self, windows: Windows) -> NDArray[np.float64]:
        """(B,) mean Euclidean distance to the nearest training windows."""
        if not hasattr(self, "normal_"):
            raise NotFittedError("StatsPoolKnn has seen no windows; call fit first")
        statistics = self.standardisation_.applied(pooled_statistics(windows))
        scores = np.empty(len(windows))
        for first in range(0, len(windows), BLOCK_WINDOWS):
            part = slice(first, first + BLOCK_WINDOWS)
            squares = np.zeros((len(statistics[part]), len(self.normal_)))
            for here, normal in zip(statistics[part].T, self.normal_.T, strict=True):
                squares += (here[:, None] - normal) ** 2
            nearest = np.partition(squares, self.neighbours - 1, axis=1)[:, : self.neighbours]
            # Sorted, so that the sum does not depend on the order that the partition left.
            scores[part] = np.sqrt(np.sort(nearest, axis=1)).mean(axis=1)
        return scores
