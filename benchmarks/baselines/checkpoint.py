"""Checkpoints: a training that was stopped resumes, and one that has ended is not run again.

In: a network, windows and settings as for any training, and the path of a file. Out: the same
weights and log, however often the training was stopped, or an error that says what differs.
"""

import dataclasses
import hashlib
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.baselines.tensor_source import TensorSource
from smkc import model_file
from smkc.errors import ModelFileError
from smkc.paper.kernel.windows import window_observations
from smkc.paper.learn.images import RecordingImages
from smkc.paper.learn.objective import Objective
from smkc.paper.learn.run import Run
from smkc.paper.learn.training import Network, Source, Training, TrainingLog, train
from smkc.progress import Advance

__all__ = ["digest", "train_resumed"]

# State that AdamW keeps per parameter.
MOMENTS = ("step", "exp_avg", "exp_avg_sq")

# State of a run that a checkpoint holds as numbers.
COUNTS = ("epoch", "since_best", "step", "batch_size")

# Settings that do not change what an epoch does: a training can resume with other values of these.
FREE_SETTINGS = {"epochs", "device"}

# Shortest time from one checkpoint to the next.
SECONDS_APART = 20.0

# Windows per part of a digest.
DIGESTED_TOGETHER = 4096


def train_resumed(
    network: Network,
    inputs: Source,
    validation: Source,
    training: Training,
    *,
    path: Path,
    seconds_apart: float = SECONDS_APART,
) -> TrainingLog:
    """Train a network as ``train`` does, from the checkpoint in ``path`` if that exists.

    A checkpoint is written after an epoch if the last one is ``seconds_apart`` old, and at the end.
    Raise ModelFileError if it belongs to another training: resuming from it would give the result
    of neither.
    """
    known = {**_identity(network, training), "windows": digest(inputs)}
    known["validation"] = digest(validation)
    start = partial(_SavedRun, path=path, identity=known, seconds_apart=seconds_apart)
    return train(network, inputs, validation, training, start)


@dataclasses.dataclass(kw_only=True)
class _SavedRun(Run):
    """A training whose state is saved in a file, to the bit."""

    path: Path
    identity: dict[str, Any]
    seconds_apart: float
    saved_at: float = dataclasses.field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.path.exists():
            self._resume()

    def one_epoch(self, advance: Advance) -> None:
        """Train on all windows once, then validate; save the state if it is due."""
        super().one_epoch(advance)
        is_due = time.perf_counter() - self.saved_at >= self.seconds_apart
        if is_due or not self.is_unfinished:
            self._save()
            self.saved_at = time.perf_counter()

    def _save(self) -> None:
        losses = [self.train_losses, self.validation_losses]
        state = {
            "order": self.order.get_state(),
            "chance": torch.get_rng_state(),
            "losses": torch.tensor(losses, dtype=torch.float64),
        }
        if self.device.type == "cuda":
            state["chance on the GPU"] = torch.cuda.get_rng_state(self.device)
        groups = {"weights": self.network.state_dict(), "best": self.best, "run": state}
        arrays = {
            f"{group}/{name}": tensor.detach().cpu().numpy()
            for group, tensors in groups.items()
            for name, tensor in tensors.items()
        }
        for phase, optimizer in enumerate(self.optimizers):
            for number, moments in optimizer.state_dict()["state"].items():
                for moment in MOMENTS:
                    arrays[f"adamw/{phase}/{number}/{moment}"] = moments[moment].cpu().numpy()
        counts = {name: getattr(self, name) for name in COUNTS}
        model_file.write(self.path, arrays, {"identity": self.identity, "counts": counts})

    def _resume(self) -> None:
        arrays, header = model_file.read(self.path)
        self._check(header)
        self.network.load_state_dict(_tensors(arrays, "weights/"))
        best = _tensors(arrays, "best/")
        self.best = {name: tensor.to(self.device) for name, tensor in best.items()}
        for phase, optimizer in enumerate(self.optimizers):
            _restore(optimizer, _tensors(arrays, f"adamw/{phase}/"))
        run = _tensors(arrays, "run/")
        self.order.set_state(run["order"])
        torch.set_rng_state(run["chance"])
        if self.device.type == "cuda":
            torch.cuda.set_rng_state(run["chance on the GPU"], self.device)
        self.train_losses, self.validation_losses = run["losses"].tolist()
        for name in COUNTS:
            setattr(self, name, header["counts"][name])

    def _check(self, header: dict[str, Any]) -> None:
        """Raise ModelFileError if the checkpoint is not one of this training."""
        found, epochs = header.get("identity"), self.training.epochs
        if not isinstance(found, dict):
            raise ModelFileError(
                f"{self.path} is no checkpoint of a training; choose another path for it"
            )
        differing = [name for name, own in self.identity.items() if found.get(name) != own]
        if differing:
            raise ModelFileError(
                f"{self.path} is the checkpoint of another training: its "
                f"{' and '.join(differing)} differ; delete it to train anew, or choose another path"
            )
        if header["counts"]["epoch"] > epochs:
            raise ModelFileError(
                f"{self.path} is the checkpoint of {header['counts']['epoch']} epochs, but "
                f"epochs={epochs}; ask for at least as many, or delete it to train anew"
            )


