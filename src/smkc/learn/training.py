"""The one training loop that all networks share.

In: a network, its inputs for training and for validation, settings. Out: the network with the
weights of its best epoch, and what happened on the way; then one error a window.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from smkc import progress
from smkc.errors import InputError, SettingError
from smkc.learn import checkpoint

__all__ = ["Network", "Training", "TrainingLog", "errors", "seeded", "train"]

Batch = tuple[Tensor, ...]

# Gradients longer than this are shortened to it: the usual guard of recurrent networks.
MAX_GRADIENT_NORM = 1.0

# Windows are scored in batches of this size exactly, the last one filled up with repeats: a
# product of matrices may round differently when it has fewer rows.
SCORED_TOGETHER = 128

# Each use of a seed has a stream of random numbers of its own.
INITIAL_WEIGHTS, ORDER, CHANCE, VALIDATION = range(4)


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
        windows a step.
    learning_rate, weight_decay
        of AdamW.
    device
        where to, as torch names it: ``cpu``, ``cuda``, ``cuda:1``.
    seed
        of first weights, order of windows, dropout and masks.
    checkpoint
        a file that holds the state after the latest epochs, and that training goes on from if it
        is there; none is written without it.
    checkpoint_seconds
        how long to train, at least, from one writing of it to the next.
    """

    epochs: int = 60
    patience: int = 8
    batch_size: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    device: str = "cpu"
    seed: int = 0
    checkpoint: Path | None = None
    checkpoint_seconds: float = 20.0

    def __post_init__(self) -> None:
        for name in ("epochs", "patience", "batch_size"):
            if getattr(self, name) < 1:
                raise SettingError(f"{name}={getattr(self, name)!r}: give a whole number from 1 on")
        if not (self.learning_rate > 0 and self.weight_decay >= 0 and self.seed >= 0):
            raise SettingError(
                f"learning_rate={self.learning_rate!r}, weight_decay={self.weight_decay!r}, "
                f"seed={self.seed!r}: give a positive rate, and neither of the others below 0"
            )

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


@dataclass(frozen=True, kw_only=True)
class TrainingLog:
    """What happened: epochs run, the mean losses of each, the one kept, and the time it took."""

    epochs: int
    best_epoch: int
    train_losses: tuple[float, ...]
    validation_losses: tuple[float, ...]
    seconds: float


class Network(nn.Module, ABC):
    """A network that says its own loss and how anomalous a window is.

    A batch is a tuple of tensors whose first axis counts windows. A setting that no weight's shape
    shows belongs into ``extra_repr``: a checkpoint is told from another network's by it.
    """

    # Losses that are stepped one after the other in each batch, each with an AdamW of its own.
    n_phases = 1

    def prepare(self, inputs: Batch) -> None:
        """Take from the training inputs what must be known before training, such as a scale.

        It belongs into a buffer, so that it is saved with the weights. By default: nothing.
        """

    def phase_parameters(self, phase: int) -> list[nn.Parameter]:
        """Return the parameters that a phase changes: all of them by default."""
        return list(self.parameters())

    @abstractmethod
    def loss(self, batch: Batch, epoch: int, phase: int = 0) -> Tensor:
        """Scalar: the loss that a phase minimises, a mean over windows; epochs count from 1."""

    def validation_loss(self, batch: Batch, epoch: int) -> Tensor:
        """Scalar: what early stopping watches, in evaluation mode.

        By default the loss, summed over phases. A network whose loss changes its meaning from
        epoch to epoch gives another that does not.
        """
        total = self.loss(batch, epoch, 0)
        for phase in range(1, self.n_phases):
            total = total + self.loss(batch, epoch, phase)
        return total

    @abstractmethod
    def errors(self, batch: Batch) -> Tensor:
        """(B,) the score of each window, in evaluation mode."""


