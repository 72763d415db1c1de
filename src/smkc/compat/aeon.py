"""Adapter for aeon: smkc as a detector of anomalies in one series.

In: a univariate or multivariate series, which may have missing values. Out: one score per time
point.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.compat import as_recording, fitted_detector, host_class, reference_scores, scores
from smkc.detector import Detector

BaseSeriesAnomalyDetector: Any = host_class(
    "aeon.anomaly_detection.series.base", "BaseSeriesAnomalyDetector", "aeon"
)


class SmkcSeriesDetector(BaseSeriesAnomalyDetector):  # type: ignore[misc]
    """An aeon detector for series whose channels may change after fitting.

    Parameters
    ----------
    window
        as in :class:`smkc.Detector`.
    settings
        further settings of :class:`smkc.Detector`, by name.

    Attributes
    ----------
    detector_
        the fitted :class:`smkc.Detector`, for alerts and causes.

    Notes
    -----
    In aeon's terms, ``fit`` on a normal series and ``predict`` on another is semi-supervised, and
    ``fit_predict`` on one series is unsupervised: each half is scored after fitting on the other
    half. A data frame keeps the names of its channels; those of an array are ``x0``, ``x1``, and so
    on. aeon expects one row per channel unless a call passes ``axis=0``.
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
        window: int | str = Detector.window,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.window = window
        self.settings = settings
        super().__init__(axis=0)

    def _fit(self, X: Any, y: Any = None) -> "SmkcSeriesDetector":
        self.detector_ = fitted_detector(self, as_recording(X))
        return self

    def _predict(self, X: Any) -> NDArray[np.float64]:
        return scores(self.detector_, X)

    def _fit_predict(self, X: Any, y: Any = None) -> NDArray[np.float64]:
        return reference_scores(self._fit(X).detector_, as_recording(X))

    @classmethod
    def _get_test_params(cls, parameter_set: str = "default") -> dict[str, Any]:
        """Return settings for aeon's checks, whose series have 20 time points."""
        return {"window": 4}
