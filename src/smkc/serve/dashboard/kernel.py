"""Kernel: what an alert's window looks like beside a normal one, as the kernel's six channels.

In: a lane's journalled rows and an alert. Out: a JSON-able dictionary that the alert's page draws.
The evidences judge rows without these images; they are shown because a change of the system's
inner order, that no single trace betrays, can be seen in them.
"""

import base64
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smkc.paper.kernel import CHANNELS, images
from smkc.paper.sketch import Sketch
from smkc.recording import Recording, Scaling
from smkc.serve.rows import AlertRecord

if TYPE_CHECKING:
    from smkc.serve.store import LaneStore

__all__ = ["kernel_view", "warm_up"]

# Rows a window; as many as a map can show on a phone, a point a row.
WINDOW = 32

# So many windows before the alert are looked through for a typical one, so far apart.
WINDOWS_BEFORE = 12
SHARE_APART = 4

# The outermost values of a channel share its outermost colours.
OUTERMOST = (0.5, 99.5)

LEVELS = 255


def kernel_view(lane: "LaneStore", alert: AlertRecord) -> dict[str, Any] | None:
    """Compare the window around an alert's peak with a typical one from before the alert.

    Parameters
    ----------
    lane
        where the alert's rows are.
    alert
        any of this lane's.

    Returns
    -------
    None if too few rows are kept. Otherwise ``length`` L, ``window`` and ``normal_window``, each
    first and last time in milliseconds, and ``channels``: for each its ``name``, ``low`` and
    ``high``, and ``alert`` and ``normal``, the (L, L) values from low to high as bytes 0 to 255,
    in base 64.
    """
    before = WINDOWS_BEFORE * WINDOW
    first = max(lane.first_kept_row, alert.first_row - before)
    last = min(lane.n_rows, alert.last_row + 1 + WINDOW)
    if last - first < 2 * WINDOW:
        return None
    rows = lane.rows(first, last)
    times = rows.times.astype("datetime64[ms]").astype(np.int64)
    quiet = int(np.searchsorted(times, alert.start))
    if quiet < WINDOW:
        return None
    peak = int(np.searchsorted(times, alert.peak))
    strange = int(np.clip(peak - 3 * WINDOW // 4, 0, len(rows) - WINDOW))
    starts = np.arange(0, quiet - WINDOW + 1, max(1, WINDOW // SHARE_APART), dtype=np.int64)
    drawn = _drawn(rows, quiet, np.append(starts, strange))
    normal = _typical(drawn[:-1])
    return {
        "length": WINDOW,
        "window": _span(times, strange),
        "normal_window": _span(times, int(starts[normal])),
        "channels": [
            _channel(name, drawn[normal, at], drawn[-1, at]) for at, name in enumerate(CHANNELS)
        ],
    }


def warm_up() -> None:
    """Compile what :func:`kernel_view` needs, on made-up rows; the first time that takes long."""
    n = 2 * WINDOW
    times = (1_000_000_000 * np.arange(n, dtype=np.int64)).view("M8[ns]")
    values = np.sin(np.arange(2 * n)).astype(np.float32)
    codes = np.tile(np.arange(2), n)
    rows = Recording.from_observations(times, np.repeat(np.arange(n), 2), codes, values, ("a", "b"))
    _drawn(rows, WINDOW, np.arange(2, dtype=np.int64))


def _drawn(rows: Recording, quiet: int, starts: NDArray[np.int64]) -> NDArray[np.float32]:
    """(B, K, L, L) kernel images of windows, in units of the first ``quiet`` rows."""
    scaled = Scaling.fit(rows.rows(0, quiet)).start().scale(rows)
    drawn, _ = images(scaled, starts, WINDOW, Sketch())
    return drawn


def _typical(drawn: NDArray[np.float32]) -> int:
    """Return which of B images (B, K, L, L) lies nearest to the middle of them all."""
    means = drawn.mean(axis=(2, 3))
    spread = np.maximum(means.std(axis=0), 1e-6)
    away = np.abs(means - np.median(means, axis=0)) / spread
    return int(np.argmin(away.sum(axis=1)))


def _span(times: NDArray[np.int64], start: int) -> list[int]:
    return [int(times[start]), int(times[start + WINDOW - 1])]


def _channel(name: str, normal: NDArray[Any], strange: NDArray[Any]) -> dict[str, Any]:
    """Write both pictures of a channel in one range; the diagonal, always alike, has no say."""
    is_off = ~np.eye(len(normal), dtype=bool)
    values = np.concatenate([normal[is_off], strange[is_off]])
    low, high = (float(edge) for edge in np.percentile(values, OUTERMOST))
    if not high > low:
        high = low + 1.0
    return {
        "name": name,
        "low": low,
        "high": high,
        "normal": _levels(normal, low, high),
        "alert": _levels(strange, low, high),
    }


def _levels(picture: NDArray[Any], low: float, high: float) -> str:
    """(L, L) values -> bytes in base 64, row by row."""
    place = np.clip((picture.astype(np.float64) - low) / (high - low), 0.0, 1.0)
    levels = np.round(LEVELS * place).astype(np.uint8)
    return base64.b64encode(levels.tobytes()).decode("ascii")
