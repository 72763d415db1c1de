"""What the training loop knows: settings, what a network offers it, where its inputs come from.

In: nothing yet. Out: the classes that the loop, the networks and their users share.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from smkc.errors import SettingError

__all__ = ["SCHEDULES", "Batch", "Network", "Source", "Training", "TrainingLog"]

Batch = tuple[Tensor, ...]

SCHEDULES = ("constant", "cosine")

# Share of the steps in which a cosine schedule's rate rises: MAE's 40 of 800 epochs.
WARM_UP = 0.05


@runtime_checkable
class Source(Protocol):
    """Inputs that are made batch by batch, for when all of them would not fit into memory."""

    def __len__(self) -> int:
        """How many windows there are."""
        ...

    def batch(self, rows: NDArray[np.int64]) -> Batch:
        """Return tensors whose first axis counts the windows ``rows``."""
        ...

    def digest(self) -> str:
        """Return a digest of what the windows are made of: it tells one source from another."""
        ...


@dataclass(frozen=True, kw_only=True)
class Training:
    """How a network is trained; one set of values for all of them.

    Parameters
    ----------
    epochs
        passes over the training windows, at most.
    patience
        epochs without a lower validation loss after which training stops.
    batch_size
        windows per step; halved where memory runs out.
    learning_rate, weight_decay
        of AdamW.
    schedule
        ``constant``, or ``cosine``: the rate rises in the first steps and falls to 0 by the last.
    device
        where to, as torch names it: ``cpu``, ``cuda``, ``cuda:1``.
    seed
        of first weights, order of windows, dropout and masks.
    checkpoint
        a file that holds the state after the latest epochs, and that training goes on from if it
        is there; none is written without it.
    checkpoint_seconds
        how long to train, at least, from one writing of it to the next.
    bf16
        whether the forward pass of training computes in bfloat16 on a GPU; recurrent layers do not.
    compiled
        whether networks that can be are compiled on a GPU: it pays in long trainings.
    """

    epochs: int = 60
    patience: int = 8
    batch_size: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    schedule: str = "constant"
    device: str = "cpu"
    seed: int = 0
    checkpoint: Path | None = None
    checkpoint_seconds: float = 20.0
    bf16: bool = True
    compiled: bool = False

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
        """Return the device, once it is known to be there."""
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
        """Return the learning rate once a share ``done`` of all steps has been taken.

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
    """What happened: epochs run, the mean losses of each, the one kept, and the time it took.

    ``ranks`` are the effective ranks of embeddings after each epoch, for networks that have any.
    """

    epochs: int
    best_epoch: int
    train_losses: tuple[float, ...]
    validation_losses: tuple[float, ...]
    seconds: float
    ranks: tuple[float, ...] = ()


class Network(nn.Module, ABC):
    """A network that says its own loss and how anomalous a window is.

    A batch is a tuple of tensors whose first axis counts windows. A setting that no weight's shape
    shows belongs into ``extra_repr``: a checkpoint is told from another network's by it.
    """

    # Losses that are stepped one after the other in each batch, each with an AdamW of its own.
    n_phases = 1

    # Whether the last epoch is kept and none is left out, rather than the one of least validation
    # loss: for losses that are not comparable between epochs.
    keeps_last = False

    # Whether a step does the same on the device in every epoch, so that a GPU may replay it.
    is_steady = False

    def prepare(self, inputs: Batch) -> None:
        """Take from the training inputs what must be known before training, such as a scale.

        It belongs into a buffer, so that it is saved with the weights. By default: nothing. Inputs
        that are made batch by batch are shown in part.
        """

    def phase_parameters(self, phase: int) -> list[nn.Parameter]:
        """Return the parameters that a phase changes: all of them by default."""
        return list(self.parameters())

    @abstractmethod
    def loss(self, batch: Batch, epoch: int, phase: int = 0) -> Tensor:
        """Scalar: the loss that a phase minimises, a mean over windows; epochs count from 1."""

    def stepped(self, step: int, total_steps: int) -> None:
        """Do what must follow each batch, such as moving a teacher; steps count from 0.

        By default: nothing. A network that reads ``total_steps`` sets ``keeps_last``: it is
        another one if training is made longer.
        """

    def compile_parts(self) -> None:
        """Compile what is worth it, for a GPU. By default: nothing."""

    def validation_loss(self, batch: Batch, epoch: int) -> Tensor:
        """Scalar: what early stopping watches, in evaluation mode.

        By default the loss, summed over phases. A network whose loss changes its meaning from
        epoch to epoch gives another that does not.
        """
        total = self.loss(batch, epoch, 0)
        for phase in range(1, self.n_phases):
            total = total + self.loss(batch, epoch, phase)
        return total

    def embeddings(self, batch: Batch) -> Tensor | None:
        """(B, D) embeddings that must not collapse; None, by default, if there are none."""
        return None

    @abstractmethod
    def errors(self, batch: Batch) -> Tensor:
        """(B,) the score of each window, in evaluation mode."""
