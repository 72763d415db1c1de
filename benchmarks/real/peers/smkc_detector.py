"""smkc's own detectors as peers: the paper's training-free one, and the library's default.

In: recordings as they are, without any workaround. Out: the detector's score of each row.
"""

import warnings
from math import ceil
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.real.peers.aligned import follows_on, require_fitted
from smkc.base import BaseDetector
from smkc.errors import UnscoredWarning, WindowError
from smkc.evidence.settings import SETTINGS
from smkc.loading import make_detector
from smkc.recording import Recording

__all__ = ["PAPER", "DetectorPeer", "randproj_knn"]

# The paper's training-free detector on real data: windows of 32 rows, and a row gets the largest
# score of the windows that cover it, as in the project's first measurements.
PAPER: dict[str, Any] = {"detector": "knn", "window": 32, "align": "sharp"}

# Rows before the explained row that a detector is given to name causes, in lengths of a window.
WINDOWS_BEFORE = 8

# The same for a detector that learns while it scores.
FOLLOWED_BEFORE = 64


class DetectorPeer:
    """A detector of smkc as a peer.

    If the test part continues the reference in time, the reference's last rows are put before it,
    unless the detector learns while it scores.

    Parameters
    ----------
    most_windows
        maximum number of reference windows, reached by a longer stride, which then also applies to
        test parts; None keeps the detector's stride.
    settings
        settings of the detector, by name; the library's defaults for all others.
    """

    detector_: BaseDetector
    reference_: Recording

    def __init__(self, *, most_windows: int | None = None, **settings: Any) -> None:
        self.most_windows = most_windows
        self.settings = settings

    @property
    def look_ahead(self) -> int:
        """Number of rows of a window that may come after a row; 0 if ``align`` is "prompt"."""
        settings = self.all_settings
        if settings["align"] == "prompt":
            return 0
        window = settings["window"]
        return (window if isinstance(window, int) else SETTINGS.window_rows) - 1

    @property
    def follows_by_itself(self) -> bool:
        """Whether the detector learns from rows while it scores them."""
        return make_detector(self.settings).kind == "evidence"

    @property
    def all_settings(self) -> dict[str, Any]:
        """All settings of the detector that are not None, including defaults.

        None is left out so that saved scores remain valid when a setting is added that this
        detector does not use.
        """
        detector = make_detector(self.settings)
        known = {"detector": detector.kind, **detector.get_params()}
        return {name: value for name, value in known.items() if value is not None}

    def fit(self, reference: Recording) -> Self:
        """Fit the detector."""
        detector = make_detector(self.settings)
        if self.most_windows is not None:
            detector.set_params(stride=max(1, ceil(len(reference) / self.most_windows)))
        self.detector_ = detector.fit(reference)
        self.reference_ = reference
        return self

    def score(self, test: Recording) -> NDArray[np.float64]:
        """Return (T,) the detector's score of each row; NaN where no window can be scored."""
        require_fitted(self, "detector_")
        n_before = 0
        whole = test
        # A detector that learns while it scores keeps the reference's last rows itself.
        if not self.follows_by_itself and follows_on(self.reference_.times, test.times):
            n_before = min(self.detector_.fitted_.window - 1, len(self.reference_))
            before = self.reference_.rows(len(self.reference_) - n_before)
            whole = Recording.concat([before, test])
        if len(whole) < self.detector_.fitted_.window:
            return np.full(len(test), np.nan)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnscoredWarning)  # NaN shows it
            return self.detector_.decision_function(whole)[n_before:]

    def blame(self, test: Recording, row: int) -> list[str]:
        """Return the causes of the worst window that holds a row; [] if no window can be scored.

        The detector is given only some of the rows before it: enough to recognise a jump, and much
        cheaper than all rows.
        """
        require_fitted(self, "detector_")
        length = self.detector_.fitted_.window
        n_windows = FOLLOWED_BEFORE if self.follows_by_itself else WINDOWS_BEFORE
        first = max(0, row - n_windows * length)
        part = test.rows(first, row + length)
        if len(part) < length:
            return []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnscoredWarning)
            try:
                causes = self.detector_.explain(part, part.times[row - first])
            except WindowError:
                return []
        return [cause.variable for cause in causes]


def randproj_knn(*, seed: int = 0) -> DetectorPeer:
    """Return the paper's RandProj-kNN: random projection of kernel features, 20 neighbours."""
    return DetectorPeer(**PAPER, seed=seed)
