"""scikit-learn: smkc as an outlier detector in its sense.

In: tables, a row a time step in order. Out: scores that are low for what is abnormal, +1 or -1.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.compat import as_recording, fitted_detector, host_class, scores
from smkc.detector import Detector
from smkc.errors import InputError
from smkc.recording import Recording

__all__ = ["EXPECTED_FAILED_CHECKS", "SmkcOutlierDetector"]

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


# Hosts fit on a few hundred rows, which show no smaller rate.
USUAL_RATE = 0.01


class SmkcOutlierDetector(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Outlier detector over rows in order of time, whose columns may change after fitting.

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
        the columns that were there in ``fit``.
    offset_
        what ``score_samples`` is at the threshold.

    Notes
    -----
    The sign is scikit-learn's: lower is more abnormal. ``n_features_in_`` and
    ``feature_names_in_`` are not set, because scikit-learn would then refuse other columns.
    A row's score depends on the rows around it: shuffling or splitting rows changes it.
    ``EXPECTED_FAILED_CHECKS`` lists the checks of scikit-learn that contradict this, with reasons.
    ``fit_predict`` is ``fit``, then ``predict``, so that rows are judged by what they taught;
    ``detector_.labels_`` judges later rows by what earlier ones taught.
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
        """(T,) a score a row; lower is more abnormal."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        recording = _checked(X)
        n_known = len(self.names_.intersection(recording.names))
        if 2 * n_known < len(recording.names) > len(recording):
            raise InputError(
                f"X has {len(recording)} rows and {len(recording.names)} columns, of which only "
                f"{n_known} were there in fit; give one row per time step and one column per "
                "variable, X.T perhaps"
            )
        return -scores(self.detector_, recording)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """(T,) how far a row's score is from the threshold; below 0 is abnormal."""
        return np.asarray(self.score_samples(X) - self.offset_)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """(T,) -1 for rows past the threshold, else +1."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _checked(X: Any) -> Recording:
    """Check a table as scikit-learn does, apart from which and how many columns it has."""
    from sklearn.utils import check_array

    is_rows_of_dicts = isinstance(X, list) and bool(X) and isinstance(X[0], Mapping)
    if is_rows_of_dicts or isinstance(X, Recording):
        return as_recording(X)
    values = check_array(
        X, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=2, input_name="X"
    )
    return as_recording(values, getattr(X, "columns", None))
