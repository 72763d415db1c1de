"""Pictures: figures for files, and the report as one page that opens without network.

In: recordings, scores, alerts and a fitted detector. Out: matplotlib figures, PNG files, or one
HTML file that holds all it needs. Needs the extra ``plot``; importing this room does not.
"""

from smkc.plot.figures import (
    evidence_figure,
    kernel_figure,
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
    "kernel_figure",
    "presence_figure",
    "report",
    "save_png",
    "score_figure",
    "trace_figure",
    "view_alerts",
]
