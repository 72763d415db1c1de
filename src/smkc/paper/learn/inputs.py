"""Inputs of a training: tensors held in memory, or a source that computes them batch by batch.

In: tensors or a source, and a device. Out: batches of windows, by number, on the device.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from smkc.paper.learn.network import Batch, Source

# Windows are scored in batches of exactly this size, the last one padded with repeats: a matrix
# product may round differently if it has fewer rows.
SCORED_TOGETHER = 128

# Largest number of a source's windows that a network may inspect before training.
SHOWN = 1024


class Inputs:
    """Windows for training or validation, on a device; tensors are copied there as a whole."""

    def __init__(self, windows: Batch | Source, device: torch.device) -> None:
        self.device = device
        self._windows: Batch | Source = windows
        if isinstance(windows, tuple):
            self._windows = tuple(tensor.to(device) for tensor in windows)

    def __len__(self) -> int:
        return len(self._windows[0] if isinstance(self._windows, tuple) else self._windows)

    def batch(self, rows: Tensor) -> Batch:
        """Return the tensors of the windows ``rows``, on the device."""
        if isinstance(self._windows, tuple):
            rows = rows.to(self.device)
            return tuple(tensor.index_select(0, rows) for tensor in self._windows)
        made = self._windows.batch(rows.cpu().numpy())
        return tuple(tensor.to(self.device) for tensor in made)

    def shown(self) -> Batch:
        """Return windows that a network may inspect before training."""
        if isinstance(self._windows, tuple):
            return self._windows
        # Spread evenly over all windows, because neighbours may be similar.
        n = min(SHOWN, len(self))
        return self.batch(torch.arange(n) * len(self) // n)

    def in_order(self, together: int) -> Iterator[Batch]:
        """Return an iterator over all windows in order, ``together`` per batch."""
        rows = torch.arange(len(self))
        return (self.batch(part) for part in torch.split(rows, together))
