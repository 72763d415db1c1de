"""PyOD: smkc as one of its detectors.

In: tables, a row a time step in order. Out: scores that are high for what is abnormal, 0 or 1.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.compat import as_recording, fitted_detector, host_class, reference_scores, scores
from smkc.detector import Detector
from smkc.recording import Recording

__all__ = ["SmkcDetector"]

# In nats, less than any difference between scores that means something.
MAX_TIE_BREAK = 1e-3

BaseDetector: Any = host_class("pyod.models.base", "BaseDetector", "pyod")


class SmkcDetector(BaseDetector):  # type: ignore[misc]
    """PyOD detector over rows in order of time, whose columns may change after fitting.

    Parameters
    ----------
    contamination
        share of the rows fitted on that counts as abnormal; sets ``threshold_``, as in all of PyOD.
    window
        as in :class:`smkc.Detector`.
    settings
        further settings of :class:`smkc.Detector`, by name.

    Attributes
    ----------
    detector_
        the fitted :class:`smkc.Detector`, for alerts and causes.
    decision_scores_, threshold_, labels_
        (T,) scores of the rows fitted on, the score that ``contamination`` of them exceed, and
        (T,) 1 for those. Each half of the rows is scored by what the other half taught.

    Notes
    -----
    ``predict``, ``predict_proba``, ``predict_confidence`` and the rest are PyOD's own. Quiet rows
    share the score 0 and the rows of a window may share another. PyOD ranks scores, so ties are
    broken by a little: up to a thousandth of a nat for how far the row is from the middle.
    Zhao, Nasrullah and Li, Journal of Machine Learning Research 20, 2019.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> model = SmkcDetector(contamination=0.05).fit(rng.normal(size=(600, 3)))
    >>> wider = rng.normal(size=(100, 4))
    >>> wider[50:54] = 9
    >>> model.predict(wider)[52].item()
    1
    """

    def __init__(
        self,
        contamination: Any = 0.1,
        window: int | str = Detector.window,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(contamination=contamination)
        self.window = window
        self.settings = settings

    def fit(self, X: Any, y: Any = None) -> "SmkcDetector":
        """Learn what is normal from rows in order of time; ``y`` is ignored."""
        self._set_n_classes(y)
        recording = as_recording(X)
        self.detector_ = fitted_detector(self, recording)
        self.middles_ = _middles(recording)
        self.decision_scores_ = reference_scores(self.detector_, recording)
        self.decision_scores_ += self._tie_breaks(recording)
        self._process_decision_scores()
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """(T,) a score a row; higher is more abnormal."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, ["decision_scores_", "threshold_", "labels_"])
        recording = as_recording(X)
        return scores(self.detector_, recording) + self._tie_breaks(recording)

    def _tie_breaks(self, recording: Recording) -> NDArray[np.float64]:
        """(T,) less than MAX_TIE_BREAK, the more the farther a row is from the middle."""
        centre, spread = np.array([self.middles_.get(n, (0.0, 0.0)) for n in recording.names]).T
        known = spread[recording.codes] > 0
        far = np.abs(recording.values[known] - centre[recording.codes[known]])
        far = far / spread[recording.codes[known]]
        rows = recording.row_numbers[known]
        total = np.bincount(rows, far, minlength=len(recording))
        mean = total / np.maximum(np.bincount(rows, minlength=len(recording)), 1)
        return np.asarray(MAX_TIE_BREAK * mean / (1.0 + mean))


def _middles(recording: Recording) -> dict[str, tuple[float, float]]:
    """Return the median and the mean distance from it of each variable."""
    order = np.argsort(recording.codes, kind="stable")
    values = recording.values[order].astype(np.float64)
    starts = np.searchsorted(recording.codes[order], np.arange(len(recording.names) + 1))
    found = {}
    for at, name in enumerate(recording.names):
        own = values[starts[at] : starts[at + 1]]
        if len(own):
            centre = float(np.median(own))
            found[name] = centre, float(np.abs(own - centre).mean())
    return found
