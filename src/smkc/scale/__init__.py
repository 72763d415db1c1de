"""Scale: recordings larger than memory, and more than one machine.

In: Parquet files and a fitted detector. Out: the same scores as in memory, in a file:
``evidence`` to the bit, kernel detectors to 1e-6.

A source is read in batches (``source.py``, ``groups.py``). Observations wait until their row is
complete (``held.py``); complete rows are scored in order of time for each entity (``scoring.py``,
``placing.py``), and what is final is written in parts beside the output together with the state to
go on from (``work.py``, ``block.py``). A run (``run.py``) is a number of blocks of entities, done
here one after another, or on a Ray cluster side by side (``cluster.py``, extra ``ray``). Reference
data larger than memory are learned from in stretches (``fitting.py``).

What a workload will cost is estimated before it is run (``plan.py``), by coefficients that were
measured (``costs.py``).
"""

from smkc.scale.cluster import RayCluster
from smkc.scale.costs import Costs, measured_costs
from smkc.scale.fitting import fit_file
from smkc.scale.plan import Estimate, Workload, estimate
from smkc.scale.run import Summary, score_file
from smkc.scale.settings import ScaleSettings
from smkc.scale.source import Source

__all__ = [
    "Costs",
    "Estimate",
    "RayCluster",
    "ScaleSettings",
    "Source",
    "Summary",
    "Workload",
    "estimate",
    "fit_file",
    "measured_costs",
    "score_file",
]
