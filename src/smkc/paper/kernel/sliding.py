"""Sliding window: the features of the latest window of a stream, step by step.

In: one state after another. Out: features, equal to those of a whole recording up to rounding. The
work per step depends only on the window.
"""

import numpy as np
from numpy.typing import NDArray

from smkc.paper.kernel._compare import compare_pushed, push_step
from smkc.paper.kernel.features import features_of_states, lags
from smkc.paper.kernel.representation import Representation


class SlidingWindow:
    """The states of the latest ``window`` steps, and their features.

    For bands and images, the compared pairs are kept and only pairs with the newest step are added;
    other representations are recomputed.
    """

    def __init__(self, window: int, width: int, representation: Representation) -> None:
        self.representation = representation
        self._steps = np.zeros((window, width), np.float32)  # ring buffer, newest at _newest
        self._newest = window - 1
        self._shape = representation.shape(window)
        plain = not (representation.proj or representation.down)
        self._keeps_pairs = plain and representation.layout in ("band", "image")
        if self._keeps_pairs:
            n_lags, self._is_image = lags(representation, window)
            self._channel_at = np.array(representation.places, np.int64)
            self._wanted = self._channel_at >= 0
            self._pairs = np.zeros((6, n_lags, window), np.float32)
            self._squares = np.zeros((3, window), np.float32)

    def push(self, state: NDArray[np.float32]) -> None:
        """Add the state (2m,) of the next step."""
        self._newest = (self._newest + 1) % len(self._steps)
        self._steps[self._newest] = state
        if self._keeps_pairs:
            push_step(self._steps, self._newest, self._wanted, self._pairs, self._squares)

    def features(self) -> NDArray[np.float32]:
        """Return (F,) features of the latest ``window`` steps."""
        if not self._keeps_pairs:
            return features_of_states(self.states, self.representation)
        out = np.empty(self._shape, np.float32)
        compare_pushed(self._pairs, self._squares, self._channel_at, self._is_image, out)
        return out.reshape(-1)

    @property
    def states(self) -> NDArray[np.float32]:
        """The latest states (2m, window), oldest first: everything that must be saved."""
        return np.ascontiguousarray(np.roll(self._steps, -1 - self._newest, axis=0).T)

    def restore(self, states: NDArray[np.float32]) -> None:
        """Restore saved states."""
        for state in states.T:
            self.push(state)
