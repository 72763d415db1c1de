"""Objectives: reconstruction and prediction as networks that the training loop can train.

In: batches of kernel images and scale tokens. Out: losses under masks drawn anew; then summaries of
windows, and errors of their patches under masks that are fixed.
"""

from abc import abstractmethod

import torch
from torch import Tensor

from smkc.paper.learn.encoder import Encoder
from smkc.paper.learn.masks import Masking
from smkc.paper.learn.network import Batch, Network
from smkc.paper.learn.patches import Patches
from smkc.paper.learn.prediction import Prediction, PredictionConfig
from smkc.paper.learn.reconstruction import Reconstruction, ReconstructionConfig

__all__ = ["Objective", "PredictionObjective", "ReconstructionObjective"]


class Objective(Network):
    """A masked model of kernel images, with the masks that windows are scored under.

    Parameters
    ----------
    model
        reconstruction or prediction.
    patches, masking
        of the model.
    n_masks
        S, how many masks windows are scored under.
    respects
        in what respects a token's error is measured, by name.
    telling
        the numbers of those whose errors make the surprise.
    """

    is_steady = True

    model: Reconstruction | Prediction
    visible: Tensor
    masked: Tensor
    times_masked: Tensor

    def __init__(
        self,
        model: Reconstruction | Prediction,
        patches: Patches,
        masking: Masking,
        n_masks: int,
        respects: tuple[str, ...],
        telling: tuple[int, ...],
    ) -> None:
        super().__init__()
        self.model = model
        visible, masked = masking.fixed(patches, n_masks)
        self.register_buffer("visible", visible, persistent=False)
        self.register_buffer("masked", masked, persistent=False)
        self.n_tokens = patches.n_tokens
        self.respects, self.telling = respects, telling
        times_masked = torch.bincount(masked.flatten(), minlength=patches.n_tokens)
        self.register_buffer("times_masked", times_masked, persistent=False)

    @property
    @abstractmethod
    def reader(self) -> Encoder:
        """The encoder that sees whole windows."""

    def extra_repr(self) -> str:
        """Return the settings, which a checkpoint is known by."""
        return repr(self.model.config)

    def compile_parts(self) -> None:
        """Compile the model's forward pass under masks."""
        self.model.compile(dynamic=False)

    def loss(self, batch: Batch, epoch: int, phase: int = 0) -> Tensor:
        """Scalar: the loss under masks from torch's own random numbers."""
        pixels, tau = batch
        return self.model.loss(pixels, tau, _own_generator(pixels.device))

    def embeddings(self, batch: Batch) -> Tensor:
        """(B, D) unit vectors: the class token of each whole window."""
        return self.model.embed(*batch)

    def summaries(self, batch: Batch) -> Tensor:
        """(B, D) float32: the mean of all patches' tokens of each whole window."""
        tokens: Tensor = self.reader(*batch)[1]
        return tokens.float().mean(dim=1)

    def surprises(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """(B, T, R) error of each token in R respects, and (B, S) that under each fixed mask.

        A token's error is the mean over the masks that hide it, 0 if none does.
        """
        pixels, tau = batch
        found = self.model.surprise_by_patch(pixels, tau, self.visible, self.masked).float()
        n_windows, _, _, n_respects = found.shape
        places = self.masked.flatten().view(1, -1, 1).expand(n_windows, -1, n_respects)
        total = found.new_zeros(n_windows, self.n_tokens, n_respects)
        total = total.scatter_add(1, places, found.flatten(1, 2))
        return total / self.times_masked.clamp(min=1).view(-1, 1), found.mean(dim=(2, 3))

    def errors(self, batch: Batch) -> Tensor:
        """(B,) the mean error over the fixed masks."""
        return self.surprises(batch)[1].mean(dim=1)


class ReconstructionObjective(Objective):
    """Masked reconstruction; it stops when held-out windows are reconstructed no better.

    Parameters
    ----------
    config
        the model's settings.
    n_masks
        S, masks a score.
    """

    model: Reconstruction

    def __init__(self, config: ReconstructionConfig, n_masks: int) -> None:
        model = Reconstruction(config)
        channels = config.encoder.channels
        # Cosines' errors are mostly noise; they make the surprise only where there is nothing else.
        logs = tuple(at for at, channel in enumerate(channels) if channel.startswith("log"))
        telling = logs or tuple(range(len(channels)))
        patches = model.encoder.patches
        super().__init__(model, patches, config.masking, n_masks, channels, telling)

    @property
    def reader(self) -> Encoder:
        """The encoder."""
        return self.model.encoder

    def prepare(self, inputs: Batch) -> None:
        """Let every channel count alike."""
        self.model.balance(inputs[0])


class PredictionObjective(Objective):
    """Masked prediction; trained to the last epoch.

    The teacher moves, so losses of two epochs are of different tasks: the least one is early, when
    there is little to predict.

    Parameters
    ----------
    config
        the model's settings.
    n_masks
        S, masks a score.
    """

    keeps_last = True
    model: Prediction

    def __init__(self, config: PredictionConfig, n_masks: int) -> None:
        model = Prediction(config)
        patches = model.student.patches
        super().__init__(model, patches, config.masking, n_masks, ("token",), (0,))

    @property
    def reader(self) -> Encoder:
        """The teacher."""
        return self.model.teacher

    def phase_parameters(self, phase: int) -> list[torch.nn.Parameter]:
        """Return all but the teacher's."""
        return [parameter for parameter in self.parameters() if parameter.requires_grad]

    def stepped(self, step: int, total_steps: int) -> None:
        """Let the teacher follow."""
        self.model.update_teacher(step, total_steps)


def _own_generator(device: torch.device) -> torch.Generator:
    """Return the generator that torch itself draws from: the training loop seeds and saves it."""
    if device.type == "cuda":
        index = torch.cuda.current_device() if device.index is None else device.index
        own: torch.Generator = torch.cuda.default_generators[index]
        return own
    return torch.default_generator
