"""SMKC-Evidence: calibrated evidences of each window, joined, without labels and without a network.

In: normal windows, then any windows. Out: the joined score of all evidences. The identity of a
window's variables is not used. Mixtures of couplings and speeds and the nulls of all statistics are
fitted to the normal windows.
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
        as in :class:`benchmarks.single_window.WindowEvidence`: None computes every evidence.
    """

    evidence_: WindowEvidence

    def __init__(self, *, doubt: tuple[float, float] | None = None) -> None:
        self.doubt = doubt

    def fit(self, windows: Windows, validation: Windows | None = None) -> Self:
        """Fit the evidences to normal windows; ``validation`` is not used."""
        self.evidence_ = WindowEvidence(doubt=self.doubt).fit(windows.with_gaps)
        return self

    def score(self, windows: Windows) -> NDArray[np.float64]:
        """(B,) joined scores; 0 for windows in which all evidences abstain."""
        if not hasattr(self, "evidence_"):
            raise NotFittedError("EvidenceWindows has seen no windows; call fit first")
        return np.nan_to_num(self.evidence_.score(windows.with_gaps), nan=0.0)
