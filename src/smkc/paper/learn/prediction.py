"""Masked prediction: predict a teacher's tokens of masked patches from the visible patches.

In: kernel images and scale tokens. Out: a loss to train the student, a teacher that is a moving
average of it, then each window's embedding and surprise.
"""

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.swa_utils import get_ema_multi_avg_fn

from smkc.paper.learn.attention import CrossDecoder, pick
from smkc.paper.learn.encoder import Encoder
from smkc.paper.learn.masks import under_each
from smkc.paper.learn.objective import Objective
from smkc.paper.learn.settings import LearnSettings

# The paper's weight of the class token's error relative to that of patches, and its share of the
# teacher that is kept in the first step and in the last one.
CLASS_WEIGHT = 0.25
FIRST_MOMENTUM, LAST_MOMENTUM = 0.996, 0.9999


class Prediction(Objective):
    """Student, teacher and predictor.

    The teacher starts as a copy of the student and is not trained by gradients: it follows the
    student after each step of the optimiser. It sees whole windows, so embeddings are the
    teacher's. Training runs to the last epoch: the teacher changes, so the losses of two epochs
    belong to different tasks, and the lowest occurs early, when there is little to predict.

    Notes
    -----
    Paper, section "Masked prediction objective". Targets are normalised token by token, without
    learned scale, as in Baevski et al., "data2vec", ICML 2022, section 3.3, and Assran et al.,
    "Self-supervised learning from images with a joint-embedding predictive architecture",
    CVPR 2023, so that small tokens do not lower the error. The student's class token has its own
    linear map.
    """

    keeps_last = True

    def __init__(self, settings: LearnSettings, window: int) -> None:
        super().__init__(settings, window)
        self.student = Encoder(settings, window)
        self.teacher = copy.deepcopy(self.student).requires_grad_(False)
        side = self.student.patches.side
        self.predictor = CrossDecoder(settings, side, settings.predictor_layers)
        self.write = nn.Linear(settings.width, settings.width)
        self.write_class = nn.Linear(settings.width, settings.width)

    @property
    def reader(self) -> Encoder:
        """The teacher."""
        return self.teacher

    def phase_parameters(self, phase: int) -> list[nn.Parameter]:
        """Return all parameters except the teacher's."""
        return [parameter for parameter in self.parameters() if parameter.requires_grad]

    def forward(self, images: Tensor, tau: Tensor, visible: Tensor, masked: Tensor) -> Tensor:
        """Return the scalar mean error under (B, V) visible and (B, M) masked tokens."""
        targets = self.targets(images, tau)
        apart, apart_class = self._apart(images, tau, *targets, visible, masked)
        return (apart.mean(dim=1) + CLASS_WEIGHT * apart_class).mean()

    @torch.no_grad()
    def targets(self, images: Tensor, tau: Tensor) -> tuple[Tensor, Tensor]:
        """Return the teacher's normalised class tokens (B, D) and tokens (B, T, D), float32."""
        class_token, tokens = self.teacher(images, tau)
        return _normalised(class_token), _normalised(tokens)

    @torch.no_grad()
    def stepped(self, step: int, total_steps: int) -> None:
        """Move the teacher towards the student, after step ``step`` (from 0) of the optimiser."""
        mix = get_ema_multi_avg_fn(momentum(step, total_steps))  # type: ignore[no-untyped-call]
        mix(list(self.teacher.parameters()), list(self.student.parameters()), step)

    @torch.no_grad()
    def surprise_by_patch(self, images: Tensor, tau: Tensor) -> Tensor:
        """Return (B, S, M, 1) errors of masked patches, without that of the class token."""

        def errors(*inputs: Tensor) -> Tensor:
            return self._apart(*inputs)[0].unsqueeze(2)

        targets = self.targets(images, tau)
        return under_each(errors, (images, tau, *targets), self.visible, self.masked)

    def _apart(
        self,
        images: Tensor,
        tau: Tensor,
        wanted_class: Tensor,
        wanted: Tensor,
        visible: Tensor,
        masked: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Return (B, M) errors of masked tokens and (B,) errors of the class token."""
        memory = self.student.encode(images, tau, visible)
        guessed = self.write(self.predictor(self.student.patches, memory, masked)).float()
        guessed_class = self.write_class(memory[:, 0]).float()
        apart = functional.smooth_l1_loss(guessed, pick(wanted, masked), reduction="none")
        apart_class = functional.smooth_l1_loss(guessed_class, wanted_class, reduction="none")
        return apart.mean(dim=2), apart_class.mean(dim=1)


def momentum(step: int, total_steps: int) -> float:
    """Return the share of the teacher that is kept in step ``step``, counted from 0.

    Examples
    --------
    >>> [round(momentum(step, 11), 5) for step in (0, 5, 10)]
    [0.996, 0.99795, 0.9999]
    """
    done = min(max(step / max(total_steps - 1, 1), 0.0), 1.0)
    return FIRST_MOMENTUM + (LAST_MOMENTUM - FIRST_MOMENTUM) * done


def _normalised(tokens: Tensor) -> Tensor:
    return functional.layer_norm(tokens.float(), tokens.shape[-1:])
