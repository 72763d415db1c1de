"""Budget of false alerts: each alert that barely passes raises the bar for the next one.

In: (n,) surprises of consecutive rows. Out: the same surprises, minus the cost of earlier alerts.
"""

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.decision._loops import charge
from smkc.evidence.saving import SavedState
from smkc.evidence.settings import SETTINGS


class Budget(SavedState):
    """The cost of past alerts at one moment of a recording.

    While all is normal, the surprise of a row above the threshold exceeds it by an exponentially
    distributed amount. An alert whose peak exceeds the threshold by x nats therefore counts as
    exp(-x) false alerts: an alert that barely passes counts as 1, a certain one as 0. Once alerts
    that count as k have ended, the next one needs a p-value 1 + k times smaller.

    Examples
    --------
    >>> budget = Budget()
    >>> surprises = budget.charge(np.array([0.0, 6.3, *[0.0] * 40, 6.3, *[0.0] * 40, 100.0]))
    >>> surprises[surprises > 0].round(1).tolist()
    [6.3, 5.8, 99.0]
    """

    saved = ("spent", "n_rows")

    def __init__(self) -> None:
        self.n_rows = 0
        # The count k and the row it was updated in; then the peak of the open alert, 0 if there is
        # none, and the alert's latest loud row.
        self.spent = np.zeros(4)

    def charge(self, surprises: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (n,) surprises of the next rows minus the cost of earlier alerts; at least 0."""
        out = np.empty(len(surprises))
        charge(
            surprises,
            -float(np.log(SETTINGS.loud_rate)),
            -float(np.log(SETTINGS.lasting_rate)),
            SETTINGS.calm_rows,
            SETTINGS.budget_half_life_rows,
            self.n_rows,
            self.spent,
            out,
        )
        self.n_rows += len(surprises)
        return out
