"""GRU-AE: a recurrent autoencoder; windows with large reconstruction errors are anomalous.

In: the states of a window. Out: the squared error of their reconstruction from one vector.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from benchmarks.baselines.states_input import ReadsStates, StatesNetwork
from smkc.paper.learn.training import Batch

__all__ = ["GruAutoencoder", "GruAutoencoderNetwork", "GruAutoencoderTrueStates"]


@dataclass(kw_only=True, eq=False)
class GruAutoencoder(ReadsStates):
    """A GRU encodes the window into one vector, another decodes it, last step first.

    Parameters
    ----------
    hidden
        length of the vector between the two.

    Notes
    -----
    Malhotra et al., "LSTM-based encoder-decoder for multi-sensor anomaly detection", ICML Anomaly
    Detection Workshop 2016, section 2.1, with the GRU cells of Cho et al., EMNLP 2014. Malhotra's
    decoder gets the true later state in training and its own output in use; here it gets the
    encoder's vector at every step, as in Cho (section 2.2), both in training and in use.
    :class:`GruAutoencoderTrueStates` gets the true later state in both.
    A step's score is the squared error itself: Malhotra's Gaussian over errors of single variables
    has no meaning where a bucket holds different variables in every window. States are not scaled:
    scaled to unit variance they are overfitted (validation error of 0.77 of their variance, against
    0.63, after 30 epochs on 800 windows).
    """

    hidden: int = 128

    def network(self) -> StatesNetwork:
        """Return the encoder and decoder, untrained."""
        return GruAutoencoderNetwork(self.sketch.width, self.hidden, self.over_time)


@dataclass(kw_only=True, eq=False)
class GruAutoencoderTrueStates(GruAutoencoder):
    """The same with the decoder of Pad+Mask GRU-AE, which gets the true state of the last step."""

    def network(self) -> StatesNetwork:
        """Return the encoder and decoder, untrained."""
        return GruAutoencoderNetwork(
            self.sketch.width, self.hidden, self.over_time, sees_states=True
        )


class GruAutoencoderNetwork(StatesNetwork):
    """The network of :class:`GruAutoencoder`; a batch is ((B, L, 2m) states,)."""

    def __init__(
        self, width: int, hidden: int, over_time: str, *, sees_states: bool = False
    ) -> None:
        super().__init__(over_time)
        self.sees_states = sees_states
        self.encoder = nn.GRU(width, hidden, batch_first=True)
        self.decoder = nn.GRU(width if sees_states else hidden, hidden, batch_first=True)
        self.write = nn.Linear(hidden, width)

    def forward(self, states: Tensor) -> Tensor:
        """(B, L, 2m) reconstructed states, in order of time."""
        _, summary = self.encoder(states)  # (1, B, hidden)
        if self.sees_states:
            nothing = torch.zeros_like(states[:, :1])
            fed = torch.cat([nothing, states[:, 1:].flip(1)], 1)
        else:
            fed = summary[0].unsqueeze(1).expand(-1, states.shape[1], -1)
        written, _ = self.decoder(fed, summary)
        backwards: Tensor = self.write(written)
        return backwards.flip(1)

    def loss(self, batch: Batch, epoch: int, phase: int = 0) -> Tensor:
        """Return the mean squared error."""
        return self.step_errors(batch[0]).mean()

    def step_errors(self, states: Tensor) -> Tensor:
        """(B, L) mean squared error of each state over buckets."""
        difference: Tensor = self(states) - states
        return difference.square().mean(2)
