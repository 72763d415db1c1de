"""RecentMedian: how far a series rises above its own median over the latest rows.

In: (n,) values of consecutive rows. Out: the same values minus the median of the rows before each.
A rise that lasts becomes usual after half of the median's rows; a further rise is still visible.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.decision._loops import rise_above_median


class RecentMedian:
    """The latest values of a series, for their median.

    Parameters
    ----------
    n_rows
        number of rows of the median; rows before the first count as 0.

    Examples
    --------
    >>> recent = RecentMedian(4)
    >>> recent.rise_above(np.array([5.0, 5.0, 5.0, 5.0, 9.0])).tolist()
    [5.0, 5.0, 2.5, 0.0, 4.0]
    """

    def __init__(self, n_rows: int) -> None:
        self._latest = np.zeros(n_rows)
        self._ordered = np.zeros(n_rows)  # the same values in ascending order
        self._at = 0  # position of the oldest value

    def rise_above(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (n,) the next values minus the median of those before each; not negative."""
        out = np.empty(len(values))
        self._at = rise_above_median(values, self._latest, self._ordered, self._at, out)
        return out

    def accept(self, n_rows: int) -> None:
        """Replace all values by the median of the latest ``n_rows``, which becomes usual."""
        size = len(self._latest)
        places = (self._at - 1 - np.arange(min(n_rows, size))) % size
        self._latest[:] = np.median(self._latest[places]) if len(places) else 0.0
        self._ordered = np.sort(self._latest)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that :meth:`restore` needs to continue exactly."""
        return {"latest": self._latest, "at": np.array([self._at])}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the state that :meth:`to_arrays` returned."""
        self._latest = arrays["latest"].copy()
        self._ordered = np.sort(self._latest)
        self._at = int(arrays["at"][0])