def _tensors(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, Tensor]:
    """Return the tensors whose names begin with a prefix, with the prefix removed."""
    found = model_file.below(arrays, prefix)
    return {name: torch.from_numpy(array) for name, array in found.items()}


def _restore(optimizer: torch.optim.Optimizer, moments: dict[str, Tensor]) -> None:
    """Restore AdamW's moments, by names such as ``3/exp_avg``."""
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in moments.items():
        number, moment = name.split("/")
        state.setdefault(int(number), {})[moment] = tensor
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})


# ---------------------------------------------------------------------- identity


def _identity(network: Network, training: Training) -> dict[str, Any]:
    """Return what identifies a training, apart from its windows: network and settings.

    The number of epochs is included if steps depend on it.
    """
    shapes = [
        [name, str(tensor.dtype), list(tensor.shape)]
        for name, tensor in network.state_dict().items()
    ]
    is_planned = network.keeps_last or training.schedule != "constant"
    free = FREE_SETTINGS - {"epochs"} if is_planned else FREE_SETTINGS
    settings = {
        name: value for name, value in dataclasses.asdict(training).items() if name not in free
    }
    layers = f"{network} {_hidden_settings(network)} {shapes}"
    return {
        "network": type(network).__name__,
        "layers": hashlib.sha256(layers.encode()).hexdigest(),
        "settings": {**settings, "device": training.where().type},
    }


def _hidden_settings(network: Network) -> tuple[Any, ...]:
    """Return settings that do not show in the layers; competitors show them in ``extra_repr``."""
    if not isinstance(network, Objective):
        return ()
    given = network.settings
    return given.channels, given.heads, given.backbone, given.tokens, given.masking


def digest(windows: Source) -> str:
    """Return a digest of all windows.

    That of a recording's windows covers their observations, the sketch and the channels: equal
    windows of another recording have the same digest.
    """
    if isinstance(windows, TensorSource):
        found = hashlib.sha256()
        for tensor in windows.tensors:
            found.update(f"{tensor.dtype} {tuple(tensor.shape)}".encode())
            found.update(tensor.detach().cpu().contiguous().numpy().data)
        return found.hexdigest()
    assert isinstance(windows, RecordingImages)
    recording, hashes = windows.prepared, windows.sketch.hash(windows.prepared.names)
    given = f"{windows.window} {windows.sketch} {windows.channels} {len(windows)}"
    found = hashlib.sha256(given.encode())
    for first in range(0, len(windows), DIGESTED_TOGETHER):
        starts = windows.starts[first : first + DIGESTED_TOGETHER]
        counts, which = window_observations(recording, starts, windows.window)
        codes = recording.codes[which]
        for array in (counts, recording.values[which], *(x[codes] for x in hashes.arrays)):
            found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()
