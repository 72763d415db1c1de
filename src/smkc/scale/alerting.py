"""Alerting: alarms as they become final -> the alerts of the whole recording, piece by piece.

In: (T,) times and alarms of one entity, in order. Out: alerts without causes, as soon as no later
row can change them.
"""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.base import BaseDetector
from smkc.decide import Alert, find_alerts
from smkc.decide.scored import release_threshold
from smkc.scale.scoring import FinalSteps

# A longer alert is split into parts of this many rows.
MAX_ALERT_ROWS = 1_000_000


class AlertFinder:
    """Finder of the alerts of one entity as its rows arrive; the detector must be fitted."""

    def __init__(self, detector: BaseDetector) -> None:
        fitted = detector.fitted_
        self._calibration = fitted.of_steps
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._threshold = fitted.of_steps.threshold(detector.false_alarm_rate)
        self._release = release_threshold(fitted, detector.false_alarm_rate)
        self._join = fitted.join
        self._times: NDArray[Any] = np.empty(0, np.int64)
        self._alarms, self._marks = np.empty(0), np.empty(0, np.int8)
        self._first = 0  # number of the first row that is kept

    def add(self, scored: FinalSteps) -> list[Alert]:
        """Add the next time steps; return the alerts that have ended."""
        self._times = (
            np.concatenate([self._times, scored.times]) if len(self._times) else scored.times.copy()
        )
        self._alarms = np.concatenate([self._alarms, scored.alarms])
        self._marks = np.concatenate([self._marks, scored.marks])
        quiet = ~(self._alarms > min(self._release, self._threshold))
        n_quiet = np.cumsum(np.concatenate([[0], quiet]))
        # A cut is safe after more quiet rows than may separate two alerts that are joined.
        reach = self._join + 1
        safe = np.flatnonzero(n_quiet[reach:] - n_quiet[:-reach] == reach) + reach
        if len(safe):
            return self._found(int(safe[-1]))
        return self._found(MAX_ALERT_ROWS) if len(self._alarms) > MAX_ALERT_ROWS else []

    def finish(self) -> list[Alert]:
        """Return the remaining alerts, after the last row."""
        return self._found(len(self._alarms))

    def _found(self, end: int) -> list[Alert]:
        """Return the alerts among the first ``end`` rows kept, and keep only the later rows."""
        alerts = find_alerts(
            self._alarms[:end],
            self._times[:end],
            self._calibration,
            self._threshold,
            self._release,
            self._join,
            self._marks[:end],
        )
        first = self._first
        self._first += end
        self._times, self._alarms = self._times[end:].copy(), self._alarms[end:].copy()
        self._marks = self._marks[end:].copy()
        return [
            replace(alert, first_row=alert.first_row + first, last_row=alert.last_row + first)
            for alert in alerts
        ]

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header from which :meth:`restore` continues exactly."""
        arrays: dict[str, NDArray[Any]] = {
            "times": self._times.view(np.int64),
            "alarms": self._alarms,
            "marks": self._marks,
        }
        return arrays, {"first": self._first, "time_type": self._times.dtype.str}

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """Restore what :meth:`to_arrays` returned."""
        self._times = arrays["times"].view(header["time_type"])
        self._alarms, self._marks = arrays["alarms"], arrays["marks"]
        self._first = header["first"]
