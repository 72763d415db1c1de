"""Images: windows of a recording -> kernel images, computed batch by batch.

In: a prepared recording and start rows. Out: images and scale tokens of the requested windows, on a
device. Images are cached on a GPU if all of them take at most 4 GiB.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smkc.paper.kernel import CHANNELS, images
from smkc.paper.kernel.torch_windows import TorchWindows
from smkc.paper.sketch import Sketch
from smkc.recording import Recording

# The channel that yields the scale token: its bandwidth is sigma(g).
SCALE_CHANNEL = "log_g"

# Images of up to this many bytes in total are cached on a GPU, where computing them again in every
# epoch takes longer than the training steps. On the CPU it is the other way round.
KEPT_BYTES = 4 * 2**30

# Windows whose images are computed at a time if all are cached.
MADE_TOGETHER = 4096


class RecordingImages:
    """Kernel images of the windows of a prepared recording.

    On the CPU jitted loops compute the images; on other devices
    :class:`~smkc.paper.kernel.torch_windows.TorchWindows` does. Every window has a scale token,
    whatever the channels of its image. ``starts`` are the (B,) start rows of windows of ``window``
    time steps.
    """

    def __init__(
        self,
        prepared: Recording,
        starts: NDArray[np.int64],
        window: int,
        sketch: Sketch,
        channels: tuple[str, ...] = CHANNELS,
        device: str | torch.device = "cpu",
    ) -> None:
        self.prepared = prepared
        self.starts = np.asarray(starts, np.int64)
        self.window = window
        self.sketch = sketch
        self.channels = channels
        self.device = torch.device(device)
        n_bytes = 4 * len(channels) * window**2 * len(self.starts)
        self._is_kept = self.device.type != "cpu" and n_bytes <= KEPT_BYTES
        self._kept: tuple[Tensor, Tensor] | None = None
        self._windows: TorchWindows | None = None

    def __len__(self) -> int:
        return len(self.starts)

    def batch(self, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Return (B, K, L, L) float32 images and (B,) scale tokens of windows ``rows``."""
        if not self._is_kept:
            return self._made(self.starts[rows])
        if self._kept is None:
            parts = np.split(self.starts, range(MADE_TOGETHER, len(self.starts), MADE_TOGETHER))
            made = [self._made(part) for part in parts]
            self._kept = torch.cat([one[0] for one in made]), torch.cat([one[1] for one in made])
        which = torch.from_numpy(rows).to(self.device)
        pixels, tau = self._kept
        return pixels.index_select(0, which), tau.index_select(0, which)

    def _made(self, starts: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        # The scale token is a by-product of log_g, which is computed and dropped if not requested.
        has_scale = SCALE_CHANNEL in self.channels
        channels = self.channels if has_scale else (*self.channels, SCALE_CHANNEL)
        pixels, tau = self._compared(starts, channels)
        return (pixels if has_scale else pixels[:, :-1].contiguous()), tau

    def _compared(
        self, starts: NDArray[np.int64], channels: tuple[str, ...]
    ) -> tuple[Tensor, Tensor]:
        if self.device.type == "cpu":
            made, tau = images(self.prepared, starts, self.window, self.sketch, channels)
            return torch.from_numpy(made), torch.from_numpy(tau)
        if self._windows is None:
            self._windows = TorchWindows(self.prepared, self.window, self.sketch, self.device)
        return self._windows.images(starts, channels)
