"""Report pages that open without network access.

In: a scored recording, or a diagnosis (``doctor_page``). Out: one self-contained HTML file. Writing
it needs the extra ``plot``; importing this package does not.
"""

from smkc.plot.report import report

__all__ = ["report"]
