"""Positional encoding of time steps for transformers.

In: a number of time steps and a width. Out: sines and cosines for each step.
"""

import math

import torch
from torch import Tensor

__all__ = ["positions"]

# Ratio of the longest wavelength to the shortest: the constant of Vaswani et al.
LONGEST_WAVE = 10_000.0


def positions(length: int, width: int) -> Tensor:
    """(L, width) float32 encoding: sines in the even columns, cosines in the odd ones.

    Notes
    -----
    Vaswani et al., "Attention is all you need", NeurIPS 2017, section 3.5.

    Examples
    --------
    >>> positions(2, 2)
    tensor([[0.0000, 1.0000],
            [0.8415, 0.5403]])
    """
    steps = torch.arange(length)[:, None]
    speeds = torch.exp(torch.arange(0, width, 2) * (-math.log(LONGEST_WAVE) / width))
    waves = torch.empty(length, width)
    waves[:, 0::2] = torch.sin(steps * speeds)
    waves[:, 1::2] = torch.cos(steps * speeds)[:, : width // 2]
    return waves
