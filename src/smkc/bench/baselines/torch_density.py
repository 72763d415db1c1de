"""The training-free density on a torch device: features, projection, nearest references.

In: windows of a recording. Out: the scores of :class:`smkc.density.KnnDensity`, to 1e-4.
"""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smkc.density import Projection
from smkc.errors import InputError, SettingError
from smkc.kernel import Representation
from smkc.kernel.torch_features import full_precision, torch_features, torch_states
from smkc.recording import Recording
from smkc.sketch import Sketch

__all__ = ["TorchDensity"]

# What the states and features of a block of windows may take on the device.
BLOCK_BYTES = 2**30


class TorchDensity:
    """The paper's RandProj-kNN on a device; every window learned from is a reference.

    Parameters
    ----------
    window
        rows a window.
    representation, sketch, projection
        how a window becomes a unit vector; the projection's matrix is the library's own.
    neighbours
        how many nearest reference windows a score averages over.
    device
        of torch, such as ``cuda``.

    Notes
    -----
    Paper, section 3.3.
    """

    def __init__(
        self,
        *,
        window: int,
        representation: Representation,
        sketch: Sketch,
        projection: Projection,
        neighbours: int,
        device: str,
    ) -> None:
        self.window = window
        self.representation = representation
        self.sketch = sketch
        self.projection = projection
        self.neighbours = neighbours
        self.device = usable_device(device)
        self.references = torch.empty((0, projection.components), device=self.device)

    def learn(self, prepared: Recording, starts: NDArray[np.int64]) -> None:
        """Keep these windows as the references, in place of any others."""
        self.references = torch.cat(list(self._unit_vectors(prepared, starts)))

    def scores(self, prepared: Recording, starts: NDArray[np.int64]) -> NDArray[np.float64]:
        """(B,) mean cosine distance to the nearest references."""
        if len(self.references) < self.neighbours:
            raise InputError(
                f"{len(self.references)} reference windows, {self.neighbours} neighbours asked "
                "for; give more reference data or fewer neighbours"
            )
        parts = [self._mean_distance(vectors) for vectors in self._unit_vectors(prepared, starts)]
        scores: NDArray[np.float64] = torch.cat(parts).cpu().numpy()
        return scores

    def _mean_distance(self, vectors: Tensor) -> Tensor:
        """(b,) float64 mean cosine distance of unit vectors (b, d) to their nearest references."""
        with full_precision():
            similarities = vectors @ self.references.T
        nearest = similarities.topk(self.neighbours, dim=1).values
        return (1.0 - nearest).clamp_(min=0.0).double().mean(dim=1)

    def _unit_vectors(self, prepared: Recording, starts: NDArray[np.int64]) -> Iterator[Tensor]:
        """Yield (b, d) unit vectors of block after block of windows."""
        n_features = self.representation.n_features(self.window, self.sketch.width)
        floats = 2 * n_features + 2 * self.window * self.sketch.width
        size = max(1, BLOCK_BYTES // (4 * floats))
        matrix = torch.from_numpy(self.projection.matrix(n_features).copy()).to(self.device)
        for first in range(0, max(len(starts), 1), size):
            states = torch_states(
                prepared, starts[first : first + size], self.window, self.sketch, self.device
            )
            with full_precision():
                vectors = torch_features(states, self.representation) @ matrix
            norms = torch.linalg.vector_norm(vectors, dim=1, keepdim=True)
            vectors /= torch.where(norms > 0, norms, 1.0)
            # As in the library: the projection of nothing is the first axis.
            vectors[:, :1] += (norms == 0).float()
            yield vectors


def usable_device(name: str) -> torch.device:
    """Return the device of this name, or say what to do if there is none."""
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (AssertionError, RuntimeError) as error:
        raise SettingError(
            f"device={name!r} cannot be used here ({str(error).splitlines()[0]}); use cpu, or "
            "install a torch that drives it"
        ) from error
    return device
