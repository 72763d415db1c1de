"""Masked reconstruction: the pixels of masked patches, from the visible ones.

In: kernel images and scale tokens. Out: a loss to train with, then each window's embedding and its
surprise, the error of what was masked.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional

from smkc.errors import SettingError
from smkc.paper.learn.attention import CrossDecoder, pick
from smkc.paper.learn.encoder import Encoder, EncoderConfig
from smkc.paper.learn.masks import Masking, under_each

__all__ = ["Reconstruction", "ReconstructionConfig"]

# A channel that hardly varies is not blown up beyond this.
LEAST_SPREAD = 1e-2

# Logarithms of the least and the largest error that may be expected, in spreads.
LOG_EXPECTED = (-5.0, 3.0)


@dataclass(frozen=True, kw_only=True)
class ReconstructionConfig:
    """Settings of masked reconstruction.

    Parameters
    ----------
    encoder, masking
        settings of the encoder and of masks.
    decoder_layers
        cross blocks of the decoder.
    asymmetry, diagonal
        weights of the two penalties.
    expects_errors
        whether the decoder also says, patch by patch and channel by channel, how large an error
        it expects; errors are then in that unit, plus its logarithm.
    """

    encoder: EncoderConfig
    masking: Masking = field(default_factory=Masking)
    decoder_layers: int = 2
    asymmetry: float = 0.1
    diagonal: float = 0.1
    expects_errors: bool = False

    def __post_init__(self) -> None:
        if not (self.asymmetry >= 0 and self.diagonal >= 0):
            raise SettingError(
                f"asymmetry={self.asymmetry!r} and diagonal={self.diagonal!r} are weights of "
                "penalties; use 0 or more"
            )


class Reconstruction(nn.Module):
    """Encoder and cross-attention decoder, trained on masked patches.

    Parameters
    ----------
    config
        the settings.

    Attributes
    ----------
    spread
        (K,) how far each channel varies; errors are divided by it. All 1, for errors in the
        channel's own unit, until :meth:`balance` is called.

    Notes
    -----
    Paper, section "Masked kernel reconstruction objective"; it names no measure of error. Here it
    is smooth L1, quadratic below one spread and linear beyond: log distances have no upper bound,
    and a few windows shall not rule a step. With expected errors it is the negative logarithm of a
    density whose scale is learned (Kendall and Gal, "What uncertainties do we need in Bayesian
    deep learning for computer vision?", NeurIPS 2017, section 3.1, with smooth L1 in place of the
    square): what is noisy by nature, as windows of few variables are, does not surprise.
    """

    spread: Tensor
    is_cosine: Tensor

    def __init__(self, config: ReconstructionConfig) -> None:
        super().__init__()
        self.config = config
        encoder = config.encoder
        self.encoder = Encoder(encoder)
        self.decoder = CrossDecoder(
            self.encoder.patches.side,
            config.decoder_layers,
            encoder.width,
            encoder.heads,
            encoder.expansion,
            encoder.backbone,
            encoder.lag_positions,
        )
        n_channels = len(encoder.channels)
        self.write = nn.Linear(encoder.width, n_channels * encoder.patch**2)
        self.write_expected = (
            nn.Linear(encoder.width, n_channels) if config.expects_errors else None
        )
        if self.write_expected is not None:
            nn.init.zeros_(self.write_expected.weight)
            nn.init.zeros_(self.write_expected.bias)
        is_cosine = torch.tensor([channel.startswith("cos") for channel in encoder.channels])
        self.register_buffer("is_cosine", is_cosine, persistent=False)
        self.register_buffer("spread", torch.ones(n_channels))

    def balance(self, images: Tensor) -> None:
        """Set ``spread`` to each channel's standard deviation over (B, K, L, L) images.

        Every channel then counts alike in loss and surprise. Without, those that vary more, as log
        distances do, count more.
        """
        deviation = images.float().transpose(0, 1).flatten(1).std(dim=1)
        self.spread.copy_(deviation.clamp(min=LEAST_SPREAD))

    def loss(self, images: Tensor, tau: Tensor, generator: torch.Generator) -> Tensor:
        """Scalar: the loss under masks drawn anew."""
        drawn = self.config.masking.draw(self.encoder.patches, len(images), generator)
        total: Tensor = self(images, tau, *drawn)
        return total

    def forward(self, images: Tensor, tau: Tensor, visible: Tensor, masked: Tensor) -> Tensor:
        """Scalar: masked error plus penalties, under (B, V) visible and (B, M) masked tokens."""
        guessed, expected = self._guess(images, tau, visible, masked)
        total = self._errors(images, guessed, masked, expected).mean()
        if self.config.asymmetry:
            total = total + self.config.asymmetry * self._asymmetry(guessed, masked)
        if self.config.diagonal:
            total = total + self.config.diagonal * self._off_diagonal(guessed, masked)
        return total

    def guess(self, images: Tensor, tau: Tensor, visible: Tensor, masked: Tensor) -> Tensor:
        """(B, M, K*P*P) float32: the pixels of masked patches, in the range of their channel."""
        return self._guess(images, tau, visible, masked)[0]

    def _guess(
        self, images: Tensor, tau: Tensor, visible: Tensor, masked: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """(B, M, K*P*P) pixels and (B, M, K, 1) logarithms of expected errors, in spreads."""
        memory = self.encoder.encode(images, tau, visible)
        decoded = self.decoder(self.encoder.patches, memory, masked)
        raw = torch.unflatten(self.write(decoded).float(), 2, (len(self.is_cosine), -1))
        is_cosine = self.is_cosine.view(-1, 1)
        guessed = torch.where(is_cosine, raw.sigmoid(), functional.softplus(raw)).flatten(2)
        if self.write_expected is None:
            return guessed, None
        expected = self.write_expected(decoded).float().clamp(*LOG_EXPECTED)
        return guessed, expected.unsqueeze(3)

    @torch.no_grad()
    def embed(self, images: Tensor, tau: Tensor) -> Tensor:
        """(B, D) float32 the class token of each whole window, of length 1."""
        return functional.normalize(self.encoder(images, tau)[0].float(), dim=1)

    @torch.no_grad()
    def surprise(self, images: Tensor, tau: Tensor, visible: Tensor, masked: Tensor) -> Tensor:
        """(B, S) masked error under each of S masks, (S, V) visible and (S, M) masked tokens."""
        return self.surprise_by_channel(images, tau, visible, masked).mean(dim=2)

    @torch.no_grad()
    def surprise_by_channel(
        self, images: Tensor, tau: Tensor, visible: Tensor, masked: Tensor
    ) -> Tensor:
        """(B, S, K) the same, channel by channel."""

        def errors(images: Tensor, tau: Tensor, visible: Tensor, masked: Tensor) -> Tensor:
            guessed, expected = self._guess(images, tau, visible, masked)
            return self._errors(images, guessed, masked, expected).mean(dim=(1, 3))

        return under_each(errors, (images, tau), visible, masked)

    @torch.no_grad()
    def surprise_by_patch(
        self, images: Tensor, tau: Tensor, visible: Tensor, masked: Tensor
    ) -> Tensor:
        """(B, S, M, K) the same, masked patch by masked patch and channel by channel."""

        def errors(images: Tensor, tau: Tensor, visible: Tensor, masked: Tensor) -> Tensor:
            guessed, expected = self._guess(images, tau, visible, masked)
            return self._errors(images, guessed, masked, expected).mean(dim=3)

        return under_each(errors, (images, tau), visible, masked)

    # ------------------------------------------------------------------ parts

    def _errors(
        self, images: Tensor, guessed: Tensor, masked: Tensor, expected: Tensor | None = None
    ) -> Tensor:
        """(B, M, K, P*P) the error of every masked pixel, in spreads of its channel.

        With ``expected`` logarithms, in units of those, which are added.
        """
        wanted = pick(self.encoder.patches.cut(images.float()), masked)
        n_channels = len(self.spread)
        scale = self.spread.float().view(-1, 1)
        wanted = torch.unflatten(wanted, 2, (n_channels, -1)) / scale
        guessed = torch.unflatten(guessed, 2, (n_channels, -1)) / scale
        if expected is None:
            return functional.smooth_l1_loss(guessed, wanted, reduction="none")
        unit = expected.exp()
        apart = functional.smooth_l1_loss(guessed / unit, wanted / unit, reduction="none")
        return apart + expected

    def _asymmetry(self, guessed: Tensor, masked: Tensor) -> Tensor:
        """Scalar: how far guesses are from their mirror images, where both were made."""
        patches = self.encoder.patches
        if patches.tokens == "full":
            n_windows, _, n_pixels = guessed.shape
            placed = guessed.new_zeros(n_windows, patches.n_tokens, n_pixels)
            placed = placed.scatter(1, masked.unsqueeze(2).expand_as(guessed), guessed)
            other = pick(placed.index_select(1, patches.mirror), masked)
            return (guessed - patches.mirrored(other)).square().mean()
        apart = (guessed - patches.mirrored(guessed)).square().mean(dim=2)
        return self._mean_on_diagonal(apart, masked)

    def _off_diagonal(self, guessed: Tensor, masked: Tensor) -> Tensor:
        """Scalar: how far guesses are from cosine 1 and log distance 0 on the diagonal."""
        patch = self.encoder.patches.patch
        pixels = torch.unflatten(guessed, 2, (len(self.is_cosine), patch, patch))
        wanted = self.is_cosine.to(pixels.dtype).view(-1, 1)
        apart = (pixels.diagonal(dim1=3, dim2=4) - wanted).square().mean(dim=(2, 3))
        return self._mean_on_diagonal(apart, masked)

    def _mean_on_diagonal(self, values: Tensor, masked: Tensor) -> Tensor:
        """Scalar: mean of the (B, M) values whose patch is on the diagonal; 0 if none is."""
        on_diagonal = (self.encoder.patches.lags[masked] == 0).to(values.dtype)
        return (values * on_diagonal).sum() / on_diagonal.sum().clamp(min=1)
