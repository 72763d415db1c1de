"""scikit-learn's outlier detectors over pooled statistics: what the three of them share.

In: an estimator of scikit-learn and windows. Out: scores turned round, so that higher = more
anomalous, the same to the bit whatever the number of threads.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.baselines.pooled_statistics import Standardisation, pooled_statistics
from benchmarks.windows import Windows
from smkc.errors import NotFittedError

__all__ = ["StatisticsDetector"]


class StatisticsDetector:
    """An outlier detector of scikit-learn over standardised pooled statistics.

    A competitor names the estimator in :meth:`estimator`.
    """

    standardisation_: Standardisation
    estimator_: Any

    def estimator(self) -> Any:
        """Return the estimator of scikit-learn, not fitted, with ``score_samples``."""
        raise TypeError(
            "StatisticsDetector names no estimator; use IsolationForestStats, LofStats or "
            "OneClassSvmStats"
        )

    def fit(self, windows: Windows, validation: Windows | None = None) -> Self:
        """Learn from normal windows; ``validation`` is not used."""
        statistics = pooled_statistics(windows)
        self.standardisation_ = Standardisation.of(statistics)
        estimator = self.estimator()
        # One thread of every kind, matrix products' and OpenMP's: their number orders sums.
        with threadpool_limits(limits=1):
            self.estimator_ = estimator.fit(self.standardisation_.applied(statistics))
        return self

    def score(self, windows: Windows) -> NDArray[np.float64]:
        """(B,) scikit-learn's ``score_samples``, turned round."""
        if not hasattr(self, "estimator_"):
            name = type(self).__name__
            raise NotFittedError(f"{name} has seen no windows; call fit first")
        if len(windows) == 0:
            return np.empty(0)
        statistics = self.standardisation_.applied(pooled_statistics(windows))
        with threadpool_limits(limits=1):
            scores = -np.asarray(self.estimator_.score_samples(statistics), np.float64)
        return scores
