"""MSCRED: reconstruct a window's signature matrices with convolutions and an attentive ConvLSTM.

In: windows of at most ``CMAX`` variables. Out: reconstruction errors of their signature matrices,
higher = more anomalous.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.baselines.set_input import CMAX, masked_errors, table_arrays
from benchmarks.baselines.signatures import N_SCALES, signatures
from benchmarks.baselines.trained import Trained
from benchmarks.windows import Windows
from smkc.paper.learn.training import Network

__all__ = ["Mscred"]

# Feature maps per level; each level halves the resolution. A smaller version of MSCRED's 4 levels
# of 32 to 256 maps, which were designed for matrices of 30 x 30 and long series.
MAPS = (8, 16, 32)

# chi of the attention: similarities of states are divided by it before the softmax.
ATTENTION_SCALE = 5.0


class ConvLstm(nn.Module):
    """A convolutional LSTM with attention to earlier steps.

    Notes
    -----
    Zhang et al., section 3.3: the ConvLSTM of Shi et al. (NeurIPS 2015), with peephole gates, then
    weights softmax(<H_t, H_i> / chi) over the steps i up to t.
    """

    def __init__(self, n_maps: int, size: int) -> None:
        super().__init__()
        self.from_input = nn.Conv2d(n_maps, 4 * n_maps, 3, padding=1)
        self.from_state = nn.Conv2d(n_maps, 4 * n_maps, 3, padding=1, bias=False)
        self.from_cell = nn.Parameter(torch.zeros(3, n_maps, size, size))

    def forward(self, maps: Tensor) -> Tensor:
        """(B, T, maps, size, size) attended states of inputs of the same shape."""
        n_steps = maps.shape[1]
        driven = _by_step(self.from_input(maps.flatten(0, 1)), n_steps)
        state, cell = torch.zeros_like(maps[:, 0]), torch.zeros_like(maps[:, 0])
        at_input, at_forgetting, at_output = self.from_cell
        states: list[Tensor] = []
        for step in range(n_steps):
            gates = driven[:, step] + self.from_state(state) if step else driven[:, step]
            entering, kept, proposed, shown = gates.chunk(4, 1)
            entering = torch.sigmoid(entering + at_input * cell)
            kept = torch.sigmoid(kept + at_forgetting * cell)
            cell = kept * cell + entering * torch.tanh(proposed)
            state = torch.sigmoid(shown + at_output * cell) * torch.tanh(cell)
            states.append(state)
        return _attended(torch.stack(states, 1))


def _by_step(maps: Tensor, n_steps: int) -> Tensor:
    """(B, T, ...) from (B * T, ...)."""
    return maps.reshape(-1, n_steps, *maps.shape[1:])


def _attended(states: Tensor) -> Tensor:
    """(B, T, ...) mean of the states up to each step, weighted by their similarity to its own."""
    flat = states.flatten(2).float()
    # The exponents can be too large for half precision.
    with torch.autocast(states.device.type, enabled=False):
        likeness = flat @ flat.transpose(1, 2) / ATTENTION_SCALE  # (B, T, T)
        is_later = torch.ones_like(likeness, dtype=torch.bool).triu(1)
        weights = likeness.masked_fill(is_later, -torch.inf).softmax(-1)
        return (weights @ flat).reshape(states.shape)


class SignatureAutoencoder(Network):
    """Convolutional encoder, a ConvLSTM at every level, and a decoder with skip connections."""

    def __init__(self) -> None:
        super().__init__()
        first, second, third = MAPS
        self.down = nn.ModuleList(
            [
                nn.Conv2d(N_SCALES, first, 3, padding=1),
                nn.Conv2d(first, second, 3, stride=2, padding=1),
                nn.Conv2d(second, third, 2, stride=2),
            ]
        )
        self.memory = nn.ModuleList(
            ConvLstm(n_maps, CMAX // 2**level) for level, n_maps in enumerate(MAPS)
        )
        self.up = nn.ModuleList(
            [
                nn.ConvTranspose2d(2 * first, N_SCALES, 3, padding=1),
                nn.ConvTranspose2d(2 * second, first, 3, stride=2, padding=1, output_padding=1),
                nn.ConvTranspose2d(third, second, 2, stride=2),
            ]
        )

    def forward(self, matrices: Tensor) -> Tensor:
        """(B, T, S, CMAX, CMAX) reconstructed signature matrices."""
        n_steps = matrices.shape[1]
        maps, kept = matrices.flatten(0, 1), []
        for down, memory in zip(self.down, self.memory, strict=True):
            maps = functional.selu(down(maps))
            kept.append(memory(_by_step(maps, n_steps)).flatten(0, 1))
        maps = functional.selu(self.up[2](kept[2]))
        maps = functional.selu(self.up[1](torch.cat([maps, kept[1]], 1)))
        # No SELU at the end: it has a lower bound, and inner products have none.
        return _by_step(self.up[0](torch.cat([maps, kept[0]], 1)), n_steps)

    def loss(self, batch: tuple[Tensor, ...], epoch: int, phase: int = 0) -> Tensor:
        """Return the mean error of a batch's windows."""
        return self.errors(batch).mean()

    def errors(self, batch: tuple[Tensor, ...]) -> Tensor:
        """(B,) mean squared residual over pairs of the window's variables."""
        matrices, is_variable = batch
        is_pair = (is_variable[:, :, None] & is_variable[:, None, :])[:, None, None]
        return masked_errors(self(matrices), matrices, is_pair.expand(matrices.shape))


class Mscred(Trained):
    """MSCRED(Signature) of the paper's tables.

    Signature matrices have ``CMAX`` = 16 columns, which a window's variables fill in the order of
    their names, with zeros for missing values. A column holds a different variable in every window,
    although the method expects the same one: the paper's row shows the effect.

    Notes
    -----
    Zhang et al., A Deep Neural Network for Unsupervised Anomaly Detection and Diagnosis in
    Multivariate Time Series Data, AAAI 2019, sections 3.1 to 3.5. Adapted: 3 levels instead of 4,
    with fewer maps; matrices are reconstructed at all 5 steps, not only at the last, since a window
    is scored as a whole; no activation after the last layer; and the score is the mean squared
    residual of existing pairs, where the original counts residuals above a threshold chosen by
    hand. On synthetic windows (one seed of holdout_C, 15 epochs) the average precision is 0.25;
    0.18 to 0.22 with counts above quantiles of normal residuals, 0.21 with the last step only, 0.24
    with 8 steps instead of 5. Random columns in training, which help a padded GRU, do not help here
    (0.24, 20 epochs).
    """

    def inputs(self, windows: Windows) -> tuple[NDArray[Any], ...]:
        """Return signature matrices (B, T, S, CMAX, CMAX) and a mask of used columns (B, CMAX)."""
        values, observed = table_arrays(windows)
        return signatures(values), np.any(observed, axis=1)

    def network(self) -> Network:
        """Return an untrained autoencoder of signature matrices."""
        return SignatureAutoencoder()
