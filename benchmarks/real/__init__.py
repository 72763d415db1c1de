"""Real data under churn: recordings with known faults, what befalls them, and who finds the faults.

In: recordings of real systems, part of each taken as reference, and the names of methods. Out:
scores in files, one a time step, and tables made from them.

A dataset is looked up in a registry that says where it comes from, under which licence, and what
its files must hash to. Its test part is then made harder on purpose, from a seed: churn renames
variables, lets them vanish and appear and leaves out entries; drift moves what is normal without
any fault. Every method, ours or another library's, gets the same reference and the same test part
and gives one score a time step. What the scores are worth is measured here too: volumes under the
surface in both published definitions (``vus``), events found at a bearable number of false alarms
and how soon (``events``), and whether the variables named were the ones to blame
(``root_cause``). Metrics read saved scores and may be computed again at any time.
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
