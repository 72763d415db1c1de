"""Decisions: from scores to p-values, alerts and reasons.

In: scores of windows. Out: scores a time step, calibrated p-values and thresholds, alerts with
hysteresis, and the form in which their causes are given.
"""

from smkc.decide.alerts import Alert, Cause, find_alerts
from smkc.decide.calibration import Calibration
from smkc.decide.scores import ALIGNMENTS, WindowScores, step_scores
from smkc.decide.thresholds import Thresholds

__all__ = [
    "ALIGNMENTS",
    "Alert",
    "Calibration",
    "Cause",
    "Thresholds",
    "WindowScores",
    "find_alerts",
    "step_scores",
]
