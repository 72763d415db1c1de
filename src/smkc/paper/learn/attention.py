"""Attention: transformer blocks over tokens, and the decoder that predicts masked places.

In: tokens, and for a decoder the masked tokens to predict. Out: tokens of the same width. Attention
is softmax attention, quadratic in the number of tokens, or linear attention.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from smkc.paper.learn.patches import Patches, Positions
from smkc.paper.learn.settings import LearnSettings

# Initial standard deviation of learned tokens, as in BERT and MAE.
TOKEN_SIZE = 0.02

# Smallest divisor of linear attention; float32 and bfloat16 can represent far smaller numbers.
SMALLEST_DIVISOR = 1e-6


def linear_attention(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Return (B, H, Q, d) attention with products of positive query and key features as weights.

    Keys and values are (B, H, T, d). The cost is linear in Q + T.

    Notes
    -----
    Katharopoulos et al., "Transformers are RNNs", ICML 2020, equations 4 to 7, with their feature
    map elu(x) + 1; every token attends to all.
    """
    queries = functional.elu(queries) + 1
    keys = (functional.elu(keys) + 1) / keys.shape[2]
    summed = keys.transpose(2, 3) @ values
    divisor = (queries * keys.sum(dim=2, keepdim=True)).sum(dim=3, keepdim=True)
    return (queries @ summed) / divisor.clamp(min=SMALLEST_DIVISOR)


def attend(queries: Tensor, keys: Tensor, values: Tensor, backbone: str) -> Tensor:
    """Return (B, Q, H*d) attention of (B, H, Q, d) queries to (B, H, T, d) keys and values.

    The heads' results are concatenated.
    """
    if backbone == "linear":
        found = linear_attention(queries, keys, values)
    else:
        found = functional.scaled_dot_product_attention(queries, keys, values)
    return found.transpose(1, 2).flatten(2)


def pick(tokens: Tensor, which: Tensor) -> Tensor:
    """Return the (B, V, D) tokens of (B, T, D) that have the numbers ``which`` (B, V)."""
    return tokens.gather(1, which.unsqueeze(2).expand(-1, -1, tokens.shape[2]))


class SelfBlock(nn.Module):
    """A transformer block: tokens attend to one another.

    Notes
    -----
    Layer normalisation comes before attention and the hidden layer: Xiong et al., "On layer
    normalization in the Transformer architecture", ICML 2020.
    """

    def __init__(self, settings: LearnSettings) -> None:
        super().__init__()
        width = settings.width
        self.heads, self.backbone = settings.heads, settings.backbone
        self.norm = nn.LayerNorm(width)
        self.project = nn.Linear(width, 3 * width)
        self.merge = nn.Linear(width, width)
        self.feed = _feed(width, settings.expansion)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return (B, T, D) tokens after attention and the hidden layer."""
        projected = self.project(self.norm(tokens)).unflatten(2, (3, self.heads, -1))
        queries, keys, values = projected.permute(2, 0, 3, 1, 4).unbind(0)
        tokens = tokens + self.merge(attend(queries, keys, values, self.backbone))
        fed: Tensor = tokens + self.feed(tokens)
        return fed


class CrossBlock(nn.Module):
    """A transformer block of a decoder: queries attend to a memory, not to one another."""

    def __init__(self, settings: LearnSettings) -> None:
        super().__init__()
        width = settings.width
        self.heads, self.backbone = settings.heads, settings.backbone
        self.norm = nn.LayerNorm(width)
        self.project_query = nn.Linear(width, width)
        self.project_memory = nn.Linear(width, 2 * width)
        self.merge = nn.Linear(width, width)
        self.feed = _feed(width, settings.expansion)

    def forward(self, queries: Tensor, memory: Tensor) -> Tensor:
        """Return (B, Q, D) queries after attention to a (B, T, D) memory and the hidden layer."""
        asked = self.project_query(self.norm(queries)).unflatten(2, (self.heads, -1))
        known = self.project_memory(memory).unflatten(2, (2, self.heads, -1))
        keys, values = known.permute(2, 0, 3, 1, 4).unbind(0)
        found = attend(asked.transpose(1, 2), keys, values, self.backbone)
        queries = queries + self.merge(found)
        fed: Tensor = queries + self.feed(queries)
        return fed


class CrossDecoder(nn.Module):
    """Cross blocks that predict masked places from encoded visible tokens, the memory.

    A query is a learned mask token plus the place's position plus a linear map of the memory's
    class token. Because the predictions use the class token, it learns to summarise the window.
    Queries do not attend to one another, so the prediction for a place does not depend on which
    other places are queried. ``side`` is the number of patches per side.
    """

    def __init__(self, settings: LearnSettings, side: int, layers: int) -> None:
        super().__init__()
        width = settings.width
        self.positions = Positions(side, width, settings.lag_positions)
        self.mask_token = nn.Parameter(TOKEN_SIZE * torch.randn(width))
        self.read_class = nn.Linear(width, width)
        self.blocks = nn.ModuleList(CrossBlock(settings) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, patches: Patches, memory: Tensor, masked: Tensor) -> Tensor:
        """Return (B, M, D) predictions for (B, M) masked tokens from a (B, T, D) memory.

        The class token comes first in the memory.
        """
        asked = (self.mask_token + self.positions(patches)).to(memory.dtype)
        # Gather from one copy per window: summing gradients by window is faster than by place.
        queries = pick(asked.expand(len(memory), -1, -1), masked)
        queries = queries + self.read_class(memory[:, :1])
        for block in self.blocks:
            queries = block(queries, memory)
        answered: Tensor = self.norm(queries)
        return answered


def _feed(width: int, expansion: int) -> nn.Sequential:
    return nn.Sequential(
        nn.LayerNorm(width),
        nn.Linear(width, expansion * width),
        nn.GELU(),
        nn.Linear(expansion * width, width),
    )
