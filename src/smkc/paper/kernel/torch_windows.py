"""Windows of a recording on a torch device: observations are copied once, features computed there.

In: a recording, and start rows per call. Out: features, images and states as float32 tensors on the
device. This module needs torch (extra ``deep``); it is imported only if a device is requested.
"""

from types import ModuleType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smkc.paper.kernel.features import _checked_starts
from smkc.paper.kernel.representation import CHANNELS, Representation
from smkc.paper.kernel.torch_features import (
    fused_kernels,
    torch_features,
    torch_images,
    torch_states,
)
from smkc.paper.sketch import Sketch
from smkc.recording import Recording

# Device memory for the columns of a block of windows.
BLOCK_BYTES = 2**30


class TorchWindows:
    """Windows of one recording, computed on a device on request.

    On a GPU two fused kernels turn a window's observations into features. They write only the
    buckets that occur and the channels requested; features of order 1 are equal to the CPU's within
    1e-5. On other devices, and for representations that the kernels do not support, torch's own
    operations do the same. The recording is scaled already, if scaling is used.
    """

    def __init__(
        self, recording: Recording, window: int, sketch: Sketch, device: str | torch.device
    ) -> None:
        self.recording, self.window, self.sketch = recording, window, sketch
        self.device = torch.empty(0, device=device).device
        kernels = fused_kernels(self.device)
        self._kernels = kernels if kernels and sketch.buckets <= kernels.MOST_BUCKETS else None
        if self._kernels is not None:
            self._observed = self._uploaded(self._kernels)

    def features(self, starts: NDArray[np.int64], representation: Representation) -> Tensor:
        """Return (B, F) flat features of the windows that begin at ``starts`` (B,)."""
        representation.check(self.window)
        if self._kernels is None or not self._kernels.can_fill(representation, self.window):
            return torch_features(self.states(starts), representation)
        return self._filled(self._kernels, starts, representation)[0].flatten(1)

    def images(
        self, starts: NDArray[np.int64], channels: tuple[str, ...] = CHANNELS
    ) -> tuple[Tensor, Tensor]:
        """Return (B, K, L, L) kernel images and (B,) scale tokens tau, as on the CPU."""
        representation = Representation(channels=channels, layout="image", size=0)
        if self._kernels is None or not self._kernels.can_fill(representation, self.window):
            return torch_images(self.states(starts), channels)
        out, sigma = self._filled(self._kernels, starts, representation)
        return out, sigma.log().tanh().float()

    def states(self, starts: NDArray[np.int64]) -> Tensor:
        """Return (B, L, 2m) states of windows, over all buckets."""
        return torch_states(self.recording, starts, self.window, self.sketch, self.device)

    def _filled(
        self, kernels: ModuleType, starts: NDArray[np.int64], representation: Representation
    ) -> tuple[Tensor, Tensor]:
        """Return (B, ...) features and (B,) float64 sigma(g), computed block by block."""
        checked = _checked_starts(self.recording, starts, self.window)
        begin = torch.from_numpy(checked).to(self.device)
        out = torch.empty((len(begin), *representation.shape(self.window)), device=self.device)
        sigma = torch.empty(len(begin), dtype=torch.float64, device=self.device)
        size = max(1, BLOCK_BYTES // (4 * self.window * self.sketch.width))
        for first in range(0, len(begin), size):
            part = slice(first, first + size)
            columns = kernels.compact_columns(self._observed, begin[part], self.window, self.sketch)
            sigma[part] = kernels.fill(columns, representation, out[part])
        return out, sigma

    def _uploaded(self, kernels: ModuleType) -> Any:
        """Copy the observations, by row, and the variables' hashes to the device."""
        arrays: tuple[NDArray[Any], ...] = (
            self.recording.indptr.astype(np.int64),
            self.recording.codes.astype(np.int32),
            self.recording.values,
            kernels.packed(self.sketch.hash(self.recording.names)),
        )
        tensors = (torch.from_numpy(np.ascontiguousarray(array)) for array in arrays)
        return kernels.Observed(*(tensor.to(self.device) for tensor in tensors))
