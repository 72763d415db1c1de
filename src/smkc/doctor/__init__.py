"""Trials of a detector on a recording, with planted anomalies and churn.

In: a recording and a detector. Out: a :class:`Diagnosis`: a verdict (yes, partly or no) with the
figures behind it. The detector learns from the first rows and judges copies of the later rows:
unchanged, with churn but no anomaly (``churning.py``), and with planted anomalies of each kind in
several sizes (``planting.py``). ``trial.py`` counts the alarms, and ``findings.py`` turns the
counts into problems and remedies. Only public methods of the detector are used, so any object with
the same methods can be checked.
"""

from smkc.doctor.churning import CHURN, add_churn
from smkc.doctor.diagnosis import Diagnosis, Finding
from smkc.doctor.examination import diagnose
from smkc.doctor.held_out import HeldOut, hold_out
from smkc.doctor.planting import KINDS, Kind, Plant, plant
from smkc.doctor.trial import FalseAlarms, Outcome

__all__ = [
    "CHURN",
    "KINDS",
    "Diagnosis",
    "FalseAlarms",
    "Finding",
    "HeldOut",
    "Kind",
    "Outcome",
    "Plant",
    "add_churn",
    "diagnose",
    "hold_out",
    "plant",
]
