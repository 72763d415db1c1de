"""SMKC-Evidence: calibrated questions to each window, joined, without labels and without a network.

In: normal windows, then any. Out: the joined score of all evidences. Which variables a window has
plays no part: the window is asked about itself. Mixtures of couplings and speeds and the nulls of
all statistics are fitted to the normal windows.
"""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.single_window import WindowEvidence
from benchmarks.windows import Windows
from smkc.errors import NotFittedError

__all__ = ["EvidenceWindows"]


class EvidenceWindows:
    """The evidences that need no identity, with nulls from the training windows.

    Parameters
    ----------
    doubt
        as :class:`benchmarks.single_window.WindowEvidence` has it: None asks every evidence.
    """

    evidence_: WindowEvidence

    def __init__(self, *, doubt: tuple[float, float] | None = None) -> None:
        self.doubt = doubt

    def fit(self, windows: Windows, validation: Windows | None = None) -> Self:
        """Learn what evidences say of normal windows; ``validation`` is not used."""
        self.evidence_ = WindowEvidence(doubt=self.doubt).fit(windows.with_gaps)
        return self

    def score(self, windows: Windows) -> NDArray[np.float64]:
        """(B,) joined scores; 0 for windows of which no evidence has anything to say."""
        if not hasattr(self, "evidence_"):
            raise NotFittedError("EvidenceWindows has seen no windows; call fit first")
        return np.nan_to_num(self.evidence_.score(windows.with_gaps), nan=0.0)
