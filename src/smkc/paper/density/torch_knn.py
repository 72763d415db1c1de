"""The training-free density on a torch device: features, projection and nearest neighbours.

In: windows of a prepared recording. Out: one score per window, equal to the CPU's up to rounding.
This module needs torch (extra ``deep``); it is imported only if a device is requested.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smkc import progress
from smkc.errors import SettingError
from smkc.paper.density.knn import KnnDensity
from smkc.paper.density.torch_neighbours import TorchReferences
from smkc.paper.kernel.torch_features import full_precision
from smkc.paper.kernel.torch_windows import TorchWindows
from smkc.recording import Recording

# Device memory for the features of a block of windows.
BLOCK_BYTES = 2**30


def can_use(device: str) -> bool:
    """Return whether a torch device is available; raise SettingError if its name is unknown.

    Examples
    --------
    >>> can_use("cpu")
    True
    """
    try:
        where = torch.device(device)
    except RuntimeError:
        raise SettingError(f"device={device!r} is not known; use cpu or cuda") from None
    try:
        torch.empty(0, device=where)
    except (AssertionError, RuntimeError):
        return False
    return True


@dataclass(frozen=True, kw_only=True)
class TorchKnnDensity(KnnDensity):
    """RandProj-kNN with its reference set on a device.

    A single window, such as the latest of a stream, is scored on the CPU.
    """

    device: str

    @classmethod
    def on(cls, density: KnnDensity, device: str) -> "TorchKnnDensity":
        """Return the same density on a device."""
        same = {field.name: getattr(density, field.name) for field in fields(KnnDensity)}
        return cls(**same, device=device)

    def _vectors(
        self, prepared: Recording, starts: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        parts, total = [], np.zeros(len(self.typical))
        with progress.task("learning what is normal", len(starts)) as advance:
            for features in self._features(prepared, starts):
                parts.append(self._unit_vectors(features).cpu().numpy())
                total += features.sum(dim=0, dtype=torch.float64).cpu().numpy()
                advance(len(features))
        nothing = np.empty((0, self.projection.components), np.float32)
        return np.concatenate([nothing, *parts]), total

    def _distances(
        self, prepared: Recording, starts: NDArray[np.int64], guard: int
    ) -> NDArray[np.float64]:
        if len(starts) == 1:
            return super()._distances(prepared, starts, guard)
        found, references = [np.empty(0)], self._on_device
        with progress.task("calibrating" if guard else "scoring", len(starts)) as advance:
            for features in self._features(prepared, starts):
                vectors = self._unit_vectors(features)
                first = sum(map(len, found))
                rows = torch.from_numpy(starts[first : first + len(vectors)]).to(vectors.device)
                distances = references.mean_distance(vectors, self.neighbours, rows, guard)
                found.append(distances.cpu().numpy())
                advance(len(features))
        return np.concatenate(found)

    @cached_property
    def _on_device(self) -> TorchReferences:
        where = torch.device(self.device)
        return TorchReferences.of(self.references.vectors, where, self.references.rows)

    @cached_property
    def _matrix(self) -> Tensor:
        matrix = self.projection.matrix(len(self.typical))
        return torch.from_numpy(matrix.copy()).to(self.device)

    def _features(self, prepared: Recording, starts: NDArray[np.int64]) -> Iterator[Tensor]:
        """Yield (b, F) features, one block of windows at a time."""
        windows = TorchWindows(prepared, self.window, self.sketch, self.device)
        size = max(1, BLOCK_BYTES // (4 * len(self.typical)))
        for first in range(0, len(starts), size):
            yield windows.features(starts[first : first + size], self.representation)

    def _unit_vectors(self, features: Tensor) -> Tensor:
        """Return (b, d) projected, normalised features; zero becomes the first unit vector."""
        with full_precision():
            vectors = features @ self._matrix
        norms = torch.linalg.vector_norm(vectors, dim=1, keepdim=True)
        vectors /= torch.where(norms > 0, norms, 1.0)
        vectors[:, :1] += (norms == 0).float()
        return vectors
