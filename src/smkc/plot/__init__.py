"""Figures for files, and a report page that opens without network access.

In: recordings, scores, alerts and a fitted detector. Out: matplotlib figures, PNG files, or one
self-contained HTML file. Drawing needs the extra ``plot``; importing this package does not.
"""

from smkc.plot.figures import (
    evidence_figure,
    presence_figure,
    save_png,
    score_figure,
    trace_figure,
)
from smkc.plot.report import report
from smkc.plot.views import AlertView, EvidenceView, KernelView, view_alerts

__all__ = [
    "AlertView",
    "EvidenceView",
    "KernelView",
    "evidence_figure",
    "presence_figure",
    "report",
    "save_png",
    "score_figure",
    "trace_figure",
    "view_alerts",
]