def train(network: Network, inputs: Batch, validation: Batch, training: Training) -> TrainingLog:
    """Train a network until its validation loss falls no more; leave it with its best weights.

    Parameters
    ----------
    network
        as initialised; it is moved to the device.
    inputs, validation
        tensors whose first axis counts windows; they are held on the device as a whole.
    training
        the settings.

    Notes
    -----
    On the CPU the result is the same to the bit, whatever the number of threads and however often
    training was stopped and taken up again: it runs on one thread, and several fits at a time run
    as processes. On a GPU the forward pass of training computes in bfloat16, that of
    networks with recurrent layers in float32.
    """
    if not len(inputs[0]) or not len(validation[0]):
        raise InputError(
            f"{len(inputs[0])} windows to train on and {len(validation[0])} to validate by: "
            "give at least one of each"
        )
    device = training.where()
    with _exactly(), seeded(training.seed, CHANCE, device):
        network.to(device)
        run = _Run(network, _moved(inputs, device), _moved(validation, device), training)
        run.resume()
        name = f"training {type(network).__name__}"
        with progress.task(name, training.epochs) as advance:
            advance(run.epoch)
            while run.is_unfinished:
                run.one_epoch()
                run.save()
                advance(1)
        network.load_state_dict(run.best)
        network.eval()
        return run.log()


def errors(network: Network, inputs: Batch, training: Training) -> NDArray[np.float64]:
    """(B,) the score of each window, computed in float32, a fixed number at a time."""
    device = training.where()
    n_windows = len(inputs[0])
    scores = np.empty(n_windows)
    network.to(device).eval()
    with _exactly(), torch.inference_mode():
        for first in range(0, n_windows, SCORED_TOGETHER):
            part = slice(first, min(first + SCORED_TOGETHER, n_windows))
            # Cyclic: the windows that are there, again and again, until the batch is full.
            rows = first + torch.arange(SCORED_TOGETHER) % (part.stop - first)
            batch = _moved(tuple(tensor[rows] for tensor in inputs), device)
            found = network.errors(batch)[: part.stop - first]
            scores[part] = found.double().cpu().numpy()
    return scores


@contextmanager
def seeded(seed: int, stream: int, device: torch.device | None = None) -> Iterator[None]:
    """Draw torch's random numbers from a seed's stream inside this block, and as before after it.

    Examples
    --------
    >>> with seeded(0, INITIAL_WEIGHTS):
    ...     first = torch.rand(3)
    >>> with seeded(0, INITIAL_WEIGHTS):
    ...     bool((torch.rand(3) == first).all())
    True
    """
    gpus = [device] if device is not None and device.type == "cuda" else []
    with torch.random.fork_rng(devices=gpus, device_type="cuda"):
        torch.manual_seed(_number(seed, stream))
        yield


