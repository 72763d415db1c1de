"""Masked prediction: a teacher's tokens of masked patches, from what a student sees.

In: kernel images and scale tokens. Out: a loss to train the student with, a teacher that follows
it slowly, then each window's embedding and its surprise.
"""

import copy
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.swa_utils import get_ema_multi_avg_fn

from smkc.errors import SettingError
from smkc.paper.learn.attention import CrossDecoder, pick
from smkc.paper.learn.encoder import Encoder, EncoderConfig
from smkc.paper.learn.masks import Masking, under_each

__all__ = ["Prediction", "PredictionConfig"]


@dataclass(frozen=True, kw_only=True)
class PredictionConfig:
    """Settings of masked prediction; the defaults are the paper's where it gives any.

    Parameters
    ----------
    encoder, masking
        settings of both encoders and of masks.
    predictor_layers
        cross blocks of the predictor.
    class_weight
        what the class token's error counts for beside that of patches.
    first_momentum, last_momentum
        share of the teacher that is kept in the first step and in the last one.
    """

    encoder: EncoderConfig
    masking: Masking = field(default_factory=Masking)
    predictor_layers: int = 4
    class_weight: float = 0.25
    first_momentum: float = 0.996
    last_momentum: float = 0.9999

    def __post_init__(self) -> None:
        if not self.class_weight >= 0:
            raise SettingError(f"class_weight={self.class_weight!r} is negative; use 0 or more")
        if not 0 <= self.first_momentum <= self.last_momentum <= 1:
            raise SettingError(
                f"the teacher's momentum cannot go from {self.first_momentum!r} to "
                f"{self.last_momentum!r}; it rises, between 0 and 1: try 0.996 and 0.9999"
            )

    def momentum(self, step: int, total_steps: int) -> float:
        """Return the share of the teacher that step number ``step``, from 0 on, keeps.

        Examples
        --------
        >>> config = PredictionConfig(encoder=EncoderConfig(window=32))
        >>> [round(config.momentum(step, 11), 5) for step in (0, 5, 10)]
        [0.996, 0.99795, 0.9999]
        """
        done = min(max(step / max(total_steps - 1, 1), 0.0), 1.0)
        return self.first_momentum + (self.last_momentum - self.first_momentum) * done


class Prediction(nn.Module):
    """Student, teacher and predictor.

    The teacher begins as a copy of the student and is never trained: call :meth:`update_teacher`
    after each step of the optimiser. It sees whole windows, so embeddings are the teacher's.

    Parameters
    ----------
    config
        the settings.

    Notes
    -----
    Paper, section "Masked prediction objective". Targets are normalised token by token, without
    learned scale, as in Baevski et al., "data2vec", ICML 2022, section 3.3, and Assran et al.,
    "Self-supervised learning from images with a joint-embedding predictive architecture",
    CVPR 2023: errors cannot be lowered by making tokens small. The student's class token goes
    through a linear map of its own.
    """

    def __init__(self, config: PredictionConfig) -> None:
        super().__init__()
        self.config = config
        encoder = config.encoder
        self.student = Encoder(encoder)
        self.teacher = copy.deepcopy(self.student).requires_grad_(False)
        self.predictor = CrossDecoder(
            self.student.patches.side,
            config.predictor_layers,
            encoder.width,
            encoder.heads,
            encoder.expansion,
            encoder.backbone,
            encoder.lag_positions,
        )
        self.write = nn.Linear(encoder.width, encoder.width)
        self.write_class = nn.Linear(encoder.width, encoder.width)

    def loss(self, images: Tensor, tau: Tensor, generator: torch.Generator) -> Tensor:
        """Scalar: the loss under masks drawn anew."""
        drawn = self.config.masking.draw(self.student.patches, len(images), generator)
        total: Tensor = self(images, tau, *drawn)
        return total

    def forward(self, images: Tensor, tau: Tensor, visible: Tensor, masked: Tensor) -> Tensor:
        """Scalar: the mean error under (B, V) visible and (B, M) masked tokens."""
        return self._errors(images, tau, *self.targets(images, tau), visible, masked).mean()

    @torch.no_grad()
    def targets(self, images: Tensor, tau: Tensor) -> tuple[Tensor, Tensor]:
        """(B, D) and (B, T, D) float32: the teacher's class token and tokens, normalised."""
        class_token, tokens = self.teacher(images, tau)
        return _normalised(class_token), _normalised(tokens)

    @torch.no_grad()
    def update_teacher(self, step: int, total_steps: int) -> None:
        """Move the teacher towards the student, after step ``step`` (from 0) of the optimiser."""
        momentum = self.config.momentum(step, total_steps)
        mix = get_ema_multi_avg_fn(momentum)  # type: ignore[no-untyped-call]
        mix(list(self.teacher.parameters()), list(self.student.parameters()), step)

    @torch.no_grad()
    def embed(self, images: Tensor, tau: Tensor) -> Tensor:
        """(B, D) float32 the teacher's class token of each whole window, of length 1."""
        return functional.normalize(self.teacher(images, tau)[0].float(), dim=1)

    @torch.no_grad()
    def surprise(self, images: Tensor, tau: Tensor, visible: Tensor, masked: Tensor) -> Tensor:
        """(B, S) error under each of S masks, (S, V) visible and (S, M) masked tokens."""
        targets = self.targets(images, tau)
        return under_each(self._errors, (images, tau, *targets), visible, masked)

    @torch.no_grad()
    def surprise_by_patch(
        self, images: Tensor, tau: Tensor, visible: Tensor, masked: Tensor
    ) -> Tensor:
        """(B, S, M, 1) the error of each masked patch; that of the class token is left out."""

        def errors(*inputs: Tensor) -> Tensor:
            return self._apart(*inputs)[0].unsqueeze(2)

        targets = self.targets(images, tau)
        return under_each(errors, (images, tau, *targets), visible, masked)

    def _errors(
        self,
        images: Tensor,
        tau: Tensor,
        wanted_class: Tensor,
        wanted: Tensor,
        visible: Tensor,
        masked: Tensor,
    ) -> Tensor:
        """(B,) each window's error: masked tokens, and the class token at its weight."""
        apart, apart_class = self._apart(images, tau, wanted_class, wanted, visible, masked)
        return apart.mean(dim=1) + self.config.class_weight * apart_class

    def _apart(
        self,
        images: Tensor,
        tau: Tensor,
        wanted_class: Tensor,
        wanted: Tensor,
        visible: Tensor,
        masked: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """(B, M) errors of masked tokens and (B,) of the class token."""
        memory = self.student.encode(images, tau, visible)
        guessed = self.write(self.predictor(self.student.patches, memory, masked)).float()
        guessed_class = self.write_class(memory[:, 0]).float()
        apart = functional.smooth_l1_loss(guessed, pick(wanted, masked), reduction="none")
        apart_class = functional.smooth_l1_loss(guessed_class, wanted_class, reduction="none")
        return apart.mean(dim=2), apart_class.mean(dim=1)


def _normalised(tokens: Tensor) -> Tensor:
    return functional.layer_norm(tokens.float(), tokens.shape[-1:])
