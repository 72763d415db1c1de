"""Tensors in memory as the source of a training's inputs."""

import numpy as np
import torch
from numpy.typing import NDArray

from smkc.paper.learn.training import Batch

__all__ = ["TensorSource"]


class TensorSource:
    """Tensors whose first axis is windows, kept on a device."""

    def __init__(self, tensors: Batch, device: str | torch.device = "cpu") -> None:
        self.tensors = tuple(tensor.to(device) for tensor in tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])

    def batch(self, rows: NDArray[np.int64]) -> Batch:
        """Return the tensors of the windows ``rows``."""
        which = torch.from_numpy(rows).to(self.tensors[0].device)
        return tuple(tensor.index_select(0, which) for tensor in self.tensors)
