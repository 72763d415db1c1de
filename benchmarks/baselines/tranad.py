"""TranAD: a transformer that reads a window twice, the second time with its first errors as input.

In: the states of a window. Out: the errors of the first and of the second pass.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from benchmarks.baselines.positions import positions
from benchmarks.baselines.states_input import ReadsStates, StatesNetwork
from smkc.paper.learn.training import Batch

__all__ = ["TranAD", "TranADNetwork"]


@dataclass(kw_only=True, eq=False)
class TranAD(ReadsStates):
    """Two decoders after one pair of encoders, trained against each other.

    Parameters
    ----------
    hidden, heads, dropout
        size of the transformer.
    epsilon
        the weight of plain reconstruction in epoch n is epsilon ** -n; the rest is adversarial.
        With 1.05 the adversarial part overwhelmed reconstruction in epoch 10.

    Notes
    -----
    Tuli, Casale and Jennings, "TranAD", VLDB 2022: encoders and decoders of section 3.3, the two
    losses with their evolving weights of section 3.4, the score of section 3.5. Adapted: the
    context before the window is the window itself, since windows are independent; the authors'
    model is twice as wide as its input, here states and focus are first projected to ``hidden``;
    errors are squared, as in the authors' code; the meta-learning step is left out, so that all
    competitors are trained alike. The authors' inputs lie in [0, 1] and their decoders end in a
    sigmoid; here both lie in [-1, 1], with the largest |g| of the training windows scaled to 1, and
    the sigmoid is replaced by tanh, a rescaled sigmoid.
    """

    hidden: int = 64
    heads: int = 4
    dropout: float = 0.1
    epsilon: float = 1.01

    def network(self) -> StatesNetwork:
        """Return encoders and decoders, untrained."""
        return TranADNetwork(
            self.sketch.width,
            self.window,
            self.hidden,
            self.heads,
            self.dropout,
            self.epsilon,
            self.over_time,
        )


class TranADNetwork(StatesNetwork):
    """The network of :class:`TranAD`; a batch is ((B, L, 2m) states,)."""

    n_phases = 2
    at: Tensor
    is_later: Tensor

    def __init__(
        self,
        width: int,
        length: int,
        hidden: int,
        heads: int,
        dropout: float,
        epsilon: float,
        over_time: str,
    ) -> None:
        super().__init__(over_time)
        self.epsilon = epsilon
        # A projection of state and focus concatenated, as the sum of one projection each.
        self.embed = nn.Linear(width, hidden)
        self.embed_focus = nn.Linear(width, hidden, bias=False)
        self.context_encoder = nn.TransformerEncoderLayer(
            hidden, heads, 2 * hidden, dropout, batch_first=True
        )
        self.own_attention = _attention(hidden, heads, dropout)
        self.own_norm = nn.LayerNorm(hidden)
        self.cross_attention = _attention(hidden, heads, dropout)
        self.cross_norm = nn.LayerNorm(hidden)
        self.decoders = nn.ModuleList(_decoder(hidden, width) for _ in range(2))
        self.register_buffer("at", positions(length, hidden))
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        self.register_buffer("is_later", later)

    def extra_repr(self) -> str:
        """Return the settings that do not show in the shapes of the weights."""
        return f"epsilon={self.epsilon}, heads={self.own_attention.num_heads}"

    def phase_parameters(self, phase: int) -> list[nn.Parameter]:
        """Return all parameters except those of the other decoder."""
        others = {id(parameter) for parameter in self.decoders[1 - phase].parameters()}
        return [parameter for parameter in self.parameters() if id(parameter) not in others]

    def encode(self, x: Tensor) -> Tensor:
        """(B, L, hidden) encoding of an embedded window (B, L, hidden)."""
        x = x + self.at
        context = self.context_encoder(x)
        own, _ = self.own_attention(x, x, x, attn_mask=self.is_later, need_weights=False)
        x = self.own_norm(x + own)
        crossed, _ = self.cross_attention(x, context, context, need_weights=False)
        encoded: Tensor = self.cross_norm(x + crossed)
        return encoded

    def forward(self, window: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return O1, O2 and the second pass's O2, each (B, L, 2m)."""
        unit = self.largest / self.typical  # scales the encoder's input to unit variance
        embedded = self.embed(window * unit)
        unfocused = self.encode(embedded)
        first, second = (decoder(unfocused) for decoder in self.decoders)
        focus = self.embed_focus((first - window).square() * unit)
        return first, second, self.decoders[1](self.encode(embedded + focus))

    def loss(self, batch: Batch, epoch: int, phase: int = 0) -> Tensor:
        """Return the first decoder's loss in phase 0, the second's in phase 1."""
        window = batch[0] / self.largest
        first, second, again = self(window)
        plain = self.epsilon**-epoch
        adversarial = (1 - plain) * _distance(again, window).mean()
        if phase == 0:
            return plain * _distance(first, window).mean() + adversarial
        return plain * _distance(second, window).mean() - adversarial

    def validation_loss(self, batch: Batch, epoch: int) -> Tensor:
        """Return the mean step error; unlike the losses, its weights are the same in all epochs."""
        return self.step_errors(batch[0]).mean()

    def step_errors(self, states: Tensor) -> Tensor:
        """(B, L) mean of the errors of the first and the second pass."""
        window = states / self.largest
        first, _, again = self(window)
        return 0.5 * (_distance(first, window) + _distance(again, window))


def _attention(hidden: int, heads: int, dropout: float) -> nn.MultiheadAttention:
    return nn.MultiheadAttention(hidden, heads, dropout, batch_first=True)


def _decoder(hidden: int, width: int) -> nn.Module:
    write = nn.Linear(hidden, width)
    # Most buckets of a window are empty, so the initial output should be near 0.
    nn.init.normal_(write.weight, std=0.02)
    return nn.Sequential(write, nn.Tanh())


def _distance(made: Tensor, window: Tensor) -> Tensor:
    """(B, L) squared difference of each state, summed over buckets."""
    return (made - window).square().sum(2)
