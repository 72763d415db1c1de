"""The alert benchmark: the alerts that methods raise, compared with known faults.

In: recordings of real systems with known faults, quiet recordings, and the demo's fleet; the names
of methods. Out: scores and alerts in files, one file per method and column, and tables made from
them.

The real-data benchmark (:mod:`benchmarks.real`) asks how well scores rank rows. This one asks how
many events raised an alert, how many alerts were false, whether they named the cause, and how late
they came (``measures``). The default detector raises its own alerts; the scores of every other
method, a peer, are turned into alerts by one common calibration (``calibrated``).
"""

from benchmarks.alerts.measures import JOIN_ROWS, FoundAlert, Truth, measure, recall_at_budget

__all__ = ["JOIN_ROWS", "FoundAlert", "Truth", "measure", "recall_at_budget"]
