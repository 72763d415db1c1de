"""A running training: steps, epochs and the best weights so far.

In: a network on its device, sources of windows, and settings. Out: trained weights and a log, one
epoch at a time.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from smkc.errors import SettingError, SmkcError
from smkc.paper.learn.collapse import check_collapse
from smkc.paper.learn.graphed import GraphedStep
from smkc.paper.learn.network import Batch, Network, Source, Training, TrainingLog, on_device
from smkc.progress import Advance

# Gradients are clipped to this norm, as is usual for recurrent networks.
MAX_GRADIENT_NORM = 1.0

# Each use of a seed has its own stream of random numbers.
INITIAL_WEIGHTS, ORDER, CHANCE, VALIDATION = range(4)

# Validation windows whose embeddings are checked for collapse; a rank needs no more.
WATCHED = 512

# Windows are scored in batches of exactly this size, the last one padded with repeats: a matrix
# product may round differently if it has fewer rows.
SCORED_TOGETHER = 128

# Validation windows per batch on a GPU; smaller batches would leave it idle.
VALIDATED_TOGETHER = 1024


@contextmanager
def seeded(seed: int, stream: int, device: torch.device | None = None) -> Iterator[None]:
    """Seed torch's random numbers from a seed's stream in this block; restore the state after it.

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
class Run:
    """One training: its inputs, settings, and all state that changes between epochs."""

    network: Network
    inputs: Source
    validation: Source
    training: Training
    device: torch.device
    epoch: int = 0
    since_best: int = 0
    step: int = 0
    batch_size: int = 0
    train_losses: list[float] = field(default_factory=list)
    validation_losses: list[float] = field(default_factory=list)
    stepped: Callable[[Batch], Tensor] = field(init=False)

    def __post_init__(self) -> None:
        network, training = self.network, self.training
        network.prepare(self.inputs)
        self.batch_size = training.batch_size
        is_gpu = self.device.type == "cuda"
        # Under autocast recurrent layers use float16, in which gradients of small errors vanish.
        is_recurrent = any(isinstance(layer, nn.RNNBase) for layer in network.modules())
        self.is_low = is_gpu and training.bf16 and not is_recurrent
        self.phases = [network.phase_parameters(phase) for phase in range(network.n_phases)]
        is_graphed = is_gpu and network.is_steady
        # A tensor, because a graph reads the rate from memory; a number would be frozen in it.
        rate = torch.tensor(training.learning_rate, device=self.device)
        self.optimizers = [
            torch.optim.AdamW(
                parameters,
                lr=rate.clone() if is_graphed else training.learning_rate,
                weight_decay=training.weight_decay,
                fused=True,
                capturable=is_graphed,
            )
            for parameters in self.phases
        ]
        self.stepped = (
            GraphedStep(self._all_phases, self.device) if is_graphed else self._all_phases
        )
        self.order = torch.Generator().manual_seed(_number(training.seed, ORDER))
        self.best = _copied(network.state_dict())

    @property
    def is_unfinished(self) -> bool:
        """Whether there is another epoch to run."""
        return self.epoch < self.training.epochs and (
            self.network.keeps_last or self.since_best < self.training.patience
        )

    @property
    def total_steps(self) -> int:
        """Planned number of batches; more are taken if the batch size is halved."""
        return self.training.epochs * -(-len(self.inputs) // self.training.batch_size)

    def one_epoch(self, advance: Advance) -> None:
        """Train on all windows once, then validate."""
        self.epoch += 1
        loss = self._stepped(advance)
        held_out = self._held_out()
        if not (math.isfinite(loss) and math.isfinite(held_out)):
            raise SettingError(
                f"{type(self.network).__name__}: the losses of epoch {self.epoch} are {loss} in "
                f"training and {held_out} in validation; lower the learning rate, now "
                f"{self.training.learning_rate}, and see that all windows are finite"
            )
        if held_out < min(self.validation_losses, default=math.inf):
            self.since_best = 0
            if not self.network.keeps_last:
                self.best = _copied(self.network.state_dict())
        else:
            self.since_best += 1
        self.train_losses.append(loss)
        self.validation_losses.append(held_out)

    def kept(self) -> dict[str, Tensor]:
        """Return the final weights: those of the last epoch or of the best one."""
        return _copied(self.network.state_dict()) if self.network.keeps_last else self.best

    # ------------------------------------------------------------------ steps

    def _stepped(self, advance: Advance) -> float:
        """Take a step for every batch and phase; return the mean loss, summed over phases."""
        self.network.train()
        n_windows = len(self.inputs)
        order = torch.randperm(n_windows, generator=self.order)
        waiting = deque(torch.split(order, self.batch_size))
        total = torch.zeros((), dtype=torch.float64, device=self.device)
        started, n_done = time.perf_counter(), 0
        while waiting:
            rows = waiting.popleft()
            try:
                total += self._one_step(on_device(self.inputs, rows, self.device)) * len(rows)
            except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
                if not _is_memory(error):
                    raise
                rest = torch.cat([rows, *waiting])
                waiting = deque(torch.split(rest, self._smaller(len(rows))))
                continue
            self.step += 1
            n_done += len(rows)
            speed = n_done / max(time.perf_counter() - started, 1e-9)
            # Show the validation loss: reading a step's loss would make the GPU wait.
            known = [f"loss {loss:.4g}" for loss in self.validation_losses[-1:]]
            advance(len(rows) / n_windows, ", ".join([*known, f"{speed:,.0f} windows/s"]))
        return float(total) / n_windows

    def _one_step(self, batch: Batch) -> Tensor:
        """Set the learning rate and step every phase on a batch; return the summed loss."""
        rate = self.training.rate(self.step / max(self.total_steps, 1))
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                if isinstance(group["lr"], Tensor):
                    group["lr"].fill_(rate)
                else:
                    group["lr"] = rate
        total = self.stepped(batch)
        self.network.stepped(self.step, self.total_steps)
        return total

    def _all_phases(self, batch: Batch) -> Tensor:
        """Run the part of a step that can be recorded as a graph; return the summed loss."""
        total = torch.zeros((), device=self.device)
        for phase, (optimizer, parameters) in enumerate(
            zip(self.optimizers, self.phases, strict=True)
        ):
            optimizer.zero_grad(set_to_none=True)
            # No cache: a graph must not reuse weights that were cast in an earlier step.
            low = torch.autocast("cuda", torch.bfloat16, enabled=self.is_low, cache_enabled=False)
            with low:
                loss = self.network.loss(batch, self.epoch, phase)
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(parameters, MAX_GRADIENT_NORM)
            optimizer.step()
            total += loss.detach()
        return total

    def _smaller(self, size: int) -> int:
        """Halve the size of a batch that did not fit into memory; store and return the half."""
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        if size == 1:
            raise SmkcError(
                f"{type(self.network).__name__}: memory does not suffice for one window; use a "
                "shorter window, larger patches or a smaller network"
            )
        self.batch_size = size // 2
        return self.batch_size

    def _held_out(self) -> float:
        """Return the mean validation loss, under the same random masks in every epoch."""
        network = self.network.eval()
        total = torch.zeros((), dtype=torch.float64, device=self.device)
        watched: list[Tensor] = []
        with torch.no_grad(), seeded(self.training.seed, VALIDATION, self.device):
            together = VALIDATED_TOGETHER if self.device.type == "cuda" else SCORED_TOGETHER
            for rows in torch.split(torch.arange(len(self.validation)), together):
                batch = on_device(self.validation, rows, self.device)
                total += network.validation_loss(batch, self.epoch) * len(batch[0])
                if network.keeps_last and sum(map(len, watched)) < WATCHED:
                    seen = network.embeddings(batch)
                    watched += [] if seen is None else [seen]
        vectors = torch.cat(watched) if watched else torch.empty(0, 1)
        if len(vectors) > 1 and bool(vectors.isfinite().all()):
            check_collapse(vectors)
        return float(total) / len(self.validation)

    def log(self) -> TrainingLog:
        """Return the log of the training so far."""
        kept = self.epoch if self.network.keeps_last else self.epoch - self.since_best
        return TrainingLog(
            epochs=self.epoch,
            best_epoch=kept,
            train_losses=tuple(self.train_losses),
            validation_losses=tuple(self.validation_losses),
        )


def _number(seed: int, stream: int) -> int:
    """Return a seed for torch that depends on both numbers."""
    return int(np.random.SeedSequence([seed, stream]).generate_state(1, np.uint64)[0] >> 1)


def _copied(state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in state.items()}


def _is_memory(error: BaseException) -> bool:
    """Return whether an error means out of memory; torch has no class for it on the CPU."""
    known = (torch.OutOfMemoryError, MemoryError)
    return isinstance(error, known) or "can't allocate memory" in str(error)
