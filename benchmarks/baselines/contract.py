"""The interface of all competitors: learn from normal windows, then score others.

In: windows. Out: one number per window, higher = more anomalous.
"""

from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.windows import Windows

__all__ = ["Competitor"]


class Competitor(Protocol):
    """A method of the benchmark.

    The constructor takes all settings, including the seed. The same settings and windows give the
    same scores. A window's score depends only on what was learned and on that window: not on the
    other windows scored in the same call, except for rounding, and not on the order of its
    variables.

    If the attribute ``wants_labels`` is true, the validation windows include anomalous ones,
    labelled by their kinds: the paper's ensemble learns its fusion from them.
    """

    def fit(self, windows: Windows, validation: Windows | None = None) -> Self:
        """Learn from normal windows.

        ``validation`` holds more normal windows, for early stopping; without it, methods that
        need it set 1/10 of ``windows`` aside.
        """
        ...

    def score(self, windows: Windows) -> NDArray[np.float64]:
        """(B,) finite scores, higher = more anomalous."""
        ...
