"""Images: windows of a recording -> kernel images, computed batch by batch.

In: a prepared recording and start rows. Out: images and scale tokens of the windows asked for, on
a device. Only what fits into a fixed share of a GPU's memory is kept there.
"""

from hashlib import sha256
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smkc.errors import InputError
from smkc.paper.kernel import CHANNELS, images
from smkc.paper.kernel.torch_windows import TorchWindows
from smkc.paper.sketch import Sketch
from smkc.recording import Recording

__all__ = ["ImageSource", "RecordingImages", "SomeImages"]

# The channel that the scale token comes with: its bandwidth is the token's sigma(g).
SCALE_CHANNEL = "log_g"

# Images of up to this many bytes stay on a GPU once they were made: making them anew in every
# epoch takes longer than a step. On the CPU it is the other way round.
KEPT_BYTES = 4 * 2**30

# Windows whose images are made at a time where all are kept.
MADE_TOGETHER = 4096


class ImageSource(Protocol):
    """Windows as kernel images, made when they are asked for."""

    def __len__(self) -> int:
        """How many windows there are."""
        ...

    def batch(self, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Return (B, K, L, L) float32 images and (B,) scale tokens tau of windows ``rows``."""
        ...

    def digest(self) -> str:
        """Return a digest of what the images are made of."""
        ...


class RecordingImages:
    """The windows of a prepared recording.

    On the CPU images are the library's own; on another device the same steps run in torch. Every
    window has its scale token, whichever channels its image has.

    Parameters
    ----------
    prepared
        the recording, scaled if at all.
    starts
        (B,) start rows.
    window
        L, time steps a window.
    sketch
        how a time step becomes a state.
    channels
        of the images, by name.
    device
        ``cpu``, or a device of torch such as ``cuda``.
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

    def digest(self) -> str:
        """Return a digest of what each window observed, the sketch and the channels.

        The same windows of another recording have the same one.
        """
        recording, hashes = self.prepared, self.sketch.hash(self.prepared.names)
        digest = sha256(f"{self.window} {self.sketch} {self.channels} {len(self)}".encode())
        for first in range(0, len(self), MADE_TOGETHER):
            starts = self.starts[first : first + MADE_TOGETHER]
            rows = (starts[:, None] + np.arange(self.window)).ravel()
            counts = recording.indptr[rows + 1] - recording.indptr[rows]
            shift = recording.indptr[rows] - (np.cumsum(counts) - counts)
            which = np.arange(counts.sum()) + np.repeat(shift, counts)
            codes = recording.codes[which]
            for array in (counts, recording.values[which], *(x[codes] for x in hashes.arrays)):
                digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def take(self, which: NDArray[np.int64]) -> "RecordingImages":
        """Return some of the windows, by number."""
        some = RecordingImages(
            self.prepared,
            self.starts[which],
            self.window,
            self.sketch,
            self.channels,
            self.device,
        )
        some._windows = self._windows
        return some

    def _made(self, starts: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        # The scale token is a by-product of log_g: without that channel it is made and left out.
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


class SomeImages:
    """Some of the windows of another source.

    Parameters
    ----------
    source
        the other source.
    which
        (B,) numbers of windows in it, or a mask over all of them.
    """

    def __init__(self, source: ImageSource, which: NDArray[np.int64] | NDArray[np.bool_]) -> None:
        if which.dtype == np.bool_ and len(which) != len(source):
            raise InputError(
                f"a mask over {len(which)} windows chooses among {len(source)}; give one value "
                "a window"
            )
        self.source = source
        self.which = np.flatnonzero(which) if which.dtype == np.bool_ else which.astype(np.int64)

    def __len__(self) -> int:
        return len(self.which)

    def batch(self, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Return images and scale tokens of windows ``rows`` of those chosen."""
        return self.source.batch(self.which[rows])

    def digest(self) -> str:
        """Return a digest of the windows chosen or, failing that, of the source and the choice."""
        if isinstance(self.source, RecordingImages):
            return self.source.take(self.which).digest()
        return sha256(self.source.digest().encode() + self.which.tobytes()).hexdigest()
