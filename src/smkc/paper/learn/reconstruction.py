"""Masked reconstruction: predict the pixels of masked patches from the visible patches.

In: kernel images and scale tokens. Out: a training loss, then each window's embedding and its
surprise, the error of the masked patches.
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from smkc.paper.learn.attention import CrossDecoder, pick
from smkc.paper.learn.encoder import Encoder
from smkc.paper.learn.masks import under_each
from smkc.paper.learn.network import Source
from smkc.paper.learn.objective import Objective
from smkc.paper.learn.settings import LearnSettings

# Smallest spread, so that the errors of a channel that hardly varies are not magnified too much.
LEAST_SPREAD = 1e-2

# Largest number of windows that the spread is computed from.
PREPARED = 1024

# Bounds of the logarithm of expected errors, in spreads.
LOG_EXPECTED = (-5.0, 3.0)

# Weights of the penalties for asymmetric predictions and for wrong diagonals.
ASYMMETRY_WEIGHT, DIAGONAL_WEIGHT = 0.1, 0.1


class Reconstruction(Objective):
    """Encoder and cross-attention decoder, trained on masked patches.

    Training stops when held-out windows are reconstructed no better. Errors are divided by
    ``spread`` (K,), the standard deviation of each channel.

    Notes
    -----
    Paper, section "Masked kernel reconstruction objective"; it states no measure of error. Here it
    is smooth L1, quadratic below one spread and linear above: log distances have no upper bound,
    and a few windows should not dominate a step. With expected errors it is the negative logarithm
    of a density whose scale is learned (Kendall and Gal, "What uncertainties do we need in Bayesian
    deep learning for computer vision?", NeurIPS 2017, section 3.1, with smooth L1 in place of the
    square), so that naturally noisy windows, such as those of few variables, have low surprise.
    """

    spread: Tensor
    is_cosine: Tensor

    def __init__(self, settings: LearnSettings, window: int) -> None:
        super().__init__(settings, window)
        channels, width = settings.channels, settings.width
        self.encoder = Encoder(settings, window)
        side, patch = self.encoder.patches.side, self.encoder.patches.patch
        self.decoder = CrossDecoder(settings, side, settings.decoder_layers)
        self.write = nn.Linear(width, len(channels) * patch**2)
        self.write_expected = nn.Linear(width, len(channels)) if settings.expects_errors else None
        if self.write_expected is not None:
            nn.init.zeros_(self.write_expected.weight)
            nn.init.zeros_(self.write_expected.bias)
        is_cosine = torch.tensor([channel.startswith("cos") for channel in channels])
        self.register_buffer("is_cosine", is_cosine, persistent=False)
        self.register_buffer("spread", torch.ones(len(channels)))
        self.error_parts = channels
        # Errors of cosines are mostly noise; surprise uses them only if there are no log distances.
        logs = tuple(at for at, channel in enumerate(channels) if channel.startswith("log"))
        self.scored_parts = logs or tuple(range(len(channels)))

    @property
    def reader(self) -> Encoder:
        """The encoder."""
        return self.encoder

    def prepare(self, inputs: Source) -> None:
        """Set ``spread`` to each channel's standard deviation over images, (B, K, L, L).

        All channels then have the same weight in loss and surprise. Without this, channels that
        vary more, such as log distances, have more weight.
        """
        n = min(PREPARED, len(inputs))
        # Spread evenly over all windows, because neighbours may be similar.
        images = inputs.batch(np.arange(n) * len(inputs) // n)[0]
        deviation = images.float().transpose(0, 1).flatten(1).std(dim=1)
        self.spread.copy_(deviation.clamp(min=LEAST_SPREAD))

    def forward(self, images: Tensor, tau: Tensor, visible: Tensor, masked: Tensor) -> Tensor:
        """Return the scalar loss, error plus penalties, under (B, V) visible and (B, M) masked."""
        guessed, expected = self._guess(images, tau, visible, masked)
        total = self._errors(images, guessed, masked, expected).mean()
        total = total + ASYMMETRY_WEIGHT * self._asymmetry(guessed, masked)
        return total + DIAGONAL_WEIGHT * self._off_diagonal(guessed, masked)

    def _guess(
        self, images: Tensor, tau: Tensor, visible: Tensor, masked: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """Return (B, M, K*P*P) predicted pixels and (B, M, K, 1) log expected errors in spreads.

        The latter is None if the decoder does not predict errors.
        """
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
    def surprise_by_patch(self, images: Tensor, tau: Tensor) -> Tensor:
        """Return (B, S, M, K) errors under the fixed masks, by masked patch and channel."""

        def errors(images: Tensor, tau: Tensor, visible: Tensor, masked: Tensor) -> Tensor:
            guessed, expected = self._guess(images, tau, visible, masked)
            return self._errors(images, guessed, masked, expected).mean(dim=3)

        return under_each(errors, (images, tau), self.visible, self.masked)

    # ------------------------------------------------------------------ parts

    def _errors(
        self, images: Tensor, guessed: Tensor, masked: Tensor, expected: Tensor | None = None
    ) -> Tensor:
        """Return (B, M, K, P*P) errors of masked pixels, in spreads of their channel.

        Given ``expected``, the logarithms of expected errors, errors are divided by the expected
        errors and the logarithms are added.
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
        """Return the scalar mean squared difference of predictions and their mirror images."""
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
        """Return the scalar mean squared error on the diagonal: cosine 1 and log distance 0."""
        patch = self.encoder.patches.patch
        pixels = torch.unflatten(guessed, 2, (len(self.is_cosine), patch, patch))
        wanted = self.is_cosine.to(pixels.dtype).view(-1, 1)
        apart = (pixels.diagonal(dim1=3, dim2=4) - wanted).square().mean(dim=(2, 3))
        return self._mean_on_diagonal(apart, masked)

    def _mean_on_diagonal(self, values: Tensor, masked: Tensor) -> Tensor:
        """Return the mean of (B, M) values over patches on the diagonal; 0 if there are none."""
        on_diagonal = (self.encoder.patches.lags[masked] == 0).to(values.dtype)
        return (values * on_diagonal).sum() / on_diagonal.sum().clamp(min=1)
