"""Adapter for PyOD: smkc as a PyOD detector.

In: tables with one row per time step, in order. Out: scores, higher for abnormal rows, and labels
0 or 1.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.compat import as_recording, fitted_detector, host_class, reference_scores, scores
from smkc.detector import Detector
from smkc.recording import Recording

# Largest amount in nats added to break ties; smaller than any meaningful difference of scores.
MAX_TIE_BREAK = 1e-3

BaseDetector: Any = host_class("pyod.models.base", "BaseDetector", "pyod")


class SmkcDetector(BaseDetector):  # type: ignore[misc]
    """A PyOD detector for rows in order of time, whose columns may change after fitting.

    Parameters
    ----------
    contamination
        share of the rows fitted on that counts as abnormal; sets ``threshold_``, as for every PyOD
        detector.
    window
        as in :class:`smkc.Detector`.
    settings
        further settings of :class:`smkc.Detector`, by name.

    Attributes
    ----------
    detector_
        the fitted :class:`smkc.Detector`, for alerts and causes.
    decision_scores_, threshold_, labels_
        (T,) scores of the rows fitted on, the score that a share ``contamination`` of them exceeds,
        and (T,) labels, 1 for those rows. Each half of the rows is scored after fitting on the
        other half.

    Notes
    -----
    ``predict``, ``predict_proba``, ``predict_confidence`` and other methods are PyOD's own. Quiet
    rows all have the score 0, and the rows of a window may have equal scores. Because PyOD ranks
    scores, ties are broken by adding up to 0.001 nats, more for rows farther from the medians.
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
        """Return (T,) scores, one per row; higher is more abnormal."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, ["decision_scores_", "threshold_", "labels_"])
        recording = as_recording(X)
        return scores(self.detector_, recording) + self._tie_breaks(recording)

    def _tie_breaks(self, recording: Recording) -> NDArray[np.float64]:
        """Return (T,) amounts below MAX_TIE_BREAK that grow with a row's distance from the medians.

        The distance is the mean over the known variables, each in units of its mean deviation.
        """
        centre, spread = np.array([self.middles_.get(n, (0.0, 0.0)) for n in recording.names]).T
        known = spread[recording.codes] > 0
        far = np.abs(recording.values[known] - centre[recording.codes[known]])
        far = far / spread[recording.codes[known]]
        rows = recording.row_numbers[known]
        total = np.bincount(rows, far, minlength=len(recording))
        mean = total / np.maximum(np.bincount(rows, minlength=len(recording)), 1)
        return np.asarray(MAX_TIE_BREAK * mean / (1.0 + mean))


def _middles(recording: Recording) -> dict[str, tuple[float, float]]:
    """Return the median of each variable and the mean absolute deviation from it."""
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
