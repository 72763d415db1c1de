"""GPU kernels that turn a recording's observations into images or bands of its windows.

In: a recording's observations and start rows. Out: float32 features. :func:`compact_columns` makes
states, :func:`fill` features. ``cuda/image.cu`` computes images on tensor cores, one block of
threads per window; windows for which that leaves too few digits are computed again from differences
by ``cuda/exact.cu``. This module needs an NVIDIA GPU and Triton, which GPU builds of torch include.
"""

import torch
import triton
from torch import Tensor

from smkc.paper.kernel._cuda_columns import MOST_BUCKETS, Columns, Observed, compact_columns, packed
from smkc.paper.kernel._nvrtc import Kernel, compiled
from smkc.paper.kernel._triton_band import MOST_PAIRS, fill_bands
from smkc.paper.kernel.representation import CHANNELS, Representation

__all__ = [
    "MOST_BUCKETS",
    "Columns",
    "Observed",
    "can_fill",
    "check",
    "compact_columns",
    "fill",
    "packed",
]

# Compute capability that introduced TensorFloat-32 tensor cores.
LEAST_CAPABILITY = (8, 0)

# Smallest window that has pairs, and largest one whose image fits into the registers of one block.
MIN_WINDOW_ROWS, MAX_WINDOW_ROWS = 2, 256


def check(device: torch.device) -> None:
    """Raise OSError or RuntimeError, with the reason, if the device cannot run the kernels."""
    capability = torch.cuda.get_device_capability(device)
    if capability < LEAST_CAPABILITY:
        found, least = (".".join(map(str, one)) for one in (capability, LEAST_CAPABILITY))
        raise RuntimeError(f"it is of compute capability {found}, and kernels need {least}")
    _image_kernels(device, MIN_WINDOW_ROWS, Representation.parse("full image"))


def can_fill(representation: Representation, length: int) -> bool:
    """Return whether the kernels support this representation of windows of ``length`` steps."""
    if representation.proj or representation.down:
        return False
    if representation.layout == "image":
        return MIN_WINDOW_ROWS <= length <= MAX_WINDOW_ROWS
    side, lags = triton.next_power_of_2(length), triton.next_power_of_2(representation.size)
    return representation.layout == "band" and side * lags <= MOST_PAIRS


def fill(columns: Columns, representation: Representation, out: Tensor) -> Tensor:
    """Fill ``out`` (B, ...) with the representation of windows; return (B,) float64 sigma(g)."""
    if not len(out):
        return torch.empty(0, dtype=torch.float64, device=out.device)
    fill_all = _fill_images if representation.layout == "image" else fill_bands
    return fill_all(columns, representation, out)


def _fill_images(columns: Columns, representation: Representation, out: Tensor) -> Tensor:
    """Fill ``out`` (B, K, L, L) with the channels of all pairs; return (B,) float64 sigma(g)."""
    n_windows, width, length = columns.values.shape
    sigma = torch.full((n_windows,), torch.nan, dtype=torch.float64, device=out.device)
    is_left = torch.empty(n_windows, dtype=torch.int32, device=out.device)
    for kernel in _image_kernels(out.device, length, representation):
        kernel(n_windows, 32 * _n_warps(length), *columns, is_left, out, sigma, width)
    return sigma


def _image_kernels(
    device: torch.device, length: int, representation: Representation
) -> tuple[Kernel, Kernel]:
    """Return the kernel for windows of this length, and the exact one for windows it leaves."""
    n_channels = len(representation.channels)
    defined = {"LENGTH": length, "WARPS": _n_warps(length), "N_CHANNELS": n_channels}
    for name, place in zip(CHANNELS, representation.places, strict=True):
        defined[name.upper()] = place
    return compiled("image", device, **defined), compiled("exact", device, **defined)


def _n_warps(length: int) -> int:
    """Return the warps per block: 1 per 16 time steps, but 1 for up to 32 to avoid waiting."""
    return 1 if length <= 32 else -(-length // 16)
