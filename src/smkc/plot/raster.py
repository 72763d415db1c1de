"""Channels of a kernel image as tiny pictures that sit inside the page.

In: (L, L) channels. Out: a colour range shared by those that are compared, and data addresses
of indexed PNG pictures, a few kilobytes each.
"""

import base64
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.plot.extra import need

__all__ = ["colour_range", "picture", "ramp"]

COLOURS = "viridis"  # even steps to the eye, and to the colour-blind; reads on light and dark
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
INDEXED = 3


def colour_range(channels: Sequence[NDArray[Any]]) -> tuple[float, float]:
    """Find one range for several pictures of one channel, its outermost cells left out."""
    values = np.concatenate([channel[~np.eye(len(channel), dtype=bool)] for channel in channels])
    if not values.size:
        return 0.0, 1.0
    low, high = np.percentile(values, [0.5, 99.5])
    return float(low), float(high if high > low else low + 1)


def picture(channel: NDArray[Any], low: float, high: float) -> str:
    """Return a PNG of one channel as a data address, ``low`` to ``high`` over the colours."""
    height, width = channel.shape
    place = np.clip((np.asarray(channel, np.float64) - low) / (high - low), 0, 1)
    levels = np.round(255 * np.nan_to_num(place)).astype(np.uint8)
    lines = np.zeros((height, width + 1), np.uint8)  # each line opens with its filter, 0: none
    lines[:, 1:] = levels
    header = struct.pack(">IIBBBBB", width, height, 8, INDEXED, 0, 0, 0)
    png = PNG_SIGNATURE + b"".join(
        _chunk(kind, body)
        for kind, body in (
            (b"IHDR", header),
            (b"PLTE", _palette().tobytes()),
            (b"IDAT", zlib.compress(lines.tobytes(), 9)),
            (b"IEND", b""),
        )
    )
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")


def ramp(steps: int = 8) -> str:
    """Return the colours from low to high as a CSS gradient, for the legend."""
    chosen = _palette()[np.linspace(0, 255, steps).astype(int)]
    return f"linear-gradient(to right, {', '.join(f'#{bytes(one).hex()}' for one in chosen)})"


def _palette() -> NDArray[np.uint8]:
    """(256, 3) the colours."""
    colours = need("matplotlib").colormaps[COLOURS](np.arange(256), bytes=True)
    return np.ascontiguousarray(colours[:, :3], np.uint8)


def _chunk(kind: bytes, body: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(kind + body))
    return struct.pack(">I", len(body)) + kind + body + check
