"""Pictures of what the detector saw around an alert: evidences over time, or kernel images.

In: a view of an alert. Out: values for the template ``alert.html``, with the pictures as data URLs
of indexed PNG files, a few kilobytes each.
"""

import base64
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.decide.words import EVIDENCES
from smkc.plot.extra import need
from smkc.plot.views import EvidenceView, KernelView

CHANNEL_WORDS = (
    ("Likeness of states", "cos g"),
    ("Likeness of changes", "cos delta"),
    ("Likeness of change sizes", "cos |delta|"),
    ("Distance of states", "log g"),
    ("Distance of changes", "log delta"),
    ("Distance of change sizes", "log |delta|"),
)

LEAST_HIGH = 10.0  # smallest number of nats at the bright end of the colours
COLOURS = "viridis"  # perceptually uniform, also for colour-blind readers, on light and dark
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
INDEXED = 3


def pictures(view: EvidenceView | KernelView) -> dict[str, Any]:
    """Draw a strip of colours per evidence, or a pair of maps per channel of the kernel image."""
    colours = need("matplotlib").colormaps[COLOURS](np.arange(256), bytes=True)
    palette = np.ascontiguousarray(colours[:, :3], np.uint8)
    chosen = (f"#{bytes(one).hex()}" for one in palette[np.linspace(0, 255, 8).astype(int)])
    drawn = _strips(view, palette) if isinstance(view, EvidenceView) else _maps(view, palette)
    return {**drawn, "ramp": f"linear-gradient(to right, {', '.join(chosen)})"}


def _strips(view: EvidenceView, palette: NDArray[np.uint8]) -> dict[str, Any]:
    """Draw the surprise of each evidence over time, all with one colour range."""
    most = {name: float(np.nanmax(nats, initial=0.0)) for name, nats in view.nats.items()}
    high = max([LEAST_HIGH, *most.values()])
    return {
        "first": view.times[0],
        "last": view.times[-1],
        "high": high,
        "strips": [
            {
                "name": name,
                "sentence": EVIDENCES[name].sentence if name in EVIDENCES else "",
                "picture": _png(nats[None], 0.0, high, palette),
                "most": most[name],
            }
            for name, nats in view.nats.items()
        ],
    }


def _maps(view: KernelView, palette: NDArray[np.uint8]) -> dict[str, Any]:
    """Draw the six channels of both windows, with one colour range per channel."""
    maps = []
    for (words, symbol), *pair in zip(CHANNEL_WORDS, view.normal, view.kernel, strict=True):
        low, high = _colour_range(pair)
        normal, alert = (_png(one, low, high, palette) for one in pair)
        maps.append(
            {
                "words": words,
                "symbol": symbol,
                "low": low,
                "high": high,
                "normal": normal,
                "alert": alert,
            }
        )
    return {
        "length": view.kernel.shape[-1],
        "normal_start": view.normal_window[0],
        "start": view.window[0],
        "maps": maps,
    }


def _colour_range(channels: Sequence[NDArray[Any]]) -> tuple[float, float]:
    """Return the 0.5 and 99.5 percentiles of several (L, L) channels, without their diagonals."""
    values = np.concatenate([channel[~np.eye(len(channel), dtype=bool)] for channel in channels])
    if not values.size:
        return 0.0, 1.0
    low, high = np.percentile(values, [0.5, 99.5])
    return float(low), float(high if high > low else low + 1)


def _png(channel: NDArray[Any], low: float, high: float, palette: NDArray[np.uint8]) -> str:
    """Return a PNG of a 2-dimensional array as a data URL, coloured from ``low`` to ``high``."""
    height, width = channel.shape
    place = np.clip((np.asarray(channel, np.float64) - low) / (high - low), 0, 1)
    lines = np.zeros((height, width + 1), np.uint8)  # a line's first byte 0: no PNG filter
    lines[:, 1:] = np.round(255 * np.nan_to_num(place))
    chunks = {
        b"IHDR": struct.pack(">IIBBBBB", width, height, 8, INDEXED, 0, 0, 0),
        b"PLTE": palette.tobytes(),
        b"IDAT": zlib.compress(lines.tobytes(), 9),
        b"IEND": b"",
    }
    png = PNG_SIGNATURE
    for kind, body in chunks.items():
        check = zlib.crc32(kind + body)
        png += struct.pack(">I", len(body)) + kind + body + struct.pack(">I", check)
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")
