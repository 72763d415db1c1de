"""The one-line scores: the largest step between successive states, and the largest state.

In: windows. Out: max_t |g_t - g_{t-1}|, or max_t |g_t|: baselines that a method has to beat.
"""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.windows import Windows
from smkc.errors import NotFittedError
from smkc.paper.sketch import Sketch

__all__ = ["LargestJump", "LargestState"]

# Windows per block: their states take 16 MiB at 32 steps of 256 buckets.
BLOCK_WINDOWS = 512


class LargestJump:
    """The largest Euclidean norm of a first difference of states in a window.

    There is nothing to learn: :meth:`fit` only satisfies the interface.

    Parameters
    ----------
    sketch
        sketch of a time step into a state.
    """

    is_fitted_: bool

    def __init__(self, *, sketch: Sketch | None = None) -> None:
        self.sketch = sketch

    def fit(self, windows: Windows, validation: Windows | None = None) -> Self:
        """Learn nothing; neither argument is used."""
        self.is_fitted_ = True
        return self

    def score(self, windows: Windows) -> NDArray[np.float64]:
        """(B,) the largest jump of each window; 0 if it has only 1 step."""
        if not hasattr(self, "is_fitted_"):
            raise NotFittedError(
                f"{type(self).__name__} was not fitted; call fit first, on any windows"
            )
        sketch = self.sketch or Sketch()
        scores = np.zeros(len(windows))
        for first in range(0, len(windows), BLOCK_WINDOWS):
            part = slice(first, first + BLOCK_WINDOWS)
            block = windows.take(part)
            states = sketch.states(block.recording()).reshape(len(block), windows.length, -1)
            vectors = self._compared(states)
            squares = (vectors * vectors).sum(axis=2, dtype=np.float64)
            scores[part] = np.sqrt(squares.max(axis=1, initial=0.0))
        return scores

    def _compared(self, states: NDArray[np.float32]) -> NDArray[np.float32]:
        """(B, L - 1, 2m) first differences of (B, L, 2m) states."""
        return np.diff(states, axis=1)


class LargestState(LargestJump):
    """The largest Euclidean norm of a state in a window: the error of predicting 0.

    A baseline for every network that reconstructs states and scores by its worst step.
    """

    def _compared(self, states: NDArray[np.float32]) -> NDArray[np.float32]:
        return states
