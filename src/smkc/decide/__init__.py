"""Decisions: from scores to p-values and alerts, for every detector.

In: scores of windows. Out: scores per time step, calibrated p-values and thresholds, alerts with
hysteresis, and their causes. ``contract`` defines the protocols that a detector implements,
``scored`` holds a recording with its scores.
"""

from smkc.decide.alerts import Alert, Cause, Mark, find_alerts
from smkc.decide.calibration import Calibration, Thresholds, check_rate
from smkc.decide.contract import Fitted, RowScores, Scan, ScoredWindows
from smkc.decide.new_normal import NewNormal
from smkc.decide.placing import ALIGNMENTS, Placing, step_scores
from smkc.decide.scored import Learned, Scored
from smkc.decide.scores import WindowScores

__all__ = [
    "ALIGNMENTS",
    "Alert",
    "Calibration",
    "Cause",
    "Fitted",
    "Learned",
    "Mark",
    "NewNormal",
    "Placing",
    "RowScores",
    "Scan",
    "Scored",
    "ScoredWindows",
    "Thresholds",
    "WindowScores",
    "check_rate",
    "find_alerts",
    "step_scores",
]
