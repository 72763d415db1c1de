"""Decisions: from scores to p-values and alerts, for every detector.

In: scores of windows. Out: scores per time step, calibrated p-values and thresholds, alerts with
hysteresis, and the form in which their causes are given. ``contract`` says what a detector has to
offer for that, ``scored`` holds a recording with its scores.
"""

from smkc.decide.alerts import Alert, Cause, find_alerts
from smkc.decide.calibration import Calibration
from smkc.decide.contract import Fitted, RowScores, Scan, ScoredWindows, Windows
from smkc.decide.learned import Learned
from smkc.decide.marks import Mark
from smkc.decide.scored import Scored
from smkc.decide.scores import ALIGNMENTS, WindowScores, step_scores
from smkc.decide.thresholds import Thresholds, check_rate

__all__ = [
    "ALIGNMENTS",
    "Alert",
    "Calibration",
    "Cause",
    "Fitted",
    "Learned",
    "Mark",
    "RowScores",
    "Scan",
    "Scored",
    "ScoredWindows",
    "Thresholds",
    "WindowScores",
    "Windows",
    "check_rate",
    "find_alerts",
    "step_scores",
]
