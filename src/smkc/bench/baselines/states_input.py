"""The hashed sequence: what a competitor that needs a fixed width reads of a window.

In: windows. Out: their states g_1..g_L, of width 2m whatever the cardinality. The competitors that
read nothing else share this input, so that they differ by their networks alone.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smkc.bench.baselines.trained import Trained
from smkc.bench.baselines.training import Batch, Network
from smkc.bench.windows import Windows
from smkc.kernel import Representation, features
from smkc.sketch import Sketch

__all__ = ["ReadsStates", "StatesNetwork", "state_sequences"]


class ReadsStates(Trained):
    """A trained competitor whose network reads (B, L, 2m) states."""

    def inputs(self, windows: Windows) -> tuple[NDArray[np.float32]]:
        """Return the windows' states, (B, L, 2m) float32."""
        return (state_sequences(windows, self.sketch),)


class StatesNetwork(Network):
    """A network that reads states of unit variance; a batch is ((B, L, 2m) states,).

    All buckets have one scale, learned from the training windows: most of them are empty in any
    one window, and which are not changes from window to window.
    """

    typical: Tensor  # root mean square of the training windows' states, over all buckets
    largest: Tensor  # their largest absolute value

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("typical", torch.ones(()))
        self.register_buffer("largest", torch.ones(()))

    def prepare(self, inputs: Batch) -> None:
        """Learn the states' scale."""
        least = torch.finfo(torch.float32).tiny
        self.typical.copy_(inputs[0].square().mean().sqrt().clamp(min=least))
        self.largest.copy_(inputs[0].abs().max().clamp(min=least))


def state_sequences(windows: Windows, sketch: Sketch) -> NDArray[np.float32]:
    """(B, L, 2m) float32: the states of every window, in order of time.

    Notes
    -----
    Paper, section 3.2.1 (states) and 4.2: methods of a fixed dimension read g_1..g_L.
    """
    flat = features(
        windows.recording(), windows.starts(), windows.length, Representation.parse("seq"), sketch
    )
    return flat.reshape(len(windows), windows.length, sketch.width)
