"""PyOD: smkc as one of its detectors.

In: tables, a row a time step in order. Out: scores that are high for what is abnormal, 0 or 1.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.compat import as_recording, detector_of, host_class, reference_scores, scores
from smkc.paper import KnnDetector

__all__ = ["SmkcDetector"]

BaseDetector: Any = host_class("pyod.models.base", "BaseDetector", "pyod")


class SmkcDetector(BaseDetector):  # type: ignore[misc]
    """PyOD detector over rows in order of time, whose columns may change after fitting.

    Parameters
    ----------
    contamination
        share of the rows fitted on that counts as abnormal; sets ``threshold_``, as in all of PyOD.
    window, neighbours, seed
        as in :class:`smkc.paper.KnnDetector`.
    settings
        further settings of :class:`smkc.paper.KnnDetector`, by name.

    Attributes
    ----------
    detector_
        the fitted :class:`smkc.paper.KnnDetector`, for alerts and causes.
    decision_scores_, threshold_, labels_
        (T,) scores of the rows fitted on, the score that ``contamination`` of them exceed, and
        (T,) 1 for those. Each window is scored without the block of rows around it.

    Notes
    -----
    ``predict``, ``predict_proba``, ``predict_confidence`` and the rest are PyOD's own. All steps of
    a window may share its score; where PyOD ranks scores (precision at n), such ties can leave
    nothing above the n-th, and ``settings={"align": "prompt"}`` avoids them.
    Zhao, Nasrullah and Li, Journal of Machine Learning Research 20, 2019.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> model = SmkcDetector(window=16, contamination=0.05).fit(rng.normal(size=(600, 3)))
    >>> wider = rng.normal(size=(100, 4))
    >>> wider[50:54] = 9
    >>> model.predict(wider)[52].item()
    1
    """

    def __init__(
        self,
        contamination: Any = 0.1,
        window: int = KnnDetector.window,
        neighbours: int = KnnDetector.neighbours,
        seed: int = KnnDetector.seed,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(contamination=contamination)
        self.window = window
        self.neighbours = neighbours
        self.seed = seed
        self.settings = settings

    def fit(self, X: Any, y: Any = None) -> "SmkcDetector":
        """Learn what is normal from rows in order of time; ``y`` is ignored."""
        self._set_n_classes(y)
        self.detector_ = detector_of(self).fit(as_recording(X))
        self.decision_scores_ = reference_scores(self.detector_)
        self._process_decision_scores()
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """(T,) a score a row; higher is more abnormal."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, ["decision_scores_", "threshold_", "labels_"])
        return scores(self.detector_, X)
