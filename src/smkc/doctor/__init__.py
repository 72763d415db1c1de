"""Doctor: whether a detector works on a recording, and what to change if not.

In: a recording and a detector's settings. Out: a :class:`Diagnosis`, that is a verdict (yes, partly
or no) with what it rests on. The detector learns from the first rows and judges the later ones:
as they are, with churn and no anomaly (``churning.py``), and with anomalies of each kind in several
sizes (``planting.py``). What it did is counted (``trial.py``) and put into words with what to
change (``findings.py``). Only a detector's public methods are used, so any with the same ones can
be tried.
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
