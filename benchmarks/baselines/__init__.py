"""Competitors: one method per file, all with the same interface.

In: normal windows to learn from, then any windows. Out: one score per window, higher = more
anomalous. Only files of methods that need torch (extra ``deep``) import it.
"""

from benchmarks.baselines.contract import Competitor

__all__ = ["Competitor"]
