"""The kernel-aware encoder: visible patches of a kernel image -> tokens and a class token.

In: kernel images, scale tokens tau and the visible tokens. Out: the window's embedding and one
vector per visible patch. They do not depend on masked patches or their mirror images.
"""

import torch
from torch import Tensor, nn

from smkc.errors import InputError
from smkc.paper.learn.attention import TOKEN_SIZE, SelfBlock, pick
from smkc.paper.learn.patches import Patches, Positions
from smkc.paper.learn.settings import LearnSettings


class Encoder(nn.Module):
    """Convolutional stem, patch embedding, positions, class and scale token, transformer.

    Initial weights are drawn from torch's default generator: seed it first. The module works in
    float32, under autocast to bfloat16, and converted to bfloat16 as a whole. ``window`` is L, the
    number of time steps per window.

    Notes
    -----
    Paper, section "Kernel-aware encoder". As in He et al., "Masked autoencoders are scalable
    vision learners", CVPR 2022, section 3, only visible tokens are encoded. A convolution would
    leak masked pixels into their neighbours, so they are set to 0 before it, and an additional
    plane marks the visible pixels, so that this 0 is not mistaken for a value.
    """

    def __init__(self, settings: LearnSettings, window: int) -> None:
        super().__init__()
        self.channels = settings.channels
        self.patches = Patches(window, settings.patch_of(window), settings.tokens)
        width, stem_width, patch = settings.width, settings.stem_width, self.patches.patch
        stem: list[nn.Module] = []
        for n_planes in [len(self.channels) + 1] + (settings.stem_layers - 1) * [stem_width]:
            stem += [nn.Conv2d(n_planes, stem_width, 3, padding=1), nn.GELU()]
        self.stem = nn.Sequential(*stem)
        self.embed_patch = nn.Conv2d(stem_width, width, patch, stride=patch)
        # Patch embeddings start about as large as positions; torch's default would be far smaller.
        for layer in [*self.stem, self.embed_patch]:
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        self.positions = Positions(self.patches.side, width, settings.lag_positions)
        self.class_token = nn.Parameter(TOKEN_SIZE * torch.randn(width))
        self.embed_scale = (
            nn.Sequential(nn.Linear(1, width), nn.GELU(), nn.Linear(width, width))
            if settings.scale_token
            else None
        )
        self.blocks = nn.ModuleList(SelfBlock(settings) for _ in range(settings.layers))
        self.norm = nn.LayerNorm(width)

    @property
    def n_leading(self) -> int:
        """Number of tokens before those of patches: the class token and, if read, the scale."""
        return 1 if self.embed_scale is None else 2

    def forward(
        self, images: Tensor, tau: Tensor, visible: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the (B, D) class tokens and (B, V, D) tokens of visible patches.

        The arguments are those of :meth:`encode`.
        """
        encoded = self.encode(images, tau, visible)
        return encoded[:, 0], encoded[:, self.n_leading :]

    def encode(self, images: Tensor, tau: Tensor, visible: Tensor | None = None) -> Tensor:
        """Return (B, n_leading + V, D) encoded tokens: class, scale (if read), visible patches.

        Parameters
        ----------
        images
            (B, K, L, L) kernel images.
        tau
            (B,) scale tokens. NaN, for images whose scale was not measured, is read as 0, the
            middle of the range.
        visible
            (B, V) numbers of the visible tokens; by default all, in order. A patch whose mirror
            image is masked is treated as masked.
        """
        n_windows, window = len(images), self.patches.window
        expected = (n_windows, len(self.channels), window, window)
        if images.shape != expected:
            raise InputError(
                f"kernel images have the shape {tuple(images.shape)}, not {expected}: make them "
                f"with window={window} and channels={self.channels}"
            )
        tokens = self._embedded(images, visible)
        leading = self.class_token.to(tokens.dtype).expand(n_windows, 1, -1)
        if self.embed_scale is not None:
            scale = torch.nan_to_num(tau, nan=0.0).to(self.class_token.dtype)
            scale = self.embed_scale(scale.view(n_windows, 1, 1))
            leading = torch.cat([leading, scale.to(tokens.dtype)], dim=1)
        tokens = torch.cat([leading, tokens], dim=1)
        for block in self.blocks:
            tokens = block(tokens)
        encoded: Tensor = self.norm(tokens)
        return encoded

    def _embedded(self, images: Tensor, visible: Tensor | None) -> Tensor:
        """Return (B, V, D) visible patches with their positions, before the transformer."""
        n_windows, _, length, _ = images.shape
        images = images.to(self.class_token.dtype)
        if visible is None:
            plane = images.new_ones(n_windows, 1, length, length)
        else:
            is_seen = self.patches.is_seen(visible)
            # Select instead of multiplying by 0: 0 times infinity is NaN.
            images = torch.where(is_seen, images, 0.0)
            plane = is_seen.to(images.dtype)
        planes = torch.cat([images, plane], dim=1)
        planes = planes.contiguous(memory_format=torch.channels_last)
        tokens = self.embed_patch(self.stem(planes)).flatten(2).transpose(1, 2)
        if self.patches.tokens == "triangle":
            tokens = tokens.index_select(1, self.patches.places)
        tokens = tokens + self.positions(self.patches)
        return tokens if visible is None else pick(tokens, visible)
