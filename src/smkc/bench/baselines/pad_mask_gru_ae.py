"""Pad+Mask GRU-AE: a GRU autoencoder of tables padded to a fixed number of variables.

In: windows of at most ``CMAX`` variables. Out: how badly each is reconstructed, higher = more
anomalous.
"""

from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from smkc.bench.baselines.set_input import CMAX, masked_errors, table_arrays
from smkc.bench.baselines.trained import Trained
from smkc.bench.baselines.training import Network
from smkc.bench.windows import Windows

__all__ = ["PadMaskGruAe"]

HIDDEN = 64
CODE_WIDTH = 32


class PaddedAutoencoder(Network):
    """Encode a table of values and presence into one vector; decode the values, last step first."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.GRU(2 * CMAX, HIDDEN, batch_first=True)
        self.code = nn.Linear(HIDDEN, CODE_WIDTH)
        self.start = nn.Linear(CODE_WIDTH, HIDDEN)
        self.decoder = nn.GRU(CODE_WIDTH, HIDDEN, batch_first=True)
        self.reading = nn.Linear(HIDDEN, CMAX)

    def forward(self, values: Tensor, observed: Tensor) -> Tensor:
        """(B, L, CMAX) values of a batch as decoded, in every place."""
        _, last = self.encoder(torch.cat([values, observed.to(values.dtype)], -1))
        code = self.code(last[0])
        start = torch.tanh(self.start(code))[None]
        unfolded, _ = self.decoder(code[:, None].expand(-1, values.shape[1], -1), start)
        out: Tensor = self.reading(unfolded).flip(1)
        return out

    def loss(self, batch: tuple[Tensor, ...], epoch: int, phase: int = 0) -> Tensor:
        """Mean error of a batch's windows."""
        return self.errors(batch).mean()

    def errors(self, batch: tuple[Tensor, ...]) -> Tensor:
        """(B,) mean squared error over what was observed."""
        values, observed = batch
        return masked_errors(self(values, observed), values, observed)


class PadMaskGruAe(Trained):
    """Pad+Mask GRU-AE(Cmax) of the paper's tables.

    Values and presence, padded to ``CMAX`` = 16 variables each, are the 32 inputs a step; the error
    counts what was observed and nothing else. Weights are bound to places: a window's variables
    take them in the order of their names, so that the order they were handed in changes nothing.
    A place still means another variable in every window; that is what padding costs.

    Notes
    -----
    Encoder and decoder as in EncDec-AD (Malhotra et al., ICML 2016 anomaly detection workshop,
    section 2), trajectories in reverse; the decoder is given the code at every step, and not the
    values before, so that what it says of a step rests on the code alone.
    """

    def inputs(self, windows: Windows) -> tuple[NDArray[Any], ...]:
        """Return values (B, L, CMAX) and presence (B, L, CMAX)."""
        return table_arrays(windows)

    def network(self) -> Network:
        """Return an untrained autoencoder of padded tables."""
        return PaddedAutoencoder()
