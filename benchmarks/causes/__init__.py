"""The cause benchmark: how well methods rank the variables responsible for a fault.

In: recordings of real systems whose faults have known causes. Out: each method's ranking of the
variables for each fault, in files, and a table made from them.

Every method is given the same row, the cut, and explains the rows from there to the end of the
fault. The cut is at the true start of the fault, or 60 seconds later, as after a late alarm
(``cases``). BARO and N-Sigma take the rows before the cut as normal; the default detector is fitted
on the reference and scores all live rows (``methods``).
"""

from benchmarks.causes.cases import DATASETS, DELAYS, Case, cases_of

__all__ = ["DATASETS", "DELAYS", "Case", "cases_of"]
