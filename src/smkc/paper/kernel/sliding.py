"""Sliding window: the features of the latest window of a stream, step by step.

In: one state after another. Out: features, the same to rounding as those of a whole recording,
for work that depends on the window alone.
"""

import numpy as np
from numpy.typing import NDArray

from smkc.paper.kernel._compare import compare_pushed, push_step
from smkc.paper.kernel.features import channel_places, features_of_states, lags
from smkc.paper.kernel.representation import CHANNELS, Representation

__all__ = ["SlidingWindow"]


class SlidingWindow:
    """The states of the latest ``window`` steps, and how they compare.

    Bands and images keep the compared pairs and add those with the newest step; other
    representations are computed anew.
    """

    def __init__(self, window: int, width: int, representation: Representation) -> None:
        self.representation = representation
        self._steps = np.zeros((window, width), np.float32)  # a ring, the newest at _newest
        self._newest = window - 1
        self._shape = representation.shape(window)
        plain = not (representation.proj or representation.down)
        self._keeps_pairs = plain and representation.layout in ("band", "image")
        if self._keeps_pairs:
            n_lags, self._is_image = lags(representation, window)
            self._channel_at = channel_places(representation)
            self._wanted = np.array([c in representation.channels for c in CHANNELS])
            self._pairs = np.zeros((6, n_lags, window), np.float32)
            self._squares = np.zeros((3, window), np.float32)

    def push(self, state: NDArray[np.float32]) -> None:
        """Take the state (2m,) of the next step."""
        self._newest = (self._newest + 1) % len(self._steps)
        self._steps[self._newest] = state
        if self._keeps_pairs:
            push_step(self._steps, self._newest, self._wanted, self._pairs, self._squares)

    def features(self) -> NDArray[np.float32]:
        """(F,) features of the latest ``window`` steps."""
        if not self._keeps_pairs:
            return features_of_states(self.states, self.representation)
        out = np.empty(self._shape, np.float32)
        compare_pushed(self._pairs, self._squares, self._channel_at, self._is_image, out)
        return out.reshape(-1)

    @property
    def states(self) -> NDArray[np.float32]:
        """(2m, window) the latest states, oldest first: all there is to save."""
        return np.ascontiguousarray(np.roll(self._steps, -1 - self._newest, axis=0).T)

    def restore(self, states: NDArray[np.float32]) -> None:
        """Take over saved states."""
        for state in states.T:
            self.push(state)
