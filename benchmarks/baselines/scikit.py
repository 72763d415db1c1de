"""Common base of scikit-learn's outlier detectors over pooled statistics.

In: an estimator of scikit-learn and windows. Out: scores with the sign reversed, so that higher =
more anomalous, the same to the bit for any number of threads.
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

    Subclasses return the estimator from :meth:`estimator`.
    """

    standardisation_: Standardisation
    estimator_: Any

    def estimator(self) -> Any:
        """Return the scikit-learn estimator, not fitted; it must have ``score_samples``."""
        raise TypeError(
            "StatisticsDetector names no estimator; use IsolationForestStats, LofStats or "
            "OneClassSvmStats"
        )

    def fit(self, windows: Windows, validation: Windows | None = None) -> Self:
        """Learn from normal windows; ``validation`` is not used."""
        statistics = pooled_statistics(windows)
        self.standardisation_ = Standardisation.of(statistics)
        estimator = self.estimator()
        # One BLAS thread and one OpenMP thread: their number changes the order of sums.
        with threadpool_limits(limits=1):
            self.estimator_ = estimator.fit(self.standardisation_.applied(statistics))
        return self

    def score(self, windows: Windows) -> NDArray[np.float64]:
        """(B,) scikit-learn's ``score_samples`` with the sign reversed."""
        if not hasattr(self, "estimator_"):
            name = type(self).__name__
            raise NotFittedError(f"{name} has seen no windows; call fit first")
        if len(windows) == 0:
            return np.empty(0)
        statistics = self.standardisation_.applied(pooled_statistics(windows))
        with threadpool_limits(limits=1):
            scores = -np.asarray(self.estimator_.score_samples(statistics), np.float64)
        return scores
