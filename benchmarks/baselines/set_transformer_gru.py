"""SetTransformer-GRU: an autoencoder of windows whose trajectories attend to each other.

In: windows of any cardinality. Out: reconstruction errors, higher = more anomalous.
"""

from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.baselines.set_input import SetAutoencoder, set_arrays
from benchmarks.baselines.trained import Trained
from benchmarks.windows import Windows
from smkc.paper.learn.training import Network

__all__ = ["AttentionPooling", "SetTransformerGru"]

HIDDEN = 64
SET_WIDTH = 32
N_HEADS = 4
N_BLOCKS = 2


class AttentionBlock(nn.Module):
    """Attention of one set, the queries X, to another, the keys Y: the MAB of Lee et al.

    H = LayerNorm(X + Multihead(X, Y, Y)), out = LayerNorm(H + rFF(H)); section 3.1.
    """

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.query = nn.Linear(hidden, hidden)
        self.key = nn.Linear(hidden, hidden)
        self.value = nn.Linear(hidden, hidden)
        self.joined = nn.Linear(hidden, hidden)
        self.row_wise = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU())
        self.after_attention = nn.LayerNorm(hidden)
        self.after_rows = nn.LayerNorm(hidden)

    def forward(self, queries: Tensor, keys: Tensor, is_key: Tensor) -> Tensor:
        """(B, Q, hidden) from queries (B, Q, hidden), keys (B, K, hidden) and their mask (B, K)."""
        found = functional.scaled_dot_product_attention(
            _by_head(self.query(queries)),
            _by_head(self.key(keys)),
            _by_head(self.value(keys)),
            attn_mask=is_key[:, None, None, :],
        )
        heard: Tensor = self.after_attention(
            queries + self.joined(found.transpose(1, 2).flatten(2))
        )
        out: Tensor = self.after_rows(heard + self.row_wise(heard))
        return out


def _by_head(rows: Tensor) -> Tensor:
    """(B, heads, Q, hidden / heads) from (B, Q, hidden)."""
    return rows.reshape(*rows.shape[:2], N_HEADS, -1).transpose(1, 2)


class AttentionPooling(nn.Module):
    """Self-attention among a window's variables, then pooling by a learned seed vector.

    Notes
    -----
    SAB(SAB(X)), then PMA with one seed, then a linear layer: Lee et al., ICML 2019, sections 3.1
    to 3.3. Inducing points (ISAB) save time when a set has many more elements than points; here a
    window has few variables. With one seed, self-attention after pooling would compare a vector
    with itself, so it is left out.
    """

    def __init__(self, hidden: int, width: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(AttentionBlock(hidden) for _ in range(N_BLOCKS))
        self.row_wise = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU())
        self.seed = nn.Parameter(torch.randn(1, 1, hidden) * hidden**-0.5)
        self.pooling = AttentionBlock(hidden)
        self.out = nn.Linear(hidden, width)

    def forward(self, embeddings: Tensor, is_variable: Tensor) -> Tensor:
        """(B, width) set embeddings of (B, C, hidden) embeddings and their mask (B, C)."""
        for block in self.blocks:
            embeddings = block(embeddings, embeddings, is_variable)
        seeds = self.seed.expand(len(embeddings), -1, -1)
        pooled = self.pooling(seeds, self.row_wise(embeddings), is_variable)
        out: Tensor = self.out(pooled[:, 0])
        return out


class SetTransformerGru(Trained):
    """SetTransformer-GRU(Set) of the paper's tables.

    A GRU encodes each variable's trajectory, a Set Transformer pools a window's variables into one
    vector, and a GRU decodes every trajectory from that vector and a few numbers about the
    variable. The score is the mean squared error of the worst time step.

    Notes
    -----
    Lee et al., Set Transformer, ICML 2019. The autoencoder around it is that of
    :class:`~benchmarks.baselines.set_input.SetAutoencoder`: the paper names only encoder and
    pooling, and normal windows provide no labels to train a pooled vector on.
    """

    def inputs(self, windows: Windows) -> tuple[NDArray[Any], ...]:
        """Return values (B, L, C) and presence (B, L, C)."""
        return set_arrays(windows)

    def network(self) -> Network:
        """Return an untrained autoencoder of sets."""
        return SetAutoencoder(AttentionPooling(HIDDEN, SET_WIDTH), hidden=HIDDEN, width=SET_WIDTH)
