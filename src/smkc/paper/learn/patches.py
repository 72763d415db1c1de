"""Patches: a symmetric kernel image as a list of tokens with positions.

In: a window length L, a patch size P and a layout. Out: row, column and lag of every token, kernel
images cut into patches, and learned positions.
"""

import math

import torch
from torch import Tensor, nn

from smkc.errors import SettingError

# All N * N patches, or those on and above the diagonal: the image is symmetric.
TOKEN_LAYOUTS = ("full", "triangle")

# Ratio that the wavelengths of initial positions span, as in Vaswani et al.
LONGEST_WAVE = 10_000.0

# Initial size of each position component, so that the sum of 3 is somewhat larger than a patch
# embedding: attention learns rows and columns sooner than with smaller ones.
POSITION_SIZE = 0.6


class Patches(nn.Module):
    """The patches of (L, L) images: N = L / P per side.

    A pair is an unordered pair of patch rows {i, j}; masks are drawn pair by pair. With
    ``triangle`` tokens are the patches with row <= column, one per pair; with ``full`` they are all
    patches, two per pair off the diagonal.

    Attributes
    ----------
    rows, columns, lags
        (T,) row i, column j and lag |i - j| of each token, in patches.
    pairs, mirror
        (T,) the pair that each token belongs to, and the token at (j, i), if any, else itself.
    pair_rows, pair_columns, tokens_per_pair
        (N(N+1)/2,) row and column of each pair, row <= column, and its number of tokens.

    Examples
    --------
    >>> patches = Patches(6, 2, "triangle")
    >>> patches.rows.tolist(), patches.columns.tolist()
    ([0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2])
    >>> patches.lags.tolist()
    [0, 1, 2, 0, 1, 0]
    """

    rows: Tensor
    columns: Tensor
    lags: Tensor
    pairs: Tensor
    mirror: Tensor
    pair_rows: Tensor
    pair_columns: Tensor
    tokens_per_pair: Tensor
    token_of_place: Tensor
    places: Tensor

    def __init__(self, window: int, patch: int, tokens: str = "triangle") -> None:
        super().__init__()
        if patch < 1 or window < 2 * patch or window % patch:
            raise SettingError(
                f"window={window} cannot be cut into patches of {patch} time steps; use a window "
                f"that is a multiple of patch={patch} and at least {2 * max(patch, 1)}"
            )
        self.window, self.patch, self.tokens = window, patch, tokens
        self.side = side = window // patch
        upper = torch.triu_indices(side, side)
        pair_at = torch.zeros(side, side, dtype=torch.int64)
        pair_at[upper[0], upper[1]] = torch.arange(upper.shape[1])
        pair_at = torch.maximum(pair_at, pair_at.T)
        places = torch.arange(side * side)
        mirrored = places.view(side, side).T.flatten()
        is_full = tokens == "full"
        rows, columns = (places // side, places % side) if is_full else (upper[0], upper[1])
        fixed = {
            "rows": rows,
            "columns": columns,
            "lags": (rows - columns).abs(),
            "pairs": pair_at[rows, columns],
            "mirror": mirrored if is_full else torch.arange(len(rows)),
            "pair_rows": upper[0],
            "pair_columns": upper[1],
            "tokens_per_pair": 1 + (upper[0] != upper[1]).long() * is_full,
            "token_of_place": places if is_full else pair_at.flatten(),
            "places": rows * side + columns,
        }
        for name, values in fixed.items():
            self.register_buffer(name, values.clone(), persistent=False)

    @property
    def n_tokens(self) -> int:
        """T, the number of tokens per image."""
        return self.side**2 if self.tokens == "full" else self.side * (self.side + 1) // 2

    def on(self, device: torch.device) -> "Patches":
        """Return a copy of the patches on another device."""
        return Patches(self.window, self.patch, self.tokens).to(device)

    def cut(self, images: Tensor) -> Tensor:
        """Return (B, T, K*P*P) pixels of each token of (B, K, L, L) images, by channel."""
        n_windows, n_channels, _, _ = images.shape
        side, patch = self.side, self.patch
        grid = images.reshape(n_windows, n_channels, side, patch, side, patch)
        cut = grid.permute(0, 2, 4, 1, 3, 5).reshape(n_windows, side * side, -1)
        return cut if self.tokens == "full" else cut.index_select(1, self.places)

    def mirrored(self, pixels: Tensor) -> Tensor:
        """Return (..., K*P*P) pixels of transposed patches, as they would be at (j, i)."""
        cut = torch.unflatten(pixels, -1, (-1, self.patch, self.patch))
        return cut.transpose(-1, -2).flatten(-3)

    def is_seen(self, visible: Tensor) -> Tensor:
        """Return (B, 1, L, L) bool: the pixels that are visible given (B, V) visible tokens.

        A pixel is visible only if its mirror image, which has the same value, is visible too.
        """
        n_windows, side, patch = len(visible), self.side, self.patch
        seen = torch.zeros(n_windows, self.n_tokens, dtype=torch.bool, device=visible.device)
        seen = seen.scatter(1, visible, True)
        seen = seen & seen.index_select(1, self.mirror)
        seen = seen.index_select(1, self.token_of_place).view(n_windows, side, 1, side, 1)
        pixels = seen.expand(-1, -1, patch, -1, patch)
        return pixels.reshape(n_windows, 1, self.window, self.window)


class Positions(nn.Module):
    """Learned positions of tokens: the sum of a row, a column and a lag component.

    Each component starts as sines and cosines of its index, multiplied by a random matrix of its
    own, so that neighbours start similar while rows and columns differ. There is no lag component
    without ``lag_positions``.

    Notes
    -----
    Paper, section "Kernel-aware encoder". Waves: Vaswani et al., "Attention is all you need",
    NeurIPS 2017, section 3.5.
    """

    def __init__(self, side: int, width: int, lag_positions: bool = True) -> None:
        super().__init__()
        self.row = nn.Parameter(_smooth(side, width))
        self.column = nn.Parameter(_smooth(side, width))
        self.lag = nn.Parameter(_smooth(side, width)) if lag_positions else None

    def forward(self, patches: Patches) -> Tensor:
        """Return (T, D) positions of the tokens."""
        total = self.row.index_select(0, patches.rows)
        total = total + self.column.index_select(0, patches.columns)
        if self.lag is not None:
            total = total + self.lag.index_select(0, patches.lags)
        return total


def _smooth(length: int, width: int) -> Tensor:
    """Return (length, width) waves of several speeds, mixed at random, of size POSITION_SIZE."""
    half = -(-width // 2)
    speeds = torch.exp(torch.arange(half) * (-math.log(LONGEST_WAVE) / half))
    angles = torch.arange(length)[:, None] * speeds
    waves = torch.cat([angles.sin(), angles.cos()], dim=1)
    turned = waves @ torch.randn(2 * half, width)
    return POSITION_SIZE * turned / math.sqrt(half)
