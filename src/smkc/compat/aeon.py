"""aeon: smkc as a detector of anomalies in one series.

In: a series, univariate or multivariate, with missing values or without. Out: a score a time point.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.compat import as_recording, detector_of, host_class, reference_scores, scores
from smkc.paper import KnnDetector

__all__ = ["SmkcSeriesDetector"]

BaseSeriesAnomalyDetector: Any = host_class(
    "aeon.anomaly_detection.series.base", "BaseSeriesAnomalyDetector", "aeon"
)


class SmkcSeriesDetector(BaseSeriesAnomalyDetector):  # type: ignore[misc]
    """aeon detector for series whose channels may change after fitting.

    Parameters
    ----------
    window, neighbours, seed
        as in :class:`smkc.paper.KnnDetector`.
    settings
        further settings of :class:`smkc.paper.KnnDetector`, by name.

    Attributes
    ----------
    detector_
        the fitted :class:`smkc.paper.KnnDetector`, for alerts and causes.

    Notes
    -----
    ``fit`` on a normal series and ``predict`` on another is semi-supervised in aeon's words;
    ``fit_predict`` on one series is unsupervised, and scores each window without the block of time
    points around it. A data frame keeps the names of its channels; an array's are x0, x1, and so
    on. aeon's axis is 1 (a row a channel) unless a call says ``axis=0``.
    Middlehurst et al., Journal of Machine Learning Research 25, 2024.
    """

    _tags = {  # noqa: RUF012 - aeon collects tags from this attribute of the class
        "X_inner_type": ["np.ndarray", "pd.DataFrame"],
        "anomaly_output_type": "anomaly_scores",
        "capability:missing_values": True,
        "capability:multivariate": True,
        "capability:univariate": True,
        "fit_is_empty": False,
        "learning_type:semi_supervised": True,
        "learning_type:unsupervised": True,
    }

    def __init__(
        self,
        window: int = KnnDetector.window,
        neighbours: int = KnnDetector.neighbours,
        seed: int = KnnDetector.seed,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.window = window
        self.neighbours = neighbours
        self.seed = seed
        self.settings = settings
        super().__init__(axis=0)

    def _fit(self, X: Any, y: Any = None) -> "SmkcSeriesDetector":
        self.detector_ = detector_of(self).fit(as_recording(X))
        return self

    def _predict(self, X: Any) -> NDArray[np.float64]:
        return scores(self.detector_, X)

    def _fit_predict(self, X: Any, y: Any = None) -> NDArray[np.float64]:
        return reference_scores(self._fit(X).detector_)

    @classmethod
    def _get_test_params(cls, parameter_set: str = "default") -> dict[str, Any]:
        """Return settings for aeon's own checks, whose series have 20 time points."""
        return {"window": 4, "neighbours": 2, "settings": {"representation": "log3 band(2)"}}
