"""The sequence of states: the input of competitors that need a fixed width.

In: windows. Out: their states g_1..g_L, of width 2m for any cardinality, and one score per window
from a network's errors. All competitors that read states share this code, so that they differ only
in their networks.
"""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.baselines.trained import Trained
from benchmarks.windows import Windows
from smkc.errors import SettingError
from smkc.paper.kernel import Representation, features
from smkc.paper.learn.training import Batch, Network, Source
from smkc.paper.sketch import Sketch

__all__ = ["OVER_TIME", "ReadsStates", "StatesNetwork", "state_sequences"]

# Ways to combine the errors of a window's steps into its score.
OVER_TIME = ("max", "mean")


@dataclass(kw_only=True, eq=False)
class ReadsStates(Trained):
    """A trained competitor whose network reads (B, L, 2m) states.

    Parameters
    ----------
    over_time
        a window's score is the ``max`` of its steps' errors, or their ``mean``.

    Notes
    -----
    For methods that score time steps, a window is anomalous if any of its steps is: a window's
    score is the largest of its steps' errors. A mean mostly depends on the distance of a window's
    level from 0, which differs more between normal windows than a short anomaly can add.
    """

    over_time: str = "max"

    def __post_init__(self) -> None:
        if self.over_time not in OVER_TIME:
            raise SettingError(f"over_time={self.over_time!r}: give one of {', '.join(OVER_TIME)}")

    @abstractmethod
    def network(self) -> "StatesNetwork":
        """Return the network, untrained."""

    def inputs(self, windows: Windows) -> tuple[NDArray[np.float32]]:
        """Return the windows' states, (B, L, 2m) float32."""
        return (state_sequences(windows, self.sketch),)


class StatesNetwork(Network):
    """A network with an error for every time step; a batch is ((B, L, 2m) states,).

    All buckets share one scale, learned from the training windows: most buckets are empty in any
    one window, and the used ones differ between windows.
    """

    typical: Tensor  # root mean square of the training windows' states, over all buckets
    largest: Tensor  # their largest absolute value

    def __init__(self, over_time: str) -> None:
        super().__init__()
        self.over_time = over_time
        self.register_buffer("typical", torch.ones(()))
        self.register_buffer("largest", torch.ones(()))

    def prepare(self, inputs: Source) -> None:
        """Learn the scale of all windows' states."""
        least = torch.finfo(torch.float32).tiny
        states = inputs.batch(np.arange(len(inputs)))[0]
        self.typical.copy_(states.square().mean().sqrt().clamp(min=least))
        self.largest.copy_(states.abs().max().clamp(min=least))

    @abstractmethod
    def step_errors(self, states: Tensor) -> Tensor:
        """(B, L) error of each step of (B, L, 2m) states."""

    def errors(self, batch: Batch) -> Tensor:
        """(B,) maximum or mean of a window's step errors."""
        found = self.step_errors(batch[0])
        return found.amax(1) if self.over_time == "max" else found.mean(1)


def state_sequences(windows: Windows, sketch: Sketch) -> NDArray[np.float32]:
    """(B, L, 2m) float32: the states of every window, in order of time.

    Notes
    -----
    Paper, section 3.2.1 (states) and "Baselines and dynamic input handling": methods of a fixed
    dimension read g_1..g_L.
    """
    flat = features(
        windows.recording(), windows.starts(), windows.length, Representation.parse("seq"), sketch
    )
    return flat.reshape(len(windows), windows.length, sketch.width)
