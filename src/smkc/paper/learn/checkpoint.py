"""Checkpoints: the state of a training <-> a safetensors file from which it can resume.

In: tensors, AdamW's moments, counts, and the identity of the training. Out: the same, exact to the
bit, or an error that says what differs.
"""

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from smkc import model_file
from smkc.errors import ModelFileError
from smkc.paper.learn.inputs import Inputs
from smkc.paper.learn.network import Network, Training

# State that AdamW keeps per parameter.
MOMENTS = ("step", "exp_avg", "exp_avg_sq")

# Settings that do not change what an epoch does: a training can resume with other values of these.
FREE_SETTINGS = {"epochs", "checkpoint", "checkpoint_seconds", "device"}


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """The state saved after an epoch."""

    counts: dict[str, int]
    tensors: dict[str, dict[str, Tensor]]
    moments: list[dict[int, dict[str, Tensor]]]

    def restore(self, optimizers: Sequence[torch.optim.Optimizer]) -> None:
        """Restore the moments of each phase's AdamW."""
        for optimizer, state in zip(optimizers, self.moments, strict=True):
            groups = optimizer.state_dict()["param_groups"]
            optimizer.load_state_dict({"state": state, "param_groups": groups})


def identity(
    network: Network, inputs: Inputs, validation: Inputs, training: Training
) -> dict[str, Any]:
    """Return the identity of a training: network, settings and windows.

    It includes the number of epochs if steps depend on that number.
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
    return {
        "network": type(network).__name__,
        "layers": hashlib.sha256(f"{network} {shapes}".encode()).hexdigest(),
        "settings": {**settings, "device": inputs.device.type},
        "windows": inputs.digest(),
        "validation": validation.digest(),
    }


def save(
    path: Path,
    tensors: Mapping[str, Mapping[str, Tensor]],
    optimizers: Sequence[torch.optim.Optimizer],
    header: Mapping[str, Any],
) -> None:
    """Write groups of named tensors, the optimizers' moments and a header, atomically."""
    arrays = {
        f"{group}/{name}": tensor.detach().cpu().numpy()
        for group, members in tensors.items()
        for name, tensor in members.items()
    }
    for phase, optimizer in enumerate(optimizers):
        for number, state in optimizer.state_dict()["state"].items():
            for moment in MOMENTS:
                arrays[f"adamw/{phase}/{number}/{moment}"] = state[moment].cpu().numpy()
    model_file.write(path, arrays, {**header, "phases": len(optimizers)})


def load(path: Path, expected: Mapping[str, Any], epochs: int) -> Checkpoint:
    """Read the checkpoint of the training that ``expected`` identifies, of at most ``epochs``.

    Raise ModelFileError if it belongs to another training: resuming from it would give the result
    of neither.
    """
    arrays, header = model_file.read(path)
    found = header.get("identity")
    if not isinstance(found, dict):
        raise ModelFileError(
            f"{path} is no checkpoint of a training; choose another path for the checkpoint"
        )
    differing = [name for name in expected if found.get(name) != expected[name]]
    if differing:
        raise ModelFileError(
            f"{path} is the checkpoint of another training: its {' and '.join(differing)} differ; "
            "delete it to train anew, or choose another path for the checkpoint"
        )
    counts = header["counts"]
    if counts["epoch"] > epochs:
        raise ModelFileError(
            f"{path} is the checkpoint of {counts['epoch']} epochs, but epochs={epochs}; ask for "
            "at least as many, or delete it to train anew"
        )
    tensors: dict[str, dict[str, Tensor]] = {}
    moments: list[dict[int, dict[str, Tensor]]] = [{} for _ in range(header["phases"])]
    for key, array in arrays.items():
        group, name = key.split("/", 1)
        if group == "adamw":
            phase, number, moment = name.split("/")
            moments[int(phase)].setdefault(int(number), {})[moment] = torch.from_numpy(array)
        else:
            tensors.setdefault(group, {})[name] = torch.from_numpy(array)
    return Checkpoint(counts, tensors, moments)
