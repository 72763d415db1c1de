"""Attention: transformer blocks over tokens, and the decoder that asks for masked places.

In: tokens, and for a decoder the tokens of which something is asked. Out: tokens of the same width.
Attention is softmax attention, quadratic in tokens, or linear attention.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from smkc.errors import SettingError
from smkc.paper.learn.patches import Patches, Positions

__all__ = [
    "BACKBONES",
    "CrossBlock",
    "CrossDecoder",
    "SelfBlock",
    "attend",
    "linear_attention",
    "pick",
]

BACKBONES = ("attention", "linear")

# First size of tokens that are learned: BERT's and MAE's constant.
TOKEN_SIZE = 0.02

# The least divisor of linear attention: float32's and bfloat16's zero is far below it.
SMALLEST_DIVISOR = 1e-6


def linear_attention(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """(B, H, Q, d) attention whose weights are products of positive features of query and key.

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
    """(B, Q, H*d) what (B, H, Q, d) queries find among (B, H, T, d) keys, heads side by side."""
    if backbone == "linear":
        found = linear_attention(queries, keys, values)
    else:
        found = functional.scaled_dot_product_attention(queries, keys, values)
    return found.transpose(1, 2).flatten(2)


def pick(tokens: Tensor, which: Tensor) -> Tensor:
    """(B, V, D) the tokens of (B, T, D) with numbers (B, V)."""
    return tokens.gather(1, which.unsqueeze(2).expand(-1, -1, tokens.shape[2]))


class SelfBlock(nn.Module):
    """A transformer block: tokens attend to one another.

    Parameters
    ----------
    width, heads
        D and H; D must be a multiple of H.
    expansion
        the hidden layer's width, in D.
    backbone
        one of BACKBONES.

    Notes
    -----
    Norms stand before attention and the hidden layer: Xiong et al., "On layer normalization in the
    Transformer architecture", ICML 2020.
    """

    def __init__(self, width: int, heads: int, expansion: int, backbone: str) -> None:
        super().__init__()
        _check(width, heads, backbone)
        self.heads, self.backbone = heads, backbone
        self.norm = nn.LayerNorm(width)
        self.project = nn.Linear(width, 3 * width)
        self.merge = nn.Linear(width, width)
        self.feed = _feed(width, expansion)

    def forward(self, tokens: Tensor) -> Tensor:
        """(B, T, D) tokens after attention and the hidden layer."""
        projected = self.project(self.norm(tokens)).unflatten(2, (3, self.heads, -1))
        queries, keys, values = projected.permute(2, 0, 3, 1, 4).unbind(0)
        tokens = tokens + self.merge(attend(queries, keys, values, self.backbone))
        fed: Tensor = tokens + self.feed(tokens)
        return fed


class CrossBlock(nn.Module):
    """A transformer block of a decoder: queries attend to a memory, not to one another.

    Parameters are those of :class:`SelfBlock`.
    """

    def __init__(self, width: int, heads: int, expansion: int, backbone: str) -> None:
        super().__init__()
        _check(width, heads, backbone)
        self.heads, self.backbone = heads, backbone
        self.norm = nn.LayerNorm(width)
        self.project_query = nn.Linear(width, width)
        self.project_memory = nn.Linear(width, 2 * width)
        self.merge = nn.Linear(width, width)
        self.feed = _feed(width, expansion)

    def forward(self, queries: Tensor, memory: Tensor) -> Tensor:
        """(B, Q, D) queries after attention to a (B, T, D) memory and the hidden layer."""
        asked = self.project_query(self.norm(queries)).unflatten(2, (self.heads, -1))
        known = self.project_memory(memory).unflatten(2, (2, self.heads, -1))
        keys, values = known.permute(2, 0, 3, 1, 4).unbind(0)
        found = attend(asked.transpose(1, 2), keys, values, self.backbone)
        queries = queries + self.merge(found)
        fed: Tensor = queries + self.feed(queries)
        return fed


class CrossDecoder(nn.Module):
    """Cross blocks that ask an encoded view what is at masked places.

    A query is one learned mask token plus the place's position plus a linear map of the memory's
    class token: guesses get better with what that token holds, so it comes to sum up the window.
    Queries do not see one another, so what is said of a place does not depend on which other
    places are asked for.

    Parameters
    ----------
    side
        N, patches a side.
    layers
        cross blocks.
    width, heads, expansion, backbone
        of each block; the memory has the same width.
    lag_positions
        whether positions have a lag component.
    """

    def __init__(
        self,
        side: int,
        layers: int,
        width: int,
        heads: int,
        expansion: int,
        backbone: str,
        lag_positions: bool,
    ) -> None:
        super().__init__()
        if layers < 1:
            raise SettingError(f"a decoder of {layers} layers reads nothing; use 1 or more")
        self.positions = Positions(side, width, lag_positions)
        self.mask_token = nn.Parameter(TOKEN_SIZE * torch.randn(width))
        self.read_class = nn.Linear(width, width)
        self.blocks = nn.ModuleList(
            CrossBlock(width, heads, expansion, backbone) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)

    def forward(self, patches: Patches, memory: Tensor, masked: Tensor) -> Tensor:
        """(B, M, D) what a (B, T, D) memory, its class token first, tells of (B, M) tokens."""
        asked = (self.mask_token + self.positions(patches)).to(memory.dtype)
        # Gathered from one copy a window: adding up gradients by window is quicker than by place.
        queries = pick(asked.expand(len(memory), -1, -1), masked)
        queries = queries + self.read_class(memory[:, :1])
        for block in self.blocks:
            queries = block(queries, memory)
        answered: Tensor = self.norm(queries)
        return answered


def _check(width: int, heads: int, backbone: str) -> None:
    if heads < 1 or width < heads or width % heads:
        raise SettingError(f"width={width} is not a multiple of heads={heads}; try 128 and 4")
    if backbone not in BACKBONES:
        raise SettingError(f"backbone={backbone!r} is not known; use one of {BACKBONES}")


def _feed(width: int, expansion: int) -> nn.Sequential:
    if expansion < 1:
        raise SettingError(f"expansion={expansion} leaves no hidden layer; use 1 or more")
    return nn.Sequential(
        nn.LayerNorm(width),
        nn.Linear(width, expansion * width),
        nn.GELU(),
        nn.Linear(expansion * width, width),
    )
