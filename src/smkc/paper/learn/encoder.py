"""The kernel-aware encoder: visible patches of a kernel image -> tokens and a class token.

In: kernel images, scale tokens tau and the tokens that may be seen. Out: the window's embedding and
one vector for each visible patch. Nothing of a masked patch or of its mirror image gets in.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from smkc.errors import InputError, SettingError
from smkc.paper.kernel.representation import CHANNELS
from smkc.paper.learn.attention import BACKBONES, TOKEN_SIZE, SelfBlock, pick
from smkc.paper.learn.patches import Patches, Positions

__all__ = ["Encoder", "EncoderConfig"]


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """Settings of the encoder.

    Parameters
    ----------
    window
        L, time steps a window.
    channels
        which channels the kernel image has, by name and in its order.
    patch
        P, time steps a patch; L must be a multiple of it.
    width, layers, heads
        D, how many transformer blocks and heads of attention.
    expansion
        width of a block's hidden layer, in D.
    backbone
        ``attention`` (softmax, quadratic in tokens) or ``linear``.
    tokens
        ``triangle`` reads the patches on and above the diagonal, ``full`` all of them.
    stem_width, stem_layers
        channels and 3 x 3 convolutions before patches are embedded.
    lag_positions
        whether positions have a lag component; without it, the paper's no_lag_positional.
    scale_token
        whether tau is read; without it, the paper's no_scale_token.
    """

    window: int
    channels: tuple[str, ...] = CHANNELS
    patch: int = 2
    width: int = 128
    layers: int = 4
    heads: int = 4
    expansion: int = 4
    backbone: str = "attention"
    tokens: str = "triangle"
    stem_width: int = 32
    stem_layers: int = 2
    lag_positions: bool = True
    scale_token: bool = True

    def __post_init__(self) -> None:
        known = [channel for channel in self.channels if channel in CHANNELS]
        if not known or len(known) != len(self.channels) or len(set(known)) != len(known):
            raise SettingError(
                f"channels={self.channels!r}: name one or more of {CHANNELS}, each once"
            )
        sizes = (self.width, self.layers, self.stem_width, self.stem_layers)
        if min(sizes) < 1:
            raise SettingError(
                f"width, layers, stem_width, stem_layers={sizes} must all be 1 or more; try "
                "128, 4, 32, 2"
            )
        if self.backbone not in BACKBONES:
            raise SettingError(f"backbone={self.backbone!r} is not known; use one of {BACKBONES}")


class Encoder(nn.Module):
    """Convolutional stem, patch embedding, positions, class and scale token, transformer.

    First weights are drawn from torch's default generator: seed it before. The module works in
    float32, under autocast to bfloat16, and converted to bfloat16 as a whole.

    Parameters
    ----------
    config
        the settings.

    Notes
    -----
    Paper, section "Kernel-aware encoder". As in He et al., "Masked autoencoders are scalable
    vision learners", CVPR 2022, section 3, only visible tokens are encoded. A convolution would
    carry masked pixels to their neighbours: they are set to 0 before it, and one more plane says
    which pixels are seen, so that 0 is not taken for a value.
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.patches = Patches(config.window, config.patch, config.tokens)
        width, stem_width = config.width, config.stem_width
        stem: list[nn.Module] = []
        for n_planes in [len(config.channels) + 1] + (config.stem_layers - 1) * [stem_width]:
            stem += [nn.Conv2d(n_planes, stem_width, 3, padding=1), nn.GELU()]
        self.stem = nn.Sequential(*stem)
        self.embed_patch = nn.Conv2d(stem_width, width, config.patch, stride=config.patch)
        # Patches begin about as large as positions; torch's first weights make them far smaller.
        for layer in [*self.stem, self.embed_patch]:
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        self.positions = Positions(self.patches.side, width, config.lag_positions)
        self.class_token = nn.Parameter(TOKEN_SIZE * torch.randn(width))
        self.embed_scale = (
            nn.Sequential(nn.Linear(1, width), nn.GELU(), nn.Linear(width, width))
            if config.scale_token
            else None
        )
        self.blocks = nn.ModuleList(
            SelfBlock(width, config.heads, config.expansion, config.backbone)
            for _ in range(config.layers)
        )
        self.norm = nn.LayerNorm(width)

    @property
    def n_leading(self) -> int:
        """How many tokens come before those of patches: the class token, and the scale token."""
        return 1 if self.embed_scale is None else 2

    def forward(
        self, images: Tensor, tau: Tensor, visible: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the (B, D) class tokens and (B, V, D) tokens of visible patches.

        Arguments are those of :meth:`encode`.
        """
        encoded = self.encode(images, tau, visible)
        return encoded[:, 0], encoded[:, self.n_leading :]

    def encode(self, images: Tensor, tau: Tensor, visible: Tensor | None = None) -> Tensor:
        """(B, n_leading + V, D) all encoded tokens: class, scale (if read), visible patches.

        Parameters
        ----------
        images
            (B, K, L, L) kernel images.
        tau
            (B,) scale tokens. NaN, for images whose scale was not measured, is read as 0, the
            middle.
        visible
            (B, V) which tokens may be seen; all, in order, if not given. A patch whose mirror
            image may not be seen is read as unseen.
        """
        n_windows = len(images)
        config = self.config
        expected = (n_windows, len(config.channels), config.window, config.window)
        if images.shape != expected:
            raise InputError(
                f"kernel images have the shape {tuple(images.shape)}, not {expected}: make them "
                f"with window={config.window} and channels={config.channels}"
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
        """(B, V, D) visible patches with their positions, before the transformer."""
        n_windows, _, length, _ = images.shape
        images = images.to(self.class_token.dtype)
        if visible is None:
            plane = images.new_ones(n_windows, 1, length, length)
        else:
            is_seen = self.patches.is_seen(visible)
            # Chosen, not multiplied: 0 times infinity would get through.
            images = torch.where(is_seen, images, 0.0)
            plane = is_seen.to(images.dtype)
        planes = torch.cat([images, plane], dim=1)
        planes = planes.contiguous(memory_format=torch.channels_last)
        tokens = self.embed_patch(self.stem(planes)).flatten(2).transpose(1, 2)
        if self.patches.tokens == "triangle":
            tokens = tokens.index_select(1, self.patches.places)
        tokens = tokens + self.positions(self.patches)
        return tokens if visible is None else pick(tokens, visible)