@dataclass
class _Run:
    """One training under way: everything that changes from epoch to epoch."""

    network: Network
    inputs: Batch
    validation: Batch
    training: Training
    epoch: int = 0
    since_best: int = 0
    train_losses: list[float] = field(default_factory=list)
    validation_losses: list[float] = field(default_factory=list)
    seconds: float = 0.0
    saved_at: float = 0.0

    def __post_init__(self) -> None:
        network, training = self.network, self.training
        network.prepare(self.inputs)
        self.device = self.inputs[0].device
        # Recurrent layers compute in float16 there, in which the gradients of small errors vanish.
        is_recurrent = any(isinstance(layer, nn.RNNBase) for layer in network.modules())
        self.is_low = self.device.type == "cuda" and not is_recurrent
        self.phases = [network.phase_parameters(phase) for phase in range(network.n_phases)]
        self.optimizers = [
            torch.optim.AdamW(
                parameters,
                lr=training.learning_rate,
                weight_decay=training.weight_decay,
                fused=True,
            )
            for parameters in self.phases
        ]
        self.order = torch.Generator().manual_seed(_number(training.seed, ORDER))
        self.best = _copied(network.state_dict())
        self.identity = (
            checkpoint.identity(network, self.inputs, self.validation, training)
            if training.checkpoint is not None
            else {}
        )

    @property
    def is_unfinished(self) -> bool:
        return self.epoch < self.training.epochs and self.since_best < self.training.patience

    def one_epoch(self) -> None:
        started = time.perf_counter()
        self.epoch += 1
        loss, held_out = self._stepped(), self._held_out()
        if not (math.isfinite(loss) and math.isfinite(held_out)):
            raise SettingError(
                f"{type(self.network).__name__}: the losses of epoch {self.epoch} are {loss} in "
                f"training and {held_out} in validation; lower the learning rate, now "
                f"{self.training.learning_rate}, and see that all windows are finite"
            )
        if held_out < min(self.validation_losses, default=math.inf):
            self.best, self.since_best = _copied(self.network.state_dict()), 0
        else:
            self.since_best += 1
        self.train_losses.append(loss)
        self.validation_losses.append(held_out)
        self.seconds += time.perf_counter() - started

    def _stepped(self) -> float:
        """Take a step for every batch and phase; return the mean loss, summed over phases."""
        network, epoch = self.network.train(), self.epoch
        n_windows = len(self.inputs[0])
        order = torch.randperm(n_windows, generator=self.order).to(self.device)
        phases = list(enumerate(zip(self.optimizers, self.phases, strict=True)))
        low = torch.autocast("cuda", torch.bfloat16, enabled=self.is_low)
        total = torch.zeros((), dtype=torch.float64, device=self.device)
        for rows in torch.split(order, self.training.batch_size):
            batch = tuple(tensor.index_select(0, rows) for tensor in self.inputs)
            for phase, (optimizer, parameters) in phases:
                optimizer.zero_grad(set_to_none=True)
                with low:
                    loss = network.loss(batch, epoch, phase)
                loss.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(parameters, MAX_GRADIENT_NORM)
                optimizer.step()
                total += loss.detach() * len(rows)
        return float(total) / n_windows

    def _held_out(self) -> float:
        """Return the mean validation loss, under the same random masks in every epoch."""
        network = self.network.eval()
        total = torch.zeros((), dtype=torch.float64, device=self.device)
        with torch.no_grad(), seeded(self.training.seed, VALIDATION, self.device):
            parts = (torch.split(tensor, SCORED_TOGETHER) for tensor in self.validation)
            for batch in zip(*parts, strict=True):
                total += network.validation_loss(batch, self.epoch) * len(batch[0])
        return float(total) / len(self.validation[0])

    def log(self) -> TrainingLog:
        return TrainingLog(
            epochs=self.epoch,
            best_epoch=self.epoch - self.since_best,
            train_losses=tuple(self.train_losses),
            validation_losses=tuple(self.validation_losses),
            seconds=self.seconds,
        )

    # ------------------------------------------------------------------ checkpoints

    def save(self) -> None:
        """Write the checkpoint, if there is one, when it is due or training ends."""
        if self.training.checkpoint is None:
            return
        is_due = self.seconds - self.saved_at >= self.training.checkpoint_seconds
        if self.is_unfinished and not is_due:
            return
        self.saved_at = self.seconds
        state = {
            "order": self.order.get_state(),
            "chance": torch.get_rng_state(),
            "losses": torch.tensor(
                [self.train_losses, self.validation_losses], dtype=torch.float64
            ),
            "seconds": torch.tensor(self.seconds, dtype=torch.float64),
        }
        if self.device.type == "cuda":
            state["chance on the GPU"] = torch.cuda.get_rng_state(self.device)
        counts = {"epoch": self.epoch, "since_best": self.since_best}
        checkpoint.save(
            self.training.checkpoint,
            {"weights": self.network.state_dict(), "best": self.best, "run": state},
            self.optimizers,
            {"identity": self.identity, **counts},
        )

    def resume(self) -> None:
        """Go on where the checkpoint was written, if there is one."""
        path = self.training.checkpoint
        if path is None or not path.exists():
            return
        found = checkpoint.load(path, self.identity, self.training.epochs)
        self.network.load_state_dict(found.tensors["weights"])
        self.best = {name: tensor.to(self.device) for name, tensor in found.tensors["best"].items()}
        found.restore(self.optimizers)
        run = found.tensors["run"]
        self.order.set_state(run["order"])
        torch.set_rng_state(run["chance"])
        if self.device.type == "cuda":
            torch.cuda.set_rng_state(run["chance on the GPU"], self.device)
        self.train_losses, self.validation_losses = run["losses"].tolist()
        self.seconds = self.saved_at = float(run["seconds"])
        self.epoch, self.since_best = found.epoch, found.since_best


def _number(seed: int, stream: int) -> int:
    """Return a seed for torch, one for each pair of numbers."""
    return int(np.random.SeedSequence([seed, stream]).generate_state(1, np.uint64)[0] >> 1)


def _moved(batch: Batch, device: torch.device) -> Batch:
    return tuple(tensor.to(device) for tensor in batch)


def _copied(state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in state.items()}


@contextmanager
def _exactly() -> Iterator[None]:
    """Compute on one thread of the CPU, and on a GPU without what differs from run to run."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False):
            yield
    finally:
        torch.set_num_threads(n_threads)
