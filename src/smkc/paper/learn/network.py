"""Interfaces of the training loop: its settings, its log, networks and sources of inputs.

The classes here are shared by the loop, the networks and their users.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from smkc.errors import SettingError

Batch = tuple[Tensor, ...]

SCHEDULES = ("constant", "cosine")

# Share of the steps during which a cosine schedule's rate rises: 40 of 800 epochs, as in MAE.
WARM_UP = 0.05


class Source(Protocol):
    """Inputs of a network, batch by batch, because all of them might not fit into memory."""

    def __len__(self) -> int:
        """Return the number of windows."""
        ...

    def batch(self, rows: NDArray[np.int64]) -> Batch:
        """Return the tensors of the windows ``rows``; windows are the first axis."""
        ...


def on_device(source: Source, rows: Tensor, device: torch.device) -> Batch:
    """Return the tensors of the windows ``rows`` of a source, on the device."""
    return tuple(tensor.to(device) for tensor in source.batch(rows.numpy()))


@dataclass(frozen=True, kw_only=True)
class Training:
    """Settings of training, the same for all networks.

    Parameters
    ----------
    epochs
        largest number of passes over the training windows.
    patience
        epochs without a lower validation loss after which training stops.
    batch_size
        windows per step; halved if memory runs out.
    learning_rate, weight_decay
        parameters of AdamW.
    schedule
        ``constant``, or ``cosine``: the rate rises in the first steps and falls to 0 by the last.
    device
        torch device: ``cpu``, ``cuda``, ``cuda:1``.
    seed
        seed of initial weights, order of windows, dropout and masks.
    bf16
        whether training computes its forward pass in bfloat16 on a GPU; networks with recurrent
        layers do not.
    """

    epochs: int = 60
    patience: int = 8
    batch_size: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    schedule: str = "constant"
    device: str = "cpu"
    seed: int = 0
    bf16: bool = True

    def __post_init__(self) -> None:
        for name in ("epochs", "patience", "batch_size"):
            if getattr(self, name) < 1:
                raise SettingError(f"{name}={getattr(self, name)!r}: give a whole number from 1 on")
        if not (self.learning_rate > 0 and self.weight_decay >= 0 and self.seed >= 0):
            raise SettingError(
                f"learning_rate={self.learning_rate!r}, weight_decay={self.weight_decay!r}, "
                f"seed={self.seed!r}: give a positive rate, and neither of the others below 0"
            )
        if self.schedule not in SCHEDULES:
            raise SettingError(f"schedule={self.schedule!r} is not known; use one of {SCHEDULES}")

    def where(self) -> torch.device:
        """Return the device; raise SettingError if it is unknown or unavailable."""
        try:
            device = torch.device(self.device)
        except RuntimeError as error:
            raise SettingError(f"device={self.device!r}: {error}; give cpu or cuda") from None
        if device.type not in ("cpu", "cuda"):
            raise SettingError(f"device={self.device!r} is not supported; give cpu or cuda")
        if device.type == "cuda" and not torch.cuda.is_available():
            raise SettingError(
                f"device={self.device!r}, but torch finds no GPU here; give cpu, or install a "
                "build of torch for the GPU"
            )
        return device

    def rate(self, done: float) -> float:
        """Return the learning rate after a share ``done`` of all steps.

        Notes
        -----
        Loshchilov and Hutter, "SGDR", ICLR 2017, equation 5, without restarts.

        Examples
        --------
        >>> cosine = Training(schedule="cosine", learning_rate=1.0)
        >>> [round(cosine.rate(done), 3) for done in (0.01, 0.05, 0.525, 1.0)]
        [0.2, 1.0, 0.5, 0.0]
        """
        if self.schedule == "constant":
            return self.learning_rate
        rising = min(done / WARM_UP, 1.0)
        falling = max(done - WARM_UP, 0.0) / (1 - WARM_UP)
        return self.learning_rate * rising * 0.5 * (1 + math.cos(math.pi * falling))


@dataclass(frozen=True, kw_only=True)
class TrainingLog:
    """Log of a training: epochs run, the epoch kept, and mean losses per epoch."""

    epochs: int
    best_epoch: int
    train_losses: tuple[float, ...]
    validation_losses: tuple[float, ...]


class Network(nn.Module, ABC):
    """A network that computes its own loss and each window's score.

    A batch is a tuple of tensors whose first axis is windows.
    """

    # Number of losses, minimised one after the other in each batch, each by its own AdamW.
    n_phases = 1

    # Whether training runs all epochs and keeps the last one, instead of stopping early and keeping
    # the one with the lowest validation loss: for losses that cannot be compared between epochs.
    keeps_last = False

    # Whether a step launches the same operations in every epoch, so that a GPU can replay it.
    is_steady = False

    def prepare(self, inputs: Source) -> None:
        """Derive values needed before training, such as a scale, from the training inputs.

        Store them in a buffer, so that they are saved with the weights. The default does nothing.
        """

    def phase_parameters(self, phase: int) -> list[nn.Parameter]:
        """Return the parameters that a phase optimises; by default all."""
        return list(self.parameters())

    @abstractmethod
    def loss(self, batch: Batch, epoch: int, phase: int = 0) -> Tensor:
        """Return the scalar loss of a phase, a mean over windows; epochs count from 1."""

    def stepped(self, step: int, total_steps: int) -> None:
        """Run after each batch, for example to update a teacher; steps count from 0.

        The default does nothing. A network that uses ``total_steps`` must set ``keeps_last``,
        because its weights then depend on the length of the training.
        """

    def validation_loss(self, batch: Batch, epoch: int) -> Tensor:
        """Return the scalar loss that early stopping uses, in evaluation mode.

        By default this is the loss, summed over phases. A network whose loss changes its meaning
        between epochs must return one that does not.
        """
        total = self.loss(batch, epoch, 0)
        for phase in range(1, self.n_phases):
            total = total + self.loss(batch, epoch, phase)
        return total

    def embeddings(self, batch: Batch) -> Tensor | None:
        """Return (B, D) embeddings, checked for collapse if ``keeps_last``; None for no check."""
        return None

    @abstractmethod
    def errors(self, batch: Batch) -> Tensor:
        """Return (B,) scores of windows, in evaluation mode."""
