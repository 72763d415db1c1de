"""Kernel features: a window's states compared with one another.

In: a recording, start rows and a window length. Out: features whose size does not depend on the
observed variables: kernel images of up to 6 channels (cosine similarities and robust log distances
of g, its difference and its absolute difference), or their bands, anchors and pooled versions.
"""

from smkc.paper.kernel.features import (
    anchor_steps,
    features,
    images,
    map_features,
    scale_token,
)
from smkc.paper.kernel.representation import CHANNELS, Representation
from smkc.paper.kernel.windows import filled_share, segments, window_starts

__all__ = [
    "CHANNELS",
    "Representation",
    "anchor_steps",
    "features",
    "filled_share",
    "images",
    "map_features",
    "scale_token",
    "segments",
    "window_starts",
]
