"""Evidence inside one window: questions that need neither names nor labels.

In: windows (B, L, P) as arrays, NaN where nothing was seen, and reference windows of the same
length. Out: a statistic for each evidence with its p-value, and one joined score. The cheap
evidences are read off the values; the dear ones ask a dynamic factor model that is fitted inside
the window.
"""

from benchmarks.single_window.evidence import Answers, WindowEvidence
from benchmarks.single_window.questions import EVIDENCES, KINDS, Evidence

__all__ = ["EVIDENCES", "KINDS", "Answers", "Evidence", "WindowEvidence"]
