"""Stream: the same scores as for a whole recording, one time step at a time.

In: a fitted state and one row after another. Out: the score of each row as it comes. There is one
for detectors that score windows by a density and one for the evidences.
"""

from smkc.stream.evidence import EvidenceStream
from smkc.stream.windows import Stream

__all__ = ["EvidenceStream", "Stream"]
