"""What every competitor offers: learn from normal windows, then score others.

In: windows. Out: one number a window, higher = more anomalous.
"""

from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.windows import Windows

__all__ = ["Competitor"]


class Competitor(Protocol):
    """A method of the benchmark.

    A competitor is made with all its settings, its seed among them. The same settings and windows
    give the same scores. A window's score depends on what was learned and on that window: not, but
    for rounding, on the others that are scored beside it, and not on the order of its variables.

    A competitor with a true attribute ``wants_labels`` is given anomalous validation windows too,
    told apart by their kinds: the paper's ensemble learns its fusion from them.
    """

    def fit(self, windows: Windows, validation: Windows | None = None) -> Self:
        """Learn from normal windows.

        ``validation`` are more normal windows, for methods that stop training by them; without
        any, such methods set a tenth of ``windows`` aside.
        """
        ...

    def score(self, windows: Windows) -> NDArray[np.float64]:
        """(B,) how anomalous each window is, higher = more so; finite."""
        ...
