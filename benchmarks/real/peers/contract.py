"""The interface of peers: learn from a normal recording, then score the rows of another.

In: recordings whose variables may differ. Out: one score per row, higher = more anomalous.
"""

from typing import Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from smkc.recording import Recording

__all__ = ["Blames", "Peer", "follows_by_itself"]


class Peer(Protocol):
    """A method of the real-data benchmark.

    The constructor takes all settings, including the seed; the same settings and recordings give
    the same scores. Fitting again discards what was learned before: to let a peer learn from past
    test rows, the caller fits it again on the reference and these rows.
    """

    @property
    def look_ahead(self) -> int:
        """Number of rows after a row that its score may depend on."""
        ...

    def fit(self, reference: Recording) -> Self:
        """Learn normal behaviour; there are no labels."""
        ...

    def score(self, test: Recording) -> NDArray[np.float64]:
        """Return (T,) scores, higher = more anomalous; NaN where there is none.

        ``test`` may have other variables than the reference. A row's score may depend on any rows
        before it, and on ``look_ahead`` rows after it. Scoring changes nothing that was learned.
        """
        ...


@runtime_checkable
class Blames(Protocol):
    """A peer that names the variables that made a row anomalous."""

    def blame(self, test: Recording, row: int) -> list[str]:
        """Return the variables responsible for the score of a row, most guilty first.

        ``test`` holds the row and rows around it; the names are those that ``test`` uses.
        """
        ...


def follows_by_itself(peer: Peer) -> bool:
    """Tell whether a peer learns from test rows while it scores them.

    Such a peer has an attribute ``follows_by_itself`` that is True; other peers need none.
    """
    return getattr(peer, "follows_by_itself", False) is True
