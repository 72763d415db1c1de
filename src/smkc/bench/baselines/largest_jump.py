"""LargestJump: the one-line score, the largest step between successive states of a window.

In: windows. Out: max_t |g_t - g_{t-1}|. It is the floor that a method has to beat.
"""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from smkc.bench.windows import Windows
from smkc.errors import NotFittedError
from smkc.sketch import Sketch

__all__ = ["LargestJump"]

# Windows whose states are in memory at a time: 16 MiB of them at 32 steps of 256 buckets.
BLOCK_WINDOWS = 512


class LargestJump:
    """The largest Euclidean norm of a first difference of states in a window.

    There is nothing to learn: :meth:`fit` only checks in, as with every competitor.

    Parameters
    ----------
    sketch
        how a time step becomes a state.
    """

    is_fitted_: bool

    def __init__(self, *, sketch: Sketch | None = None) -> None:
        self.sketch = sketch

    def fit(self, windows: Windows, validation: Windows | None = None) -> Self:
        """Learn nothing; neither argument is used."""
        self.is_fitted_ = True
        return self

    def score(self, windows: Windows) -> NDArray[np.float64]:
        """(B,) the largest jump of each window; 0 if it has but one step."""
        if not hasattr(self, "is_fitted_"):
            raise NotFittedError("LargestJump was not fitted; call fit first, on any windows")
        sketch = self.sketch or Sketch()
        scores = np.zeros(len(windows))
        for first in range(0, len(windows), BLOCK_WINDOWS):
            part = slice(first, first + BLOCK_WINDOWS)
            block = windows.take(part)
            states = sketch.states(block.recording()).reshape(len(block), windows.length, -1)
            jumps = np.diff(states, axis=1)
            squares = (jumps * jumps).sum(axis=2, dtype=np.float64)
            scores[part] = np.sqrt(squares.max(axis=1, initial=0.0))
        return scores
