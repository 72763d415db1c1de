"""USAD: two autoencoders with one encoder, trained against each other.

In: the states of a window. Out: the error of the first autoencoder, and that of the second applied
to the first one's output.
"""

from dataclasses import dataclass

from torch import Tensor, nn

from benchmarks.baselines.states_input import ReadsStates, StatesNetwork
from smkc.paper.learn.training import Batch

__all__ = ["Usad", "UsadNetwork", "UsadWorstStep"]

# Standard deviation of the initial weights of the output layer.
INITIAL_SPREAD = 0.002


@dataclass(kw_only=True, eq=False)
class Usad(ReadsStates):
    """Two autoencoders over the flat window, trained against each other.

    Parameters
    ----------
    hidden, latent
        widths of the layers between window and code, and of the code.
    alpha
        weight of the first autoencoder's error in the score; the second's is 1 - alpha.
    over_time
        as in the other competitors, but a mean: the method's paper scores windows, not steps.

    Notes
    -----
    Audibert et al., "USAD", KDD 2020, section 3, algorithms 1 (two losses, each with its own
    optimiser step, with weights 1/n and 1 - 1/n in epoch n) and 2 (score, with alpha = beta = 0.5).
    Their inputs are scaled to [0, 1] and their decoders end in a sigmoid. States are centred on 0
    and mostly 0, so both are changed to [-1, 1]: the largest |g| of the training windows is scaled
    to 1, and the sigmoid is replaced by tanh, a rescaled sigmoid. That bound keeps the second loss
    from falling without limit. The layers are narrower than the authors', which have 1/2 and 1/4 of
    the input's length, here 8,192.

    With so many empty buckets the game is unbalanced: the second autoencoder gains more by filling
    them than the first can by reconstructing the others. The validation error rises from the second
    or third epoch on, and the weights from before are kept. :class:`UsadWorstStep` is trained at
    the pace of the authors' epochs and is scored like the other competitors.
    """

    hidden: int = 128
    latent: int = 64
    alpha: float = 0.5
    over_time: str = "mean"

    def network(self) -> StatesNetwork:
        """Return the encoder and both decoders, untrained."""
        return UsadNetwork(
            self.window * self.sketch.width, self.hidden, self.latent, self.alpha, self.over_time
        )


@dataclass(kw_only=True, eq=False)
class UsadWorstStep(Usad):
    """The same, trained and scored like the other competitors.

    The weights 1/n and 1 - 1/n count epochs of the authors' length: theirs have some hundred
    thousand windows, ours 1,600 or 3,200. Training stops when the validation error of the first
    autoencoder, on which both outputs depend, no longer falls; the score is that of the worst step.

    Parameters
    ----------
    pace
        number of our epochs that count as one of the authors'.
    """

    over_time: str = "max"
    pace: int = 25

    def network(self) -> StatesNetwork:
        """Return the encoder and both decoders, untrained."""
        return UsadNetwork(
            self.window * self.sketch.width,
            self.hidden,
            self.latent,
            self.alpha,
            self.over_time,
            pace=self.pace,
        )


class UsadNetwork(StatesNetwork):
    """The network of :class:`Usad`; a batch is ((B, L, 2m) states,)."""

    n_phases = 2

    def __init__(
        self,
        n_inputs: int,
        hidden: int,
        latent: int,
        alpha: float,
        over_time: str,
        *,
        pace: int | None = None,
    ) -> None:
        super().__init__(over_time)
        self.alpha = alpha
        self.pace = pace
        self.encoder = nn.Sequential(
            nn.Linear(n_inputs, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, latent),
            nn.ReLU(),
        )
        self.decoders = nn.ModuleList(_decoder(n_inputs, hidden, latent) for _ in range(2))

    def extra_repr(self) -> str:
        """Return the settings that do not show in the shapes of the weights."""
        return f"alpha={self.alpha}, pace={self.pace}"

    def phase_parameters(self, phase: int) -> list[nn.Parameter]:
        """Return the parameters of the encoder and of one decoder."""
        return [*self.encoder.parameters(), *self.decoders[phase].parameters()]

    def reproduce(self, flat: Tensor, which: int) -> Tensor:
        """(B, n) output of the first (``which`` = 0) or second (1) autoencoder."""
        unit = self.largest / self.typical  # scales the encoder's input to unit variance
        made: Tensor = self.decoders[which](self.encoder(flat * unit))
        return made

    def loss(self, batch: Batch, epoch: int, phase: int = 0) -> Tensor:
        """Return the first autoencoder's loss in phase 0, the second's in phase 1."""
        flat = self._scaled(batch[0])
        alone = 1.0 / (1 + (epoch - 1) // (self.pace or 1))
        first = self.reproduce(flat, 0)
        again = _distance(self.reproduce(first, 1), flat).mean()
        if phase == 0:
            return alone * _distance(first, flat).mean() + (1 - alone) * again
        return alone * _distance(self.reproduce(flat, 1), flat).mean() - (1 - alone) * again

    def validation_loss(self, batch: Batch, epoch: int) -> Tensor:
        """Return the mean step error; unlike the losses, its weights are the same in all epochs.

        With a ``pace``, return the first autoencoder's error only.
        """
        if self.pace is None:
            return self.step_errors(batch[0]).mean()
        flat = self._scaled(batch[0])
        return _distance(self.reproduce(flat, 0), flat).mean()

    def step_errors(self, states: Tensor) -> Tensor:
        """(B, L) weighted errors of both autoencoders, on the scale of the losses."""
        flat = self._scaled(states)
        first = self.reproduce(flat, 0)
        again = self.reproduce(first, 1)
        error = self.alpha * (first - flat).square() + (1 - self.alpha) * (again - flat).square()
        return error.view(states.shape).mean(2)

    def _scaled(self, states: Tensor) -> Tensor:
        return states.flatten(1) / self.largest


def _decoder(n_inputs: int, hidden: int, latent: int) -> nn.Module:
    write = nn.Linear(hidden, n_inputs)
    # Most buckets of a window are empty, so the initial output should be near 0.
    nn.init.normal_(write.weight, std=INITIAL_SPREAD)
    nn.init.zeros_(write.bias)
    return nn.Sequential(
        nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), write, nn.Tanh()
    )


def _distance(made: Tensor, flat: Tensor) -> Tensor:
    """(B,) mean squared difference."""
    return (made - flat).square().mean(1)
