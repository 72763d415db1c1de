"""Objective: what reconstruction and prediction have in common as networks to train.

In: batches of kernel images and scale tokens. Out: losses under random masks for training; then
summaries of windows, and errors of their patches under fixed masks.
"""

from abc import abstractmethod

import torch
from torch import Tensor
from torch.nn import functional

from smkc.paper.learn.encoder import Encoder
from smkc.paper.learn.network import Batch, Network
from smkc.paper.learn.patches import Patches
from smkc.paper.learn.settings import LearnSettings


class Objective(Network):
    """A masked model of kernel images, with the fixed masks for scoring windows.

    Its ``forward`` returns the scalar loss of images (B, K, L, L) and scale tokens (B,) under
    visible (B, V) and masked (B, M) tokens.

    Attributes
    ----------
    error_parts
        names of the R parts into which a token's error is divided, such as channels.
    scored_parts
        indices of those parts whose errors make the surprise.
    """

    is_steady = True
    error_parts: tuple[str, ...] = ("token",)
    scored_parts: tuple[int, ...] = (0,)

    visible: Tensor
    masked: Tensor
    times_masked: Tensor

    def __init__(self, settings: LearnSettings, window: int) -> None:
        super().__init__()
        self.settings = settings
        patches = Patches(window, settings.patch_of(window), settings.tokens)
        self.n_tokens = patches.n_tokens
        visible, masked = settings.masking.fixed(patches, settings.n_masks)
        times_masked = torch.bincount(masked.flatten(), minlength=self.n_tokens)
        self.register_buffer("visible", visible, persistent=False)
        self.register_buffer("masked", masked, persistent=False)
        self.register_buffer("times_masked", times_masked, persistent=False)

    @property
    @abstractmethod
    def reader(self) -> Encoder:
        """The encoder that is applied to whole windows."""

    @abstractmethod
    def surprise_by_patch(self, images: Tensor, tau: Tensor) -> Tensor:
        """Return (B, S, M, R) errors under the S fixed masks, by masked patch and part."""

    def loss(self, batch: Batch, epoch: int, phase: int = 0) -> Tensor:
        """Return the scalar loss under masks drawn from torch's default generator."""
        images, tau = batch
        generator = _own_generator(images.device)
        drawn = self.settings.masking.draw(self.reader.patches, len(images), generator)
        total: Tensor = self(images, tau, *drawn)
        return total

    @torch.no_grad()
    def embeddings(self, batch: Batch) -> Tensor:
        """Return (B, D) float32 unit vectors: the class token of each whole window."""
        return functional.normalize(self.reader(*batch)[0].float(), dim=1)

    def summaries(self, batch: Batch) -> Tensor:
        """Return (B, D) float32 means of all patches' tokens of each whole window."""
        tokens: Tensor = self.reader(*batch)[1]
        return tokens.float().mean(dim=1)

    def surprises(self, batch: Batch) -> Tensor:
        """Return (B, T, R) errors of each token and part: the mean over the masks that hide it.

        It is 0 for tokens that no mask hides.
        """
        found = self.surprise_by_patch(*batch).float()
        n_windows, _, _, n_parts = found.shape
        places = self.masked.flatten().view(1, -1, 1).expand(n_windows, -1, n_parts)
        total = found.new_zeros(n_windows, self.n_tokens, n_parts)
        total = total.scatter_add(1, places, found.flatten(1, 2))
        return total / self.times_masked.clamp(min=1).view(-1, 1)

    def errors(self, batch: Batch) -> Tensor:
        """Return (B,) mean errors over the fixed masks."""
        return self.surprise_by_patch(*batch).float().mean(dim=(2, 3)).mean(dim=1)


def _own_generator(device: torch.device) -> torch.Generator:
    """Return torch's default generator of a device, which the training loop seeds."""
    if device.type == "cuda":
        index = torch.cuda.current_device() if device.index is None else device.index
        own: torch.Generator = torch.cuda.default_generators[index]
        return own
    return torch.default_generator
