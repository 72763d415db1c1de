"""Decisions: from scores to p-values, alerts and reasons.

In: scores of windows. Out: scores a time step, calibrated p-values and thresholds, alerts with
hysteresis, and for each the variables that caused it.
"""

from smkc.decide.alerts import Alert, Cause, find_alerts
from smkc.decide.calibration import Calibration
from smkc.decide.causes import explain_window
from smkc.decide.contributions import Contributions, contributions
from smkc.decide.scores import ALIGNMENTS, WindowScores, step_scores
from smkc.decide.thresholds import Thresholds

__all__ = [
    "ALIGNMENTS",
    "Alert",
    "Calibration",
    "Cause",
    "Contributions",
    "Thresholds",
    "WindowScores",
    "contributions",
    "explain_window",
    "find_alerts",
    "step_scores",
]
