"""One-class SVM: which side of a boundary around normal windows a window lies on, and how far.

In: normal windows, then any. Out: the negative of the decision function before its offset.
"""

from typing import Any

from benchmarks.baselines.scikit import StatisticsDetector
from benchmarks.libraries import library

__all__ = ["OneClassSvmStats"]


class OneClassSvmStats(StatisticsDetector):
    """scikit-learn's one-class SVM with a Gaussian kernel over standardised pooled statistics.

    Parameters
    ----------
    nu
        upper bound on the share of training windows outside the boundary. 0.5 is scikit-learn's
        default, and what the method's paper shows first, on handwritten digits.
    gamma
        width of the Gaussian kernel; ``scale``, scikit-learn's default, is one over six times the
        statistics' variance.

    Notes
    -----
    B. Schoelkopf, J. C. Platt, J. Shawe-Taylor, A. J. Smola and R. C. Williamson, "Estimating the
    support of a high-dimensional distribution", Neural Computation 13, 2001.
    """

    def __init__(self, *, nu: float = 0.5, gamma: str | float = "scale") -> None:
        self.nu = nu
        self.gamma = gamma

    def estimator(self) -> Any:
        """Return the machine."""
        svm = library("sklearn.svm", "scikit-learn")
        return svm.OneClassSVM(kernel="rbf", nu=self.nu, gamma=self.gamma)
