"""DeepSets-GRU: an autoencoder of windows that pools their trajectories by a mean.

In: windows of any cardinality. Out: reconstruction errors, higher = more anomalous.
"""

from typing import Any

from numpy.typing import NDArray
from torch import Tensor, nn

from benchmarks.baselines.set_input import SetAutoencoder, set_arrays
from benchmarks.baselines.trained import Trained
from benchmarks.windows import Windows
from smkc.paper.learn.training import Network

__all__ = ["DeepSetsGru", "MeanPooling"]

HIDDEN = 64
SET_WIDTH = 32


class MeanPooling(nn.Module):
    """rho(mean of phi(x) over the variables x of a window).

    Notes
    -----
    Zaheer et al., Deep Sets, NeurIPS 2017, theorem 2, with the sum divided by the number of
    variables: a sum over 16 variables would be far from the sums over 8 or fewer in training.
    """

    def __init__(self, hidden: int, width: int) -> None:
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, hidden))
        self.rho = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, width))

    def forward(self, embeddings: Tensor, is_variable: Tensor) -> Tensor:
        """(B, width) set embeddings of (B, C, hidden) embeddings and their mask (B, C)."""
        total = (self.phi(embeddings) * is_variable[..., None]).sum(1)
        pooled: Tensor = self.rho(total / is_variable.sum(1, keepdim=True))
        return pooled


class DeepSetsGru(Trained):
    """DeepSets-GRU(Set) of the paper's tables.

    A GRU encodes each variable's trajectory, Deep Sets pool a window's variables into one vector,
    and a GRU decodes every trajectory from that vector and a few numbers about the variable. The
    score is the mean squared error of the worst time step.

    Notes
    -----
    The paper, section "Baselines and dynamic input handling", names encoder and pooling but no
    objective. Average precision with reconstruction is 0.51 (test sets of holdout_C, one seed, 25
    epochs). Two other objectives are worse: the likelihood of a Gaussian with a learned variance
    per variable (0.38), and Deep SVDD on the set's embedding (0.25), whose loss fell to 0. These
    used the mean over time as score; on another seed the worst step gave 0.57, the mean 0.54.
    """

    def inputs(self, windows: Windows) -> tuple[NDArray[Any], ...]:
        """Return values (B, L, C) and presence (B, L, C)."""
        return set_arrays(windows)

    def network(self) -> Network:
        """Return an untrained autoencoder of sets."""
        return SetAutoencoder(MeanPooling(HIDDEN, SET_WIDTH), hidden=HIDDEN, width=SET_WIDTH)
