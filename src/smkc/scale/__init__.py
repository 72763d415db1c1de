"""Scale: recordings larger than memory, and more than one machine.

In: Parquet files and a fitted detector. Out: the same scores as in memory, in a file: those of
``evidence`` bit for bit, those of kernel detectors to 1e-6.

A source is read in batches (``source.py``, ``groups.py``). Observations wait until their row is
complete (``held.py``); complete rows are scored in order of time for each entity
(``scoring.py``). Final scores are written in parts beside the output, together with the state from
which an interrupted run continues (``work.py``, ``block.py``). A run (``run.py``) consists of
blocks of entities, processed one after another on this machine, or in parallel on a Ray cluster
(``cluster.py``, extra ``ray``).
"""

from smkc.scale.block import ScaleSettings
from smkc.scale.cluster import RayCluster
from smkc.scale.run import Summary, score_file
from smkc.scale.source import Source

__all__ = [
    "RayCluster",
    "ScaleSettings",
    "Source",
    "Summary",
    "score_file",
]
