"""Pictures of the evidences around an alert, as strips of colours.

In: a view of an alert. Out: values for the template ``alert.html``, with the pictures as data URLs
of indexed PNG files, a few kilobytes each.
"""

import base64
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.decide.words import EVIDENCES
from smkc.plot.views import AlertView

LEAST_HIGH = 10.0  # smallest number of nats at the bright end of the colours
# The colour map viridis at equal steps: perceptually uniform, also for colour-blind readers.
VIRIDIS = (
    *("440154", "472d7b", "3b528b", "2c728e", "21918c"),
    *("28ae80", "5ec962", "addc30", "fde725"),
)
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
INDEXED = 3


def evidence_strips(view: AlertView) -> dict[str, Any]:
    """Draw the surprise of each evidence over time, all with one colour range."""
    most = {name: float(np.nanmax(nats, initial=0.0)) for name, nats in view.nats.items()}
    high = max([LEAST_HIGH, *most.values()])
    return {
        "first": view.times[0],
        "last": view.times[-1],
        "high": high,
        "ramp": f"linear-gradient(to right, {', '.join(f'#{one}' for one in VIRIDIS)})",
        "strips": [
            {
                "name": name,
                "sentence": EVIDENCES[name].sentence if name in EVIDENCES else "",
                "picture": _png(nats, high),
                "most": most[name],
            }
            for name, nats in view.nats.items()
        ],
    }


def _palette() -> bytes:
    """Return red, green and blue of 256 colours, between those of ``VIRIDIS``."""
    known = np.array([list(bytes.fromhex(one)) for one in VIRIDIS])
    places = np.linspace(0, len(known) - 1, 256)
    channels = [np.interp(places, np.arange(len(known)), channel) for channel in known.T]
    return np.stack(channels, axis=1).round().astype(np.uint8).tobytes()


def _png(nats: NDArray[np.float64], high: float) -> str:
    """Return a PNG of (R,) numbers as a data URL, one pixel high, coloured from 0 to ``high``."""
    line = np.zeros(len(nats) + 1, np.uint8)  # a line's first byte 0: no PNG filter
    line[1:] = np.round(255 * np.nan_to_num(np.clip(nats / high, 0, 1)))
    chunks = {
        b"IHDR": struct.pack(">IIBBBBB", len(nats), 1, 8, INDEXED, 0, 0, 0),
        b"PLTE": _palette(),
        b"IDAT": zlib.compress(line.tobytes(), 9),
        b"IEND": b"",
    }
    png = PNG_SIGNATURE
    for kind, body in chunks.items():
        check = zlib.crc32(kind + body)
        png += struct.pack(">I", len(body)) + kind + body + struct.pack(">I", check)
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")
