"""One-class SVM: the signed distance of a window from a boundary around normal windows.

In: normal windows, then any windows. Out: the negative of the decision function before its offset.
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
        default, and the first value in the method's paper, for handwritten digits.
    gamma
        coefficient of the Gaussian kernel; ``scale``, scikit-learn's default, is 1 / (6 x variance
        of the statistics).

    Notes
    -----
    B. Schoelkopf, J. C. Platt, J. Shawe-Taylor, A. J. Smola and R. C. Williamson, "Estimating the
    support of a high-dimensional distribution", Neural Computation 13, 2001.
    """

    def __init__(self, *, nu: float = 0.5, gamma: str | float = "scale") -> None:
        self.nu = nu
        self.gamma = gamma

    def estimator(self) -> Any:
        """Return the estimator."""
        svm = library("sklearn.svm", "scikit-learn")
        return svm.OneClassSVM(kernel="rbf", nu=self.nu, gamma=self.gamma)
