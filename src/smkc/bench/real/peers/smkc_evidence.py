"""smkc's evidences against a reference as a peer: training-free, and following what is normal.

In: recordings as they are, without any workaround. Out: the joined score of each row.
"""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from smkc.bench.real.peers.aligned import require_fitted
from smkc.evidence.reference import ReferenceEvidence
from smkc.recording import Recording

__all__ = ["EvidencePeer"]

# Windows of rows before one that are enough to say who made its score.
WINDOWS_BEFORE = 64

# No window is longer, so that no row's score depends on more rows after it.
LONGEST_WINDOW = 8


class EvidencePeer:
    """Evidences against a reference, joined.

    A row gets the score that stands when the last window that covers it is over: a window's
    surprise belongs to all of its rows. One pass is its prequential score too: it learns from past
    rows by itself, and never from rows that still look like a fault.
    """

    look_ahead = LONGEST_WINDOW - 1
    follows_by_itself = True
    model_: ReferenceEvidence

    def fit(self, reference: Recording) -> Self:
        """Fit the evidences."""
        self.model_ = ReferenceEvidence.fit(reference)
        return self

    def score(self, test: Recording) -> NDArray[np.float64]:
        """(T,) the joined score of each row."""
        require_fitted(self, "model_")
        if not len(test):
            return np.empty(0)
        scores = self.model_.start().push_rows(test).scores
        ahead = self.model_.choices.window - 1
        held = np.concatenate([scores[ahead:], np.empty(min(ahead, len(scores)))])
        # Near the end fewer rows have come since.
        for row in range(max(len(scores) - ahead, 0), len(scores)):
            held[row] = scores[-1]
        return held

    def blame(self, test: Recording, row: int) -> list[str]:
        """Name the variables that made the score of a row, the guiltiest first.

        The evidences see some windows' worth of rows before it, not all, which is much cheaper.
        """
        require_fitted(self, "model_")
        window = self.model_.choices.window
        first = max(0, row - WINDOWS_BEFORE * window)
        part = test.rows(first, row + window)
        state = self.model_.start(follows=False)
        state.push_rows(part)
        return list(state.blame(row - first, len(part)).variables)
