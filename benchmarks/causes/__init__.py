"""The cause benchmark: whether the variables that a method blames are the ones to blame.

In: recordings of real systems whose faults have known causes. Out: each method's ranking of the
variables for each fault, in files, and a table made from them.

Every method is told the same moment, the cut: rows from there to the end of the fault are the ones
to explain. The cut is the true start of the fault, or 60 seconds later, as after a late alarm
(``cases``). BARO and N-Sigma take what came before the cut for normal; the default detector has
learned from the reference and has watched the rows since (``methods``).
"""

from benchmarks.causes.cases import DATASETS, DELAYS, Case, cases_of

__all__ = ["DATASETS", "DELAYS", "Case", "cases_of"]
