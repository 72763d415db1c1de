"""Common base of trained competitors: windows -> inputs -> a trained network -> scores.

In: normal windows to learn from, then any windows. Out: one score per window. Subclasses add the
network and its inputs.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.baselines.checkpoint import train_resumed
from benchmarks.baselines.tensor_source import TensorSource
from benchmarks.windows import Windows
from smkc.errors import InputError, NotFittedError, WindowError
from smkc.paper.learn.training import (
    INITIAL_WEIGHTS,
    Network,
    Training,
    TrainingLog,
    evaluated,
    seeded,
    train,
)
from smkc.paper.sketch import Sketch

__all__ = ["Trained"]

# Without validation windows, every tenth window is set aside, as ``Competitor.fit`` promises.
SET_ASIDE_EVERY = 10


@dataclass(kw_only=True, eq=False)
class Trained(ABC):
    """A competitor with a network, trained on normal windows.

    Parameters
    ----------
    window
        time steps per window.
    sketch
        sketch of a time step into a state, for networks that read states.
    training
        epochs, batches, learning rate, device, seed.
    checkpoint
        file that training resumes from if it exists, and saves its state in; None for no file.

    Attributes
    ----------
    network_
        the trained network.
    log_
        its losses per epoch.
    """

    window: int
    sketch: Sketch = field(default_factory=Sketch)
    training: Training = field(default_factory=Training)
    checkpoint: Path | None = None

    @abstractmethod
    def inputs(self, windows: Windows) -> tuple[NDArray[Any], ...]:
        """Return the network's inputs: float32 or bool arrays, first axis = windows."""

    @abstractmethod
    def network(self) -> Network:
        """Return the network, untrained."""

    def fit(self, windows: Windows, validation: Windows | None = None) -> Self:
        """Train on normal windows; stop early by validation windows, or by 1/10 set aside."""
        if validation is None:
            windows, validation = _set_aside(windows)
        with seeded(self.training.seed, INITIAL_WEIGHTS):
            network = self.network()
        saved = self.checkpoint
        trained = train if saved is None else partial(train_resumed, path=saved)
        self.log_: TrainingLog = trained(
            network, self._source(windows), self._source(validation), self.training
        )
        self.network_: Network = network
        return self

    def score(self, windows: Windows) -> NDArray[np.float64]:
        """(B,) scores, higher = more anomalous."""
        if not hasattr(self, "network_"):
            raise NotFittedError(f"{type(self).__name__} has learned nothing yet; call fit first")
        source, network = self._source(windows), self.network_
        if not len(source):
            return np.empty(0)
        scores = evaluated(network, network.errors, source, self.training).astype(np.float64)
        if not np.isfinite(scores).all():
            worst = int(np.flatnonzero(~np.isfinite(scores))[0])
            raise InputError(
                f"{type(self).__name__}: the score of window {worst} is {scores[worst]}; see that "
                "its values are finite and of the size of those learned from"
            )
        return scores

    def _source(self, windows: Windows) -> TensorSource:
        if windows.length != self.window:
            raise WindowError(
                f"{type(self).__name__} reads windows of {self.window} steps, but these have "
                f"{windows.length}; set window={windows.length}, or cut the windows anew"
            )
        tensors = (torch.from_numpy(np.ascontiguousarray(x)) for x in self.inputs(windows))
        return TensorSource(tuple(tensors), self.training.where())


def _set_aside(windows: Windows) -> tuple[Windows, Windows]:
    """Return 9/10 of the windows for training and 1/10 for early stopping."""
    is_aside = np.arange(len(windows)) % SET_ASIDE_EVERY == SET_ASIDE_EVERY - 1
    if not is_aside.any():
        raise InputError(
            f"{len(windows)} windows are too few to set a tenth of them aside; give at least "
            f"{SET_ASIDE_EVERY}, or validation windows"
        )
    return windows.take(~is_aside), windows.take(is_aside)
