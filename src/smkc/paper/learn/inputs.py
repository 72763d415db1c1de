"""Inputs of a training: tensors that are held as a whole, or a source of batches, read alike.

In: tensors or a source, and a device. Out: batches by number, there.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from hashlib import sha256

import torch
from torch import Tensor

from smkc.paper.learn.network import Batch, Source

__all__ = ["SCORED_TOGETHER", "Inputs", "held"]

# Windows are scored in batches of this size exactly, the last one filled up with repeats: a
# product of matrices may round differently when it has fewer rows.
SCORED_TOGETHER = 128

# Windows of a source that are shown to a network before training.
SHOWN = 1024


class Inputs(ABC):
    """Windows to learn from or to validate by, on a device."""

    device: torch.device

    @abstractmethod
    def __len__(self) -> int:
        """How many windows there are."""

    @abstractmethod
    def batch(self, rows: Tensor) -> Batch:
        """Return the tensors of some windows, on the device."""

    @abstractmethod
    def shown(self) -> Batch:
        """Return what a network may look at before training."""

    @abstractmethod
    def digest(self) -> str:
        """Return a digest that tells these inputs from others."""

    def in_order(self, together: int = SCORED_TOGETHER) -> Iterator[Batch]:
        """Yield all windows, some at a time."""
        rows = torch.arange(len(self))
        return (self.batch(part) for part in torch.split(rows, together))


class _Tensors(Inputs):
    def __init__(self, tensors: Batch, device: torch.device) -> None:
        self.device = device
        self.tensors = tuple(tensor.to(device) for tensor in tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])

    def batch(self, rows: Tensor) -> Batch:
        rows = rows.to(self.device)
        return tuple(tensor.index_select(0, rows) for tensor in self.tensors)

    def shown(self) -> Batch:
        return self.tensors

    def digest(self) -> str:
        """SHA-256 over type, shape and content."""
        digest = sha256()
        for tensor in self.tensors:
            digest.update(f"{tensor.dtype} {tuple(tensor.shape)}".encode())
            digest.update(tensor.detach().cpu().contiguous().numpy().data)
        return digest.hexdigest()


class _Made(Inputs):
    def __init__(self, source: Source, device: torch.device) -> None:
        self.device = device
        self.source = source

    def __len__(self) -> int:
        return len(self.source)

    def batch(self, rows: Tensor) -> Batch:
        made = self.source.batch(rows.cpu().numpy())
        return tuple(tensor.to(self.device) for tensor in made)

    def shown(self) -> Batch:
        # Spread over all windows: neighbours may be alike.
        n = min(SHOWN, len(self))
        return self.batch(torch.arange(n) * len(self) // n)

    def digest(self) -> str:
        return self.source.digest()


def held(inputs: Batch | Source, device: torch.device) -> Inputs:
    """Return tensors or a source as inputs on a device."""
    return _Tensors(inputs, device) if isinstance(inputs, tuple) else _Made(inputs, device)
