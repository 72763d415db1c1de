"""Pictures of the evidences around an alert, as strips of colours.

In: a view of an alert. Out: values for the template ``alert.html``, with the pictures as CSS
gradients, a few kilobytes each.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.decide.words import EVIDENCES
from smkc.plot.thinning import MAX_BINS
from smkc.plot.views import AlertView

LEAST_HIGH = 10.0  # smallest number of nats at the bright end of the colours
# The colour map viridis at equal steps: perceptually uniform, also for colour-blind readers.
VIRIDIS = (
    *("440154", "472d7b", "3b528b", "2c728e", "21918c"),
    *("28ae80", "5ec962", "addc30", "fde725"),
)


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
                "picture": _strip(nats, high),
                "most": most[name],
            }
            for name, nats in view.nats.items()
        ],
    }


def _strip(nats: NDArray[np.float64], high: float) -> str:
    """Return (R,) numbers as a gradient with hard stops, coloured from 0 to ``high``.

    If there are many rows, each colour is that of the largest number of several.
    """
    starts = np.arange(0, len(nats), -(-len(nats) // MAX_BINS))
    shares = np.nan_to_num(np.fmax.reduceat(nats, starts) / high)
    known = np.array([list(bytes.fromhex(one)) for one in VIRIDIS])
    places = np.linspace(0, 1, len(known))
    channels = [np.interp(shares, places, channel).round().astype(int) for channel in known.T]
    ends = 100 * np.append(starts[1:], len(nats)) / len(nats)
    stops = [
        # A stop at a place before the last one's end is moved to that end.
        f"#{red:02x}{green:02x}{blue:02x} 0 {end:.4g}%"
        for red, green, blue, end in zip(*channels, ends, strict=True)
    ]
    return f"linear-gradient(to right, {', '.join(stops)})"
