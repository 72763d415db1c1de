"""TS-MAE: a masked autoencoder over time steps; hidden states predicted badly are anomalous.

In: the states of a window. Out: the squared error of states predicted from the others.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from benchmarks.baselines.positions import positions
from benchmarks.baselines.states_input import ReadsStates, StatesNetwork
from smkc.paper.learn.training import Batch

__all__ = ["MaskedAutoencoder", "MaskedAutoencoderNetwork"]

# 1 step in 4 is visible, 3 are predicted: the 75 % of He et al., kept by Ti-MAE for time series.
PARTS = 4

# A score averages over this many partitions of the steps; each part of a partition is visible once.
# The partitions and their seed are part of the method's definition.
PARTINGS = 2
PARTINGS_SEED = 75


@dataclass(kw_only=True, eq=False)
class MaskedAutoencoder(ReadsStates):
    """A transformer encodes the visible steps; a smaller one predicts all others.

    Parameters
    ----------
    hidden, layers
        width and depth of the encoder.
    decoder_hidden, decoder_layers
        width and depth of the decoder.
    heads
        attention heads in both.
    dropout
        dropout in both.

    Notes
    -----
    He et al., "Masked autoencoders are scalable vision learners", CVPR 2022, section 3, with time
    steps as patches, as in Li et al., "Ti-MAE", 2023: the encoder reads only visible steps, mask
    tokens enter at the decoder, the loss is over masked steps. He et al. define no anomaly score;
    here every step is hidden equally often, with the same masks for every window, and its score is
    its mean error while hidden.
    """

    hidden: int = 128
    layers: int = 3
    decoder_hidden: int = 64
    decoder_layers: int = 1
    heads: int = 4
    dropout: float = 0.1

    def network(self) -> StatesNetwork:
        """Return the encoder and decoder, untrained."""
        return MaskedAutoencoderNetwork(
            self.sketch.width,
            self.window,
            (self.hidden, self.decoder_hidden),
            (self.layers, self.decoder_layers),
            self.heads,
            self.dropout,
            self.over_time,
        )


class MaskedAutoencoderNetwork(StatesNetwork):
    """The network of :class:`MaskedAutoencoder`; a batch is ((B, L, 2m) states,).

    Parameters
    ----------
    width, length
        2m and L.
    hidden, layers
        width and depth, each a pair: of the encoder and of the decoder.
    heads, dropout
        attention heads and dropout of both.
    over_time
        how step errors are combined into a score.
    """

    order_of_steps: Tensor
    encoder_positions: Tensor
    decoder_positions: Tensor

    def __init__(
        self,
        width: int,
        length: int,
        hidden: tuple[int, int],
        layers: tuple[int, int],
        heads: int,
        dropout: float,
        over_time: str,
    ) -> None:
        super().__init__(over_time)
        self.embed = nn.Linear(width, hidden[0])
        self.encoder = _transformer(hidden[0], layers[0], heads, dropout)
        self.bridge = nn.Linear(hidden[0], hidden[1])
        self.mask_token = nn.Parameter(0.02 * torch.randn(hidden[1]))
        self.decoder = _transformer(hidden[1], layers[1], heads, dropout)
        self.write = nn.Linear(hidden[1], width)
        # Most buckets of a window are empty, so the initial output should be near 0.
        nn.init.normal_(self.write.weight, std=0.02)
        fixed = torch.Generator().manual_seed(PARTINGS_SEED)
        orders = [torch.randperm(length, generator=fixed) for _ in range(PARTINGS)]
        self.register_buffer("order_of_steps", torch.stack(orders))
        self.register_buffer("encoder_positions", positions(length, hidden[0]))
        self.register_buffer("decoder_positions", positions(length, hidden[1]))

    def encode(self, states: Tensor, seen: Tensor) -> Tensor:
        """(B, V, hidden) encoding of the V visible steps, whose indices are ``seen`` (B, V)."""
        width = states.shape[2]
        visible = states.gather(1, seen[:, :, None].expand(-1, -1, width))
        encoded: Tensor = self.encoder(self.embed(visible) + self.encoder_positions[seen])
        return encoded

    def guess(self, encoded: Tensor, seen: Tensor) -> Tensor:
        """(B, L, 2m) all states, predicted from the encoded steps."""
        bridged = self.bridge(encoded)
        n_windows, _, hidden = bridged.shape
        length = len(self.decoder_positions)
        tokens = self.mask_token.to(bridged.dtype).expand(n_windows, length, hidden)
        tokens = tokens.scatter(1, seen[:, :, None].expand(-1, -1, hidden), bridged)
        guessed: Tensor = self.write(self.decoder(tokens + self.decoder_positions))
        return guessed

    def forward(self, states: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
        """Return the (B, L) squared error of every state, and (B, L) whether it was hidden."""
        guessed = self.guess(self.encode(states, seen), seen)
        is_hidden = torch.ones(states.shape[:2], dtype=torch.bool, device=states.device)
        return (guessed - states).square().mean(2), is_hidden.scatter(1, seen, False)

    def loss(self, batch: Batch, epoch: int, phase: int = 0) -> Tensor:
        """Return the mean error of hidden steps, with a random mask for each window."""
        states = batch[0] / self.typical
        n_windows, length, _ = states.shape
        n_seen = max(1, length // PARTS)
        seen = torch.rand(n_windows, length, device=states.device).argsort(1)[:, :n_seen]
        error, is_hidden = self(states, seen)
        total: Tensor = (error * is_hidden).sum()
        return total / (n_windows * (length - n_seen))

    def step_errors(self, states: Tensor) -> Tensor:
        """(B, L) mean error of each step while hidden, over fixed masks."""
        states = states / self.typical
        n_windows, length, _ = states.shape
        total = torch.zeros(n_windows, length, device=states.device)
        for order in self.order_of_steps:
            for part in torch.tensor_split(order, min(PARTS, length)):
                error, is_hidden = self(states, part.expand(n_windows, -1))
                total += error * is_hidden
        return total / (len(self.order_of_steps) * (min(PARTS, length) - 1))


def _transformer(hidden: int, layers: int, heads: int, dropout: float) -> nn.Module:
    layer = nn.TransformerEncoderLayer(
        hidden, heads, 2 * hidden, dropout, "gelu", batch_first=True, norm_first=True
    )
    return nn.TransformerEncoder(layer, layers, nn.LayerNorm(hidden), enable_nested_tensor=False)
