"""Budget: alerts that barely pass make the next one need more.

In: (n,) surprises of consecutive rows. Out: the same, less what earlier alerts cost.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.reference._loops import charge
from smkc.evidence.variables import CALM_ROWS, LASTING_RATE, LOUD_RATE

__all__ = ["Budget"]

# Rows after which half of what was spent is forgotten.
HALF_LIFE_ROWS = 20_000.0


class Budget:
    """What alerts have cost so far.

    While all is normal, the surprise of a row that passes the threshold exceeds it by an
    exponentially distributed amount. An alert therefore counts for exp(-excess) of a false one: one
    that barely passes counts whole, and a certain one not at all. After k such alerts the next one
    needs a p-value 1 + k times smaller.

    Parameters
    ----------
    n_ways
        what a p-value is multiplied by for the ways in which a row may alert.

    Examples
    --------
    >>> budget = Budget(1)
    >>> surprises = budget.charge(np.array([0.0, 6.3, *[0.0] * 40, 6.3, *[0.0] * 40, 100.0]))
    >>> surprises[surprises > 0].round(1).tolist()
    [6.3, 5.8, 99.0]
    """

    def __init__(self, n_ways: int) -> None:
        self._threshold = float(np.log(n_ways / LOUD_RATE))
        self._release = float(np.log(n_ways / LASTING_RATE))
        self.n_rows = 0
        # What was spent and the row of that, then the peak of the alert that goes on, 0 if none
        # does, and its latest loud row.
        self.spent = np.zeros(4)

    def charge(self, surprises: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n,) surprises of the next rows, less what earlier alerts cost; not negative."""
        out = np.empty(len(surprises))
        charge(
            surprises,
            self._threshold,
            self._release,
            CALM_ROWS,
            HALF_LIFE_ROWS,
            self.n_rows,
            self.spent,
            out,
        )
        self.n_rows += len(surprises)
        return out

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what :meth:`restore` needs to go on exactly."""
        return {"spent": self.spent, "n_rows": np.array([self.n_rows])}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what :meth:`to_arrays` gave."""
        self.spent = arrays["spent"].copy()
        self.n_rows = int(arrays["n_rows"][0])
