"""Fitted: all that a detector has learned, apart from how it was asked to learn.

In: reference data. Out: judgements of recordings, calibrated; as arrays for the model file. What
scores windows by a density (``windows.py``) and what joins evidences (``evidence.py``) offer the
same (``contract.py``).
"""

from smkc.fitted.contract import Judged, Learned
from smkc.fitted.evidence import EvidenceFitted
from smkc.fitted.loud import loud_rows, loudness
from smkc.fitted.windows import Fitted
from smkc.fitted.wording import causes_of

__all__ = ["EvidenceFitted", "Fitted", "Judged", "Learned", "causes_of", "loud_rows", "loudness"]
