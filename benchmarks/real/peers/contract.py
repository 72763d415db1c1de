"""What every peer offers: learn from a normal recording, then score the rows of another.

In: recordings whose variables need not agree. Out: one number a row, higher = more anomalous.
"""

from typing import Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from smkc.recording import Recording

__all__ = ["Blames", "Peer", "follows_by_itself"]


class Peer(Protocol):
    """A method of the real-data benchmark.

    A peer is made with all its settings, its seed among them; the same settings and recordings give
    the same scores. Fitting again forgets what was learned before: a peer that may use past test
    rows is fitted again on the reference and these rows, by whoever runs it.
    """

    @property
    def look_ahead(self) -> int:
        """How many rows after a row its score may depend on; 0 if on none."""
        ...

    def fit(self, reference: Recording) -> Self:
        """Learn what is normal; there are no labels."""
        ...

    def score(self, test: Recording) -> NDArray[np.float64]:
        """(T,) how anomalous each row is, higher = more so; NaN where there is no answer.

        ``test`` may have other variables than the reference. A row's score may depend on any rows
        before it, and on ``look_ahead`` rows after it. Scoring changes nothing that was learned.
        """
        ...


@runtime_checkable
class Blames(Protocol):
    """A peer that says which variables made a row anomalous."""

    def blame(self, test: Recording, row: int) -> list[str]:
        """Name the variables to blame for the score of a row, the guiltiest first.

        ``test`` is the whole test part, with names as it has them.
        """
        ...


def follows_by_itself(peer: Peer) -> bool:
    """Tell whether a peer learns from test rows while it scores them, and says so.

    Such a peer has an attribute ``follows_by_itself`` that is True; no other needs one.
    """
    return getattr(peer, "follows_by_itself", False) is True
