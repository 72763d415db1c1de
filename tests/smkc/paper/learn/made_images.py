"""Small kernel images for the tests of networks.

In: a window length and channels. Out: images and scale tokens of the synthetic world's windows.
"""

from functools import cache

import torch

from benchmarks.world import World, generate
from smkc.paper.kernel import CHANNELS, images
from smkc.paper.learn.settings import LearnSettings
from smkc.paper.sketch import Sketch

TINY = {"width": 16, "layers": 2, "heads": 2, "expansion": 2, "stem_width": 8}


def tiny(**more):
    """Return settings of a tiny network with patches of 2 steps."""
    return LearnSettings(**({"patch": 2} | TINY | more))


@cache
def _made(length, n_windows, channels):
    windows = generate(
        World(), pool="train", n_windows=n_windows, cardinality=4, length=length, seed=3
    )
    made, tau = images(windows.recording(), windows.starts(), length, Sketch(), channels)
    return torch.from_numpy(made), torch.from_numpy(tau)


def made_images(length=8, n_windows=6, channels=CHANNELS):
    """Return (B, K, L, L) images and (B,) scale tokens, fresh copies of the same ones."""
    made, tau = _made(length, n_windows, channels)
    return made.clone(), tau.clone()


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def masked_pixels(patches, masked):
    """(B, L, L) bool: pixels of masked patches and of their mirror images, worked out slowly."""
    is_masked = torch.zeros(len(masked), patches.window, patches.window, dtype=torch.bool)
    size = patches.patch
    for window, tokens in enumerate(masked.tolist()):
        for token in tokens:
            i, j = int(patches.rows[token]) * size, int(patches.columns[token]) * size
            is_masked[window, i : i + size, j : j + size] = True
            is_masked[window, j : j + size, i : i + size] = True
    return is_masked
