"""Columns of windows -> kernel images on a GPU, each window in one go.

In: compacted columns. Out: float32 channels and the scale sigma(g). Matrix units make them, see
``cuda/image.cu``; where these leave too few digits, differences do, see ``cuda/exact.cu``.
"""

import torch
from torch import Tensor

from smkc.paper.kernel._cuda_columns import Columns
from smkc.paper.kernel._nvrtc import Kernel, compiled
from smkc.paper.kernel.representation import CHANNELS, Representation

__all__ = ["MAX_WINDOW_ROWS", "MIN_WINDOW_ROWS", "fill_images", "image_kernels"]

# Windows that have pairs, and whose image fits the registers of one block of threads.
MIN_WINDOW_ROWS, MAX_WINDOW_ROWS = 2, 256


def fill_images(columns: Columns, representation: Representation, out: Tensor) -> Tensor:
    """Fill ``out`` (B, K, L, L) with the channels of all pairs; return (B,) float64 sigma(g)."""
    n_windows, width, length = columns.values.shape
    sigma = torch.full((n_windows,), torch.nan, dtype=torch.float64, device=out.device)
    is_left = torch.empty(n_windows, dtype=torch.int32, device=out.device)
    for kernel in image_kernels(out.device, length, representation):
        kernel(n_windows, 32 * _n_warps(length), *columns, is_left, out, sigma, width)
    return sigma


def image_kernels(
    device: torch.device, length: int, representation: Representation
) -> tuple[Kernel, Kernel]:
    """Return the kernel for windows of this length, and the one for those that it leaves."""
    n_channels = len(representation.channels)
    defined = {"LENGTH": length, "WARPS": _n_warps(length), "N_CHANNELS": n_channels}
    for name, place in zip(CHANNELS, representation.places, strict=True):
        defined[name.upper()] = place
    return compiled("image", device, **defined), compiled("exact", device, **defined)


def _n_warps(length: int) -> int:
    """One for sixteen time steps; for 32 alone, so that it need not wait for another."""
    return 1 if length <= 32 else -(-length // 16)
