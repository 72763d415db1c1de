"""Windows as sets of trajectories: input arrays, and an autoencoder over them.

In: windows. Out: arrays with a window's variables in the order of their names and zeros for missing
values; a network that encodes every trajectory, pools the codes, and decodes each trajectory.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from benchmarks.windows import Windows
from smkc.errors import InputError
from smkc.paper.learn.training import Network

__all__ = [
    "CMAX",
    "SetAutoencoder",
    "masked_errors",
    "random_places",
    "set_arrays",
    "table_arrays",
    "worst_step",
]

# Number of columns of padded tables: the paper's Cmax (section 3.1).
CMAX = 16

# Width of the decoder's input about a single variable, besides the set's embedding: enough for how
# the variable relates to the others, too small for its whole trajectory.
OWN_WIDTH = 4


def set_arrays(windows: Windows) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return values (B, L, C) and presence (B, L, C) of windows of any cardinality.

    Variables are in the order of their names; those that a window never observes are left out.
    Missing values are 0. C is a multiple of CMAX, so that the results of small windows do not
    depend on whether larger ones are among them.
    """
    most = int(windows.observed.any(axis=1).sum(axis=1).max(initial=1))
    return _by_name(windows, -(-most // CMAX) * CMAX)


def table_arrays(windows: Windows) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return values (B, L, CMAX) and presence (B, L, CMAX), filled as by :func:`set_arrays`.

    Raises
    ------
    InputError
        if a window observes more than CMAX variables.
    """
    n_variables = windows.observed.any(axis=1).sum(axis=1)
    if n_variables.max(initial=0) > CMAX:
        worst = int(n_variables.argmax())
        raise InputError(
            f"window {worst} observes {n_variables[worst]} variables, and a padded table has "
            f"{CMAX} places; hand in windows of at most {CMAX} variables, or use a method that "
            "reads sets"
        )
    return _by_name(windows, CMAX)


def _by_name(windows: Windows, n_places: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    is_seen = windows.observed.any(axis=1)
    rank = np.where(is_seen, windows.variables, len(windows.names))  # names are sorted
    order = np.argsort(rank, axis=1, kind="stable")[:, np.newaxis, :n_places]
    observed = np.take_along_axis(windows.observed, order, axis=2)
    values = np.where(observed, np.take_along_axis(windows.values, order, axis=2), np.float32(0))
    missing = ((0, 0), (0, 0), (0, n_places - observed.shape[2]))
    return np.pad(values, missing), np.pad(observed, missing)


def random_places(batch: Tensor) -> Tensor:
    """(B, CMAX) a random permutation of a table's columns for each window of a batch."""
    return torch.rand(len(batch), CMAX, device=batch.device).argsort(-1)


def masked_errors(actual: Tensor, expected: Tensor, is_valid: Tensor) -> Tensor:
    """(B,) mean squared difference over a window's valid entries, in float32; 0 if none are."""
    squares = (actual.float() - expected.float()).square() * is_valid
    n_valid = is_valid.flatten(1).sum(1).clamp(min=1)
    return squares.flatten(1).sum(1) / n_valid


def worst_step(actual: Tensor, expected: Tensor, is_valid: Tensor) -> Tensor:
    """(B,) maximum over time of a step's mean squared difference, of (B, L, C) tables.

    A window is anomalous if any of its steps is, as for the competitors that read states.
    """
    squares = (actual.float() - expected.float()).square() * is_valid
    return (squares.sum(2) / is_valid.sum(2).clamp(min=1)).amax(1)


class SetAutoencoder(Network):
    """Autoencoder that encodes each trajectory, pools the codes, and decodes each trajectory.

    Parameters
    ----------
    pooling
        module that computes (B, ``width``) set embeddings from (B, C, ``hidden``) embeddings of
        variables and their (B, C) mask, independent of the order of variables.
    hidden
        width of a trajectory's embedding and of both GRUs.
    width
        width of the set's embedding.

    Notes
    -----
    The encoder reads (value, presence) at each step. The decoder produces a trajectory, last step
    first (Srivastava et al., ICML 2015, section 2.1), from the set's embedding and a few numbers
    about the variable: a variable is described by its relation to the set, not by its name. Padded
    columns do not pass through the GRUs.
    """

    def __init__(self, pooling: nn.Module, *, hidden: int, width: int) -> None:
        super().__init__()
        self.encoder = nn.GRU(2, hidden, batch_first=True)
        self.pooling = pooling
        self.own = nn.Linear(hidden, OWN_WIDTH)
        self.start = nn.Linear(width + OWN_WIDTH, hidden)
        self.decoder = nn.GRU(width + OWN_WIDTH, hidden, batch_first=True)
        self.reading = nn.Linear(hidden, 1)

    def forward(self, values: Tensor, observed: Tensor) -> Tensor:
        """(B, L, C) decoded trajectories of (B, L, C) values; 0 in columns without a variable."""
        _, length, n_places = values.shape
        is_variable = observed.any(1)
        # A window without observations counts as one variable that was never observed.
        is_variable[:, 0] |= ~is_variable.any(1)
        trajectories = torch.stack([values, observed.to(values.dtype)], -1).transpose(1, 2)
        _, last = self.encoder(trajectories[is_variable])
        embedded = last[0]  # (N, hidden): the N variables of all windows
        pooled = self.pooling(_placed(embedded, is_variable), is_variable)
        around = pooled[:, None].expand(-1, n_places, -1)[is_variable]
        told = torch.cat([around, self.own(embedded)], -1)  # (N, width + OWN_WIDTH)
        start = torch.tanh(self.start(told))[None]
        unfolded, _ = self.decoder(told[:, None].expand(-1, length, -1), start)
        decoded = self.reading(unfolded)[..., 0].flip(1)
        return _placed(decoded, is_variable).transpose(1, 2)

    def loss(self, batch: tuple[Tensor, ...], epoch: int, phase: int = 0) -> Tensor:
        """Return the mean squared error over observed values, averaged over windows."""
        values, observed = batch
        return masked_errors(self(values, observed), values, observed).mean()

    def errors(self, batch: tuple[Tensor, ...]) -> Tensor:
        """(B,) mean squared error of the worst step."""
        values, observed = batch
        return worst_step(self(values, observed), values, observed)


def _placed(rows: Tensor, is_variable: Tensor) -> Tensor:
    """(B, C, ...) rows (N, ...) put where the (B, C) mask is true; 0 elsewhere."""
    out = rows.new_zeros(*is_variable.shape, *rows.shape[1:])
    out[is_variable] = rows
    return out
