"""TS-MAE: a masked autoencoder over time steps; hidden states that cannot be guessed are anomalous.

In: the states of a window. Out: the squared error of states guessed from the others.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from benchmarks.baselines.positions import positions
from benchmarks.baselines.states_input import ReadsStates, StatesNetwork
from smkc.paper.learn.training import Batch

__all__ = ["MaskedAutoencoder", "MaskedAutoencoderNetwork"]

# One step in four is seen, three are guessed: He et al.'s 75 %, which Ti-MAE keeps for time series.
PARTS = 4

# A score averages over so many ways to part the steps, each with every part seen in turn. They are
# part of the method's definition, and so is their seed.
PARTINGS = 2
PARTINGS_SEED = 75


@dataclass(kw_only=True, eq=False)
class MaskedAutoencoder(ReadsStates):
    """A transformer reads the steps it may see; a smaller one guesses all the others.

    Parameters
    ----------
    hidden, layers
        width and depth of the encoder.
    decoder_hidden, decoder_layers
        the decoder's.
    heads
        of attention, in both.
    dropout
        in both.

    Notes
    -----
    He et al., "Masked autoencoders are scalable vision learners", CVPR 2022, section 3, with time
    steps for patches as in Li et al., "Ti-MAE", 2023: the encoder sees visible steps alone, mask
    tokens enter at the decoder, the loss is over masked steps. He et al. score nothing; here every
    step is hidden equally often, under masks that are the same for every window, and its score is
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
        of the encoder, of the decoder.
    heads, dropout
        of both.
    over_time
        how step errors become a score.
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
        # Most buckets of a window are empty: begin with a guess near zero.
        nn.init.normal_(self.write.weight, std=0.02)
        fixed = torch.Generator().manual_seed(PARTINGS_SEED)
        orders = [torch.randperm(length, generator=fixed) for _ in range(PARTINGS)]
        self.register_buffer("order_of_steps", torch.stack(orders))
        self.register_buffer("encoder_positions", positions(length, hidden[0]))
        self.register_buffer("decoder_positions", positions(length, hidden[1]))

    def encode(self, states: Tensor, seen: Tensor) -> Tensor:
        """(B, V, hidden): the V steps with numbers ``seen`` (B, V), read without the others."""
        width = states.shape[2]
        visible = states.gather(1, seen[:, :, None].expand(-1, -1, width))
        encoded: Tensor = self.encoder(self.embed(visible) + self.encoder_positions[seen])
        return encoded

    def guess(self, encoded: Tensor, seen: Tensor) -> Tensor:
        """(B, L, 2m): all states, as far as the encoded steps tell."""
        bridged = self.bridge(encoded)
        n_windows, _, hidden = bridged.shape
        length = len(self.decoder_positions)
        tokens = self.mask_token.to(bridged.dtype).expand(n_windows, length, hidden)
        tokens = tokens.scatter(1, seen[:, :, None].expand(-1, -1, hidden), bridged)
        guessed: Tensor = self.write(self.decoder(tokens + self.decoder_positions))
        return guessed

    def forward(self, states: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
        """(B, L) the squared error of every state, and (B, L) whether it was hidden."""
        guessed = self.guess(self.encode(states, seen), seen)
        is_hidden = torch.ones(states.shape[:2], dtype=torch.bool, device=states.device)
        return (guessed - states).square().mean(2), is_hidden.scatter(1, seen, False)

    def loss(self, batch: Batch, epoch: int, phase: int = 0) -> Tensor:
        """Scalar: the mean error of hidden steps, under a random mask for each window."""
        states = batch[0] / self.typical
        n_windows, length, _ = states.shape
        n_seen = max(1, length // PARTS)
        seen = torch.rand(n_windows, length, device=states.device).argsort(1)[:, :n_seen]
        error, is_hidden = self(states, seen)
        total: Tensor = (error * is_hidden).sum()
        return total / (n_windows * (length - n_seen))

    def step_errors(self, states: Tensor) -> Tensor:
        """(B, L) the error of each step while hidden, the mean over fixed masks."""
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
