"""Evidence inside one window: questions that need neither names nor labels.

In: windows (B, L, P) as arrays, NaN where a value is missing, and reference windows of the same
length. Out: a statistic and a p-value for each evidence, and one joined score. The cheap evidences
are computed directly from the values; the expensive ones use a dynamic factor model that is fitted
to the window.
"""

from benchmarks.single_window.evidence import Answers, WindowEvidence
from benchmarks.single_window.questions import EVIDENCES, KINDS, Evidence

__all__ = ["EVIDENCES", "KINDS", "Answers", "Evidence", "WindowEvidence"]
