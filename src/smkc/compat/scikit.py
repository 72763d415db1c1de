"""Adapter for scikit-learn: smkc as an outlier detector.

In: tables with one row per time step, in order. Out: scores, lower for abnormal rows, and labels
+1 or -1.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.compat import as_recording, fitted_detector, host_class, scores
from smkc.detector import Detector
from smkc.errors import InputError
from smkc.recording import Recording

COLUMNS_MAY_CHANGE = "n_features_in_ is not set, because columns may change after fitting"
ROWS_ARE_TIME_STEPS = "a row is scored with the rows around it, so their order and number matter"

EXPECTED_FAILED_CHECKS = {
    "check_methods_sample_order_invariance": ROWS_ARE_TIME_STEPS,
    "check_methods_subset_invariance": ROWS_ARE_TIME_STEPS,
    "check_n_features_in": COLUMNS_MAY_CHANGE,
    "check_n_features_in_after_fitting": COLUMNS_MAY_CHANGE,
}
"""For ``check_estimator(model, expected_failed_checks=EXPECTED_FAILED_CHECKS)``."""

OutlierMixin: Any = host_class("sklearn.base", "OutlierMixin", "scikit-learn")
BaseEstimator: Any = host_class("sklearn.base", "BaseEstimator", "scikit-learn")


# Default false-alarm rate: with the few hundred rows that hosts fit on, no smaller rate can be
# calibrated.
USUAL_RATE = 0.01


class SmkcOutlierDetector(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """An outlier detector for rows in order of time, whose columns may change after fitting.

    Parameters
    ----------
    window, false_alarm_rate
        as in :class:`smkc.Detector`.
    settings
        further settings of :class:`smkc.Detector`, by name.

    Attributes
    ----------
    detector_
        the fitted :class:`smkc.Detector`, for alerts and causes.
    names_
        names of the columns in ``fit``.
    offset_
        value of ``score_samples`` at the threshold.

    Notes
    -----
    The sign follows scikit-learn: lower is more abnormal. ``n_features_in_`` and
    ``feature_names_in_`` are not set, because scikit-learn would then reject other columns.
    The score of a row depends on the rows around it: shuffling or splitting rows changes it.
    ``EXPECTED_FAILED_CHECKS`` lists the checks of scikit-learn that contradict this, with reasons.
    ``fit_predict`` is ``fit`` followed by ``predict``, so rows are judged by a model fitted on
    them; in ``detector_.labels_``, later rows are judged by a model fitted on earlier ones.
    Pedregosa et al., Journal of Machine Learning Research 12, 2011.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> model = SmkcOutlierDetector().fit(rng.normal(size=(600, 3)))
    >>> wider = rng.normal(size=(100, 4))
    >>> wider[50:54] = 9
    >>> model.predict(wider)[[20, 52]].tolist()
    [1, -1]
    """

    def __init__(
        self,
        *,
        window: int | str = Detector.window,
        false_alarm_rate: float = USUAL_RATE,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.window = window
        self.false_alarm_rate = false_alarm_rate
        self.settings = settings

    def fit(self, X: Any, y: Any = None) -> "SmkcOutlierDetector":
        """Learn what is normal from rows in order of time; ``y`` is ignored."""
        recording = _checked(X)
        self.detector_ = fitted_detector(self, recording)
        self.names_ = frozenset(recording.names)
        self.offset_ = -self.detector_.threshold_
        return self

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return (T,) scores, one per row; lower is more abnormal."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        recording = _checked(X)
        n_known = len(self.names_.intersection(recording.names))
        if 2 * n_known < len(recording.names) > len(recording):
            raise InputError(
                f"X has {len(recording)} rows and {len(recording.names)} columns, of which only "
                f"{n_known} were there in fit; give one row per time step and one column per "
                "variable (X.T may be what you meant)"
            )
        return -scores(self.detector_, recording)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return (T,) distances of the scores from the threshold; below 0 is abnormal."""
        return np.asarray(self.score_samples(X) - self.offset_)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return (T,) labels: -1 for rows beyond the threshold, +1 for others."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _checked(X: Any) -> Recording:
    """Validate a table as scikit-learn does, except for the names and number of its columns."""
    from sklearn.utils import check_array

    is_rows_of_dicts = isinstance(X, list) and bool(X) and isinstance(X[0], Mapping)
    if is_rows_of_dicts or isinstance(X, Recording):
        return as_recording(X)
    values = check_array(
        X, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=2, input_name="X"
    )
    return as_recording(values, getattr(X, "columns", None))
