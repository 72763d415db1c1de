"""Evidence inside one window: questions that need neither names nor labels.

In: windows (B, L, P) as arrays, NaN where nothing was seen, and reference windows of the same
length. Out: ten statistics a window, each with its p-value, and one joined score. Level, jump,
repetition and roughness are read off the values; the others ask a dynamic factor model that is
fitted inside the window.
"""

from smkc.evidence.window.evidence import Answers, WindowEvidence
from smkc.evidence.window.questions import EVIDENCES, KINDS, Evidence

__all__ = ["EVIDENCES", "KINDS", "Answers", "Evidence", "WindowEvidence"]
