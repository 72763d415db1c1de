"""What the page shows of one alert: causes by name, and pictures of what the detector saw.

In: a view of an alert. Out: values for the template ``alert.html``.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from smkc.decide import Alert, Cause
from smkc.decide.words import EVIDENCES
from smkc.plot.raster import colour_range, picture, ramp
from smkc.plot.views import AlertView, EvidenceView, KernelView

__all__ = ["ShownAlert", "shown_alert"]

MAX_NAMED = 8  # causes named under an alert; the rest is a count

CHANNEL_WORDS = {
    "cos_g": ("Likeness of states", "cos g"),
    "cos_delta": ("Likeness of changes", "cos delta"),
    "cos_abs": ("Likeness of change sizes", "cos |delta|"),
    "log_g": ("Distance of states", "log g"),
    "log_delta": ("Distance of changes", "log delta"),
    "log_abs": ("Distance of change sizes", "log |delta|"),
}

LEAST_HIGH = 10.0  # nats at the bright end of the colours, at least


@dataclass(frozen=True, kw_only=True)
class ShownAlert:
    """An alert as the template takes it; it has strips of evidences or maps of kernel images."""

    number: int
    alert: Alert
    named_causes: tuple[Cause, ...]
    n_more: int
    share_of_more: float
    has_bands: bool
    strips: dict[str, Any] | None
    kernels: dict[str, Any] | None


def shown_alert(view: AlertView) -> ShownAlert:
    """Prepare one alert for the template."""
    causes, detail = view.alert.causes, view.detail
    rest = causes[MAX_NAMED:]
    return ShownAlert(
        number=view.number,
        alert=view.alert,
        named_causes=causes[:MAX_NAMED],
        n_more=len(rest),
        share_of_more=sum(cause.share for cause in rest),
        has_bands=any(trace.usual is not None for trace in view.traces),
        strips=_strips(detail) if isinstance(detail, EvidenceView) else None,
        kernels=_kernels(detail) if isinstance(detail, KernelView) else None,
    )


def _strips(view: EvidenceView) -> dict[str, Any]:
    """Draw each evidence's surprise over time as a strip, all in one colour range."""
    most = {name: float(np.nanmax(nats, initial=0.0)) for name, nats in view.nats.items()}
    high = max([LEAST_HIGH, *most.values()])
    return {
        "first": view.times[0],
        "last": view.times[-1],
        "high": high,
        "ramp": ramp(),
        "each": [
            {
                "name": name,
                "sentence": EVIDENCES[name].sentence if name in EVIDENCES else "",
                "picture": picture(nats[None], 0.0, high),
                "most": most[name],
            }
            for name, nats in view.nats.items()
        ],
    }


def _kernels(view: KernelView) -> dict[str, Any]:
    """Draw six pairs of pictures, each pair in one colour range."""
    maps = []
    for channel, (words, symbol) in enumerate(CHANNEL_WORDS.values()):
        pair = (view.normal[channel], view.kernel[channel])
        low, high = colour_range(pair)
        normal, alert = (picture(one, low, high) for one in pair)
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
        "ramp": ramp(),
        "each": maps,
    }
