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
from smkc.evidence.reference.choices import LONGEST
from smkc.loading import make_detector
from smkc.recording import Recording

__all__ = ["PAPER", "DetectorPeer", "randproj_knn"]

# The paper's training-free detector on real data: windows of 32 rows, and a row gets the largest
# score of the windows that cover it, as the project's first measurements had it.
PAPER: dict[str, Any] = {"detector": "knn", "window": 32, "align": "sharp"}

# Windows' worth of rows before a row that a detector is shown when asked for causes.
WINDOWS_BEFORE = 8

# The same of one that learns as it scores.
FOLLOWED_BEFORE = 64


class DetectorPeer:
    """A detector of smkc, with the reference's last rows before a test part that follows on.

    Parameters
    ----------
    most_windows
        windows of the reference at most, by a longer stride, which then holds for test parts too;
        None leaves the stride as it is.
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
        """Rows of a window that may come after a row, unless windows count where they end."""
        settings = self.all_settings
        if settings["align"] == "prompt":
            return 0
        window = settings["window"]
        return (window if isinstance(window, int) else LONGEST) - 1

    @property
    def follows_by_itself(self) -> bool:
        """Whether the detector learns from rows as it scores them."""
        return make_detector(self.settings).kind == "evidence"

    @property
    def all_settings(self) -> dict[str, Any]:
        """The settings that this detector has a use for, those left at their defaults too.

        What is None is left out, so that a setting that others get later changes nothing here.
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
        """(T,) the detector's score of each row; NaN where no window can be scored."""
        require_fitted(self, "detector_")
        n_before = 0
        whole = test
        # What learns as it scores keeps the reference's last rows itself.
        if not self.follows_by_itself and follows_on(self.reference_.times, test.times):
            n_before = min(self.detector_.fitted_.window - 1, len(self.reference_))
            before = self.reference_.rows(len(self.reference_) - n_before)
            whole = Recording.concat([before, test])
        if len(whole) < self.detector_.fitted_.window:
            return np.full(len(test), np.nan)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnscoredWarning)  # NaN says it
            return self.detector_.decision_function(whole)[n_before:]

    def blame(self, test: Recording, row: int) -> list[str]:
        """Name the causes of the worst window that holds a row; none where none can be scored.

        The detector sees some windows' worth of rows before it, not all: that is what it needs to
        tell a jump, and much cheaper.
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
    """RandProj-kNN as the paper has it: random projection of kernel features, 20 neighbours."""
    return DetectorPeer(**PAPER, seed=seed)
