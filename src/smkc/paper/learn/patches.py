"""Patches: a symmetric kernel image as a list of tokens, and where each token lies.

In: a window length L, a patch size P and a layout. Out: row, column and lag of every token, kernel
images cut into patches and put together again, and learned positions.
"""

import math

import torch
from torch import Tensor, nn

from smkc.errors import SettingError

__all__ = ["TOKEN_LAYOUTS", "Patches", "Positions"]

# All N * N patches, or those on and above the diagonal: the image is symmetric.
TOKEN_LAYOUTS = ("full", "triangle")

# How far the slowest wave of new positions is from the quickest: Vaswani et al.'s constant.
LONGEST_WAVE = 10_000.0

# Size of each component of new positions, so that three of them are somewhat larger than a patch:
# attention finds rows and columns sooner than with smaller ones.
POSITION_SIZE = 0.6


class Patches(nn.Module):
    """The patches of (L, L) images: N = L / P a side.

    A pair is an unordered pair of patch rows {i, j}; masks are decided pair by pair. Under
    ``triangle`` each pair is one token, under ``full`` each pair off the diagonal is two.

    Parameters
    ----------
    window
        L, time steps a window.
    patch
        P, time steps a patch; L must be a multiple of it, and at least twice as large.
    tokens
        ``triangle`` for the patches with row <= column, ``full`` for all.

    Attributes
    ----------
    rows, columns, lags
        (T,) row i, column j and lag |i - j| of each token, in patches.
    pairs
        (T,) the pair that each token belongs to.
    mirror
        (T,) the token at (j, i); under ``triangle`` the token itself.
    pair_rows, pair_columns
        (N(N+1)/2,) row and column of each pair, row <= column.
    tokens_per_pair
        (N(N+1)/2,) how many tokens each pair has, 1 or 2.

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
    is_below: Tensor

    def __init__(self, window: int, patch: int, tokens: str = "triangle") -> None:
        super().__init__()
        if tokens not in TOKEN_LAYOUTS:
            raise SettingError(f"tokens={tokens!r} is not known; use one of {TOKEN_LAYOUTS}")
        if patch < 1 or window < 2 * patch or window % patch:
            raise SettingError(
                f"window={window} cannot be cut into patches of {patch} time steps; use a window "
                f"that is a multiple of patch={patch} and at least {2 * max(patch, 1)}"
            )
        self.window, self.patch, self.tokens = window, patch, tokens
        self.side = side = window // patch
        upper = torch.triu_indices(side, side)
        steps = torch.arange(side)
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
            "is_below": (steps[:, None] > steps).flatten(),
        }
        for name, values in fixed.items():
            self.register_buffer(name, values.clone(), persistent=False)

    @property
    def n_tokens(self) -> int:
        """T, tokens an image."""
        return self.side**2 if self.tokens == "full" else self.side * (self.side + 1) // 2

    def on(self, device: torch.device) -> "Patches":
        """Return the same patches on another device; these stay where they are."""
        return Patches(self.window, self.patch, self.tokens).to(device)

    def cut(self, images: Tensor) -> Tensor:
        """(B, T, K*P*P) the pixels of each token of (B, K, L, L) images, channel by channel."""
        n_windows, n_channels, _, _ = images.shape
        side, patch = self.side, self.patch
        grid = images.reshape(n_windows, n_channels, side, patch, side, patch)
        cut = grid.permute(0, 2, 4, 1, 3, 5).reshape(n_windows, side * side, -1)
        return cut if self.tokens == "full" else cut.index_select(1, self.places)

    def join(self, pixels: Tensor) -> Tensor:
        """(B, K, L, L) images of (B, T, K*P*P) pixels; a triangle is mirrored."""
        n_windows, side, patch = len(pixels), self.side, self.patch
        cut = pixels.index_select(1, self.token_of_place)
        cut = cut.view(n_windows, side * side, -1, patch, patch)
        if self.tokens == "triangle":
            is_below = self.is_below.view(1, -1, 1, 1, 1)
            cut = torch.where(is_below, cut.transpose(3, 4), cut)
        grid = cut.view(n_windows, side, side, -1, patch, patch).permute(0, 3, 1, 4, 2, 5)
        return grid.reshape(n_windows, -1, self.window, self.window)

    def mirrored(self, pixels: Tensor) -> Tensor:
        """(..., K*P*P) pixels of patches, each transposed: as they would be at (j, i)."""
        cut = torch.unflatten(pixels, -1, (-1, self.patch, self.patch))
        return cut.transpose(-1, -2).flatten(-3)

    def is_seen(self, visible: Tensor) -> Tensor:
        """(B, 1, L, L) bool: the pixels that (B, V) visible tokens let one see.

        A pixel is seen only if its mirror image is too: its value is the same.
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

    Each component begins as sines and cosines of its index, turned at random and differently, so
    that neighbours begin alike and rows are told from columns.

    Parameters
    ----------
    side
        N, patches a side.
    width
        D, numbers a position.
    lag_positions
        whether there is a lag component.

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
        """(T, D) the position of each token."""
        total = self.row.index_select(0, patches.rows)
        total = total + self.column.index_select(0, patches.columns)
        if self.lag is not None:
            total = total + self.lag.index_select(0, patches.lags)
        return total


def _smooth(length: int, width: int) -> Tensor:
    """(length, width) waves of some speeds, turned at random; of size POSITION_SIZE."""
    half = -(-width // 2)
    speeds = torch.exp(torch.arange(half) * (-math.log(LONGEST_WAVE) / half))
    angles = torch.arange(length)[:, None] * speeds
    waves = torch.cat([angles.sin(), angles.cos()], dim=1)
    turned = waves @ torch.randn(2 * half, width)
    return POSITION_SIZE * turned / math.sqrt(half)
