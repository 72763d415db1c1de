"""The real-data benchmark: how well methods score recordings with known faults, churn and drift.

In: recordings of real systems, part of each taken as reference, and the names of methods. Out:
scores in files, one per time step, and tables made from them.

A registry gives the source, the licence and the SHA-256 checksums of each dataset. The test part is
then made harder, from a seed: churn renames variables, lets them vanish and appear, and leaves out
entries; drift changes normal values without any fault. Every method, ours or another library's,
gets the same reference and the same test part and returns one score per time step. The metrics are
volumes under the surface in both published definitions (``vus``), events found at an allowed rate
of false alarms and how soon (``events``), and how often a responsible variable is named
(``root_cause``). They are computed from saved scores, and can be computed again at any time.
"""

from benchmarks.real.events import (
    HOLD,
    Detection,
    StepMetrics,
    detection,
    event_bounds,
    filled_scores,
    step_metrics,
)
from benchmarks.real.root_cause import HIT_RANKS, chance_hit_rates, hit_rates
from benchmarks.real.vus import DEFINITIONS, THRESHOLDS, vus_pr, vus_roc, window_length

__all__ = [
    "DEFINITIONS",
    "HIT_RANKS",
    "HOLD",
    "THRESHOLDS",
    "Detection",
    "StepMetrics",
    "chance_hit_rates",
    "detection",
    "event_bounds",
    "filled_scores",
    "hit_rates",
    "step_metrics",
    "vus_pr",
    "vus_roc",
    "window_length",
]
