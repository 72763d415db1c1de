"""Competitors: one method a file, all behind one contract.

In: normal windows to learn from, then any windows. Out: one score a window, higher = more
anomalous. Methods that need torch (extra ``deep``) import it in their own files.
"""

from benchmarks.baselines.contract import Competitor

__all__ = ["Competitor"]
