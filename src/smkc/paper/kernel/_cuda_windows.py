"""Kernels that take windows on a GPU from observations to images or bands of them.

In: a recording's observations, start rows. Out: float32 features; see the steps below. This module
needs an NVIDIA GPU and Triton, which torch brings along there.
"""

import torch
import triton
from torch import Tensor

from smkc.paper.kernel._cuda_columns import MOST_BUCKETS, Columns, Observed, compact_columns, packed
from smkc.paper.kernel._cuda_images import (
    MAX_WINDOW_ROWS,
    MIN_WINDOW_ROWS,
    fill_images,
    image_kernels,
)
from smkc.paper.kernel._triton_band import MOST_PAIRS, fill_bands
from smkc.paper.kernel.representation import Representation

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

# Matrix units for TensorFloat-32 came with it.
LEAST_CAPABILITY = (8, 0)


def check(device: torch.device) -> None:
    """Raise OSError or RuntimeError, with the reason, if kernels cannot be made for this device."""
    capability = torch.cuda.get_device_capability(device)
    if capability < LEAST_CAPABILITY:
        found, least = (".".join(map(str, one)) for one in (capability, LEAST_CAPABILITY))
        raise RuntimeError(f"it is of compute capability {found}, and kernels need {least}")
    image_kernels(device, MIN_WINDOW_ROWS, Representation.parse("full image"))


def can_fill(representation: Representation, length: int) -> bool:
    """Whether windows of so many time steps can be compared in one go."""
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
    fill_all = fill_images if representation.layout == "image" else fill_bands
    return fill_all(columns, representation, out)
