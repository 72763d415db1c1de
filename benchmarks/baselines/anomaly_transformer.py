"""Anomaly Transformer: steps that attend only to their neighbours in time are anomalous.

In: the states of a window. Out: reconstruction errors, weighted by how close each step's attention
is to a Gaussian around it.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from benchmarks.baselines.positions import positions
from benchmarks.baselines.states_input import ReadsStates, StatesNetwork
from smkc.paper.learn.training import Batch

__all__ = ["AnomalyTransformer", "AnomalyTransformerNetwork", "AnomalyTransformerSharp"]

# As in the authors' published code: sigma = 3 ** sigmoid(5 s) - 1 lies between 0 and 2 steps, and
# the floors are added before a logarithm or a division.
SIGMA_BASE = 3.0
SIGMA_SLOPE = 5.0
SIGMA_FLOOR = 1e-5
LOG_FLOOR = 1e-4

# The authors' code multiplies the divergences, summed over layers, by this before the score's
# softmax.
PUBLISHED_TEMPERATURE = 50.0


@dataclass(kw_only=True, eq=False)
class AnomalyTransformer(ReadsStates):
    """A transformer with two associations per layer, trained against each other in a minimax game.

    Parameters
    ----------
    hidden, layers, heads, dropout
        size of the transformer.
    strength
        lambda, weight of the association discrepancy in the loss.

    Notes
    -----
    Xu et al., "Anomaly Transformer", ICLR 2022: anomaly attention (equation 2), association
    discrepancy (3), loss (4) with lambda = 3, minimax by stopped gradients (5), score (6). Equation
    6 gives a score for every time step; the weights of a window's steps sum to 1. Errors are means
    over buckets, of states of unit variance, as in the authors' code. Early stopping uses the
    reconstruction error, since the discrepancy is both minimised and maximised and does not show
    progress. The width is 64, where the authors use 512. The score is equation 6 as printed;
    :class:`AnomalyTransformerSharp` uses the score of the authors' code.
    """

    hidden: int = 64
    layers: int = 3
    heads: int = 4
    dropout: float = 0.1
    strength: float = 3.0

    @property
    def sharpness(self) -> float:
        """Return the factor of the discrepancy, a mean over layers, in the score."""
        return 1.0

    def network(self) -> StatesNetwork:
        """Return the transformer, untrained."""
        return AnomalyTransformerNetwork(
            self.sketch.width,
            self.window,
            self.hidden,
            self.layers,
            self.heads,
            self.dropout,
            self.strength,
            self.over_time,
            self.sharpness,
        )


@dataclass(kw_only=True, eq=False)
class AnomalyTransformerSharp(AnomalyTransformer):
    """The same with the temperature of the authors' code, 50, and a sum over layers.

    Notes
    -----
    https://github.com/thuml/Anomaly-Transformer, solver.py: both divergences are multiplied by
    ``temperature = 50`` and added up over layers before the softmax over time.
    """

    @property
    def sharpness(self) -> float:
        """Return the number of layers, which turns the mean into a sum, times 50."""
        return PUBLISHED_TEMPERATURE * self.layers


class AnomalyTransformerNetwork(StatesNetwork):
    """The network of :class:`AnomalyTransformer`; a batch is ((B, L, 2m) states,)."""

    at: Tensor

    def __init__(
        self,
        width: int,
        length: int,
        hidden: int,
        layers: int,
        heads: int,
        dropout: float,
        strength: float,
        over_time: str,
        sharpness: float = 1.0,
    ) -> None:
        super().__init__(over_time)
        self.strength = strength
        self.sharpness = sharpness
        self.embed = nn.Linear(width, hidden)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(_Layer(length, hidden, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(hidden)
        self.write = nn.Linear(hidden, width)
        # Most buckets of a window are empty, so the initial output should be near 0.
        nn.init.normal_(self.write.weight, std=0.02)
        self.register_buffer("at", positions(length, hidden))

    def extra_repr(self) -> str:
        """Return the settings that do not show in the shapes of the weights."""
        return f"strength={self.strength}, heads={[layer.heads for layer in self.layers]}"

    def forward(self, states: Tensor) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
        """Return (B, L) squared errors and each layer's prior and series associations.

        Associations are (B, H, L, L).
        """
        x = self.dropout(self.embed(states) + self.at)
        associations = []
        for layer in self.layers:
            x, prior, series = layer(x)
            associations.append((prior, series))
        made = self.write(self.norm(x))
        return (made - states).square().mean(2), associations

    def loss(self, batch: Batch, epoch: int, phase: int = 0) -> Tensor:
        """Return the sum of both players' losses, each with the other's gradient stopped."""
        error, associations = self(batch[0] / self.typical)
        minimise = _discrepancy([(prior, series.detach()) for prior, series in associations])
        maximise = _discrepancy([(prior.detach(), series) for prior, series in associations])
        total: Tensor = 2 * error.mean() + self.strength * (minimise.mean() - maximise.mean())
        return total

    def validation_loss(self, batch: Batch, epoch: int) -> Tensor:
        """Return the mean reconstruction error."""
        error, _ = self(batch[0] / self.typical)
        mean: Tensor = error.mean()
        return mean

    def step_errors(self, states: Tensor) -> Tensor:
        """(B, L) squared errors, times the softmax over time of -sharpness * discrepancy."""
        error, associations = self(states / self.typical)
        weight = torch.softmax(-self.sharpness * _discrepancy(associations), dim=1)
        found: Tensor = weight * error
        return found


class _Layer(nn.Module):
    """Anomaly attention and a feed-forward block, each with a residual and layer norm."""

    squared_lag: Tensor

    def __init__(self, length: int, hidden: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.query_key_value = nn.Linear(hidden, 3 * hidden)
        self.spread = nn.Linear(hidden, heads)
        self.join = nn.Linear(hidden, hidden)
        self.feed_forward = nn.Sequential(
            nn.Linear(hidden, 2 * hidden),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(2 * hidden, hidden),
        )
        self.dropout = nn.Dropout(dropout)
        self.first_norm, self.second_norm = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        step = torch.arange(length, dtype=torch.float32)
        self.register_buffer("squared_lag", (step[:, None] - step[None, :]).square())

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the (B, L, hidden) output, and prior and series association (B, H, L, L)."""
        n_windows, length, _ = x.shape
        parts = self.query_key_value(x).view(n_windows, length, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4)  # each (B, H, L, hidden / H)
        logits = query @ key.transpose(2, 3) / math.sqrt(query.shape[3])
        series = torch.softmax(logits, dim=3)
        attended = (series.to(value.dtype) @ value).transpose(1, 2).reshape(x.shape)
        y = self.first_norm(x + self.dropout(self.join(attended)))
        out = self.second_norm(y + self.dropout(self.feed_forward(y)))
        return out, self._prior(self.spread(x).float()), series

    def _prior(self, raw: Tensor) -> Tensor:
        """(B, H, L, L) Gaussians of learned width around each step; rows sum to 1."""
        share = torch.sigmoid(SIGMA_SLOPE * raw) + SIGMA_FLOOR
        sigma = (SIGMA_BASE**share - 1).transpose(1, 2)[..., None]  # (B, H, L, 1)
        # The factor 1 / sigma of the density cancels when rows are normalised.
        return torch.softmax(-self.squared_lag / (2 * sigma.square()), dim=3)


def _discrepancy(associations: list[tuple[Tensor, Tensor]]) -> Tensor:
    """(B, L) symmetrised divergence of both associations, averaged over layers and heads."""
    total = sum(_divergence(prior, series) for prior, series in associations)
    return torch.as_tensor(total) / len(associations)


def _divergence(prior: Tensor, series: Tensor) -> Tensor:
    """(B, L) KL(P || S) + KL(S || P), averaged over heads."""
    log_ratio = torch.log(prior + LOG_FLOOR) - torch.log(series + LOG_FLOOR)
    return ((prior - series) * log_ratio).sum(3).mean(1)
