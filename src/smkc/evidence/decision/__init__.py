"""The decision: surprises of single columns and of the system become one p-value, and a score.

In: blocks of rows. Out: scores and p-values (``scorer.py``). The reference does not follow a system
that drifts; instead, only surprises above their recent median count (``recent_median.py``). Earlier
alerts that barely passed raise the bar (``budget.py``).
"""
