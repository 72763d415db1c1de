"""What is shown of an alert: its traces, and its window beside a normal one or its evidences.

In: a scored recording and its alerts. Out: one :class:`AlertView` an alert, the
strongest first; both the page and the files draw from these.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.decide import Alert, Cause, Scored, WindowScores
from smkc.plot.usual import usual_band
from smkc.recording import Recording

__all__ = [
    "AlertView",
    "EvidenceView",
    "KernelView",
    "TraceView",
    "strongest",
    "view_alerts",
]

MAX_TRACES = 4
MAX_MARGIN_ROWS = 240
LEAST_EVIDENCE_ROWS = 48


@dataclass(frozen=True, kw_only=True)
class TraceView:
    """One variable around an alert: (R,) times and values, NaN where it was not observed.

    ``usual`` are the lower and upper ends of what is usual at these times; None where nothing is.
    """

    cause: Cause
    times: NDArray[Any]
    values: NDArray[np.float32]
    usual: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None


@dataclass(frozen=True, kw_only=True)
class KernelView:
    """An alert's window beside a normal one.

    Parameters
    ----------
    kernel, normal
        (6, L, L) kernel images of the window at the peak and of a typical window.
    window, normal_window
        first and last time of these two windows.
    """

    kernel: NDArray[np.float32]
    normal: NDArray[np.float32]
    window: tuple[Any, Any]
    normal_window: tuple[Any, Any]


@dataclass(frozen=True, kw_only=True)
class EvidenceView:
    """How surprised each evidence was around an alert: (R,) times, and by name (R,) nats."""

    times: NDArray[Any]
    nats: Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True, kw_only=True)
class AlertView:
    """One alert with all that is drawn of it.

    Parameters
    ----------
    number
        the alert's place in time among all alerts, from 1.
    traces
        the variables that contributed most and that are in this recording, at most four.
    detail
        what the detector saw: kernel images, or evidences.
    """

    number: int
    alert: Alert
    traces: tuple[TraceView, ...]
    detail: KernelView | EvidenceView


def strongest(alerts: Sequence[Alert], limit: int) -> list[tuple[int, Alert]]:
    """Return up to ``limit`` alerts with their numbers in time, highest score first."""
    numbered = list(enumerate(alerts, start=1))
    return sorted(numbered, key=lambda pair: (pair[1].p_value, -pair[1].score))[:limit]


def view_alerts(
    scored: Scored, alerts: Sequence[Alert] | None = None, limit: int = 12
) -> list[AlertView]:
    """Gather what is drawn of the strongest alerts; by default of those that were found."""
    alerts = scored.alerts() if alerts is None else alerts
    chosen = strongest(alerts, limit)
    if not chosen:
        return []
    shown = [alert for _, alert in chosen]
    details = _kernels(scored, alerts, shown) or _evidences(scored, shown)
    return [
        AlertView(
            number=number,
            alert=alert,
            traces=_traces(scored.recording, alert, scored.fitted),
            detail=detail,
        )
        for (number, alert), detail in zip(chosen, details, strict=True)
    ]


def _evidences(scored: Scored, shown: Sequence[Alert]) -> Sequence[KernelView | EvidenceView]:
    views = []
    for alert in shown:
        margin = _margin(alert, LEAST_EVIDENCE_ROWS)
        rows = slice(max(0, alert.first_row - margin), alert.last_row + 1 + margin)
        views.append(
            EvidenceView(
                times=scored.times[rows],
                nats={name: one[rows] for name, one in scored.evidences.items()},
            )
        )
    return views


def _kernels(
    scored: Scored, alerts: Sequence[Alert], shown: Sequence[Alert]
) -> Sequence[KernelView | EvidenceView]:
    """Return each alert's window beside a normal one; none if scores are not made from images."""
    windows = scored.windows
    normal = _typical_window(windows, alerts)
    peaks = [_peak_window(windows, alert) for alert in shown]
    images = scored.fitted.kernel_images(scored.windows_scored, [normal, *peaks])
    if images is None:
        return []
    return [
        KernelView(
            kernel=image,
            normal=images[0],
            window=(windows.start[peak], windows.end[peak]),
            normal_window=(windows.start[normal], windows.end[normal]),
        )
        for peak, image in zip(peaks, images[1:], strict=True)
    ]


def _peak_window(windows: WindowScores, alert: Alert) -> int:
    """Find the highest window among those that touch the alert."""
    touches = (windows.last_row >= alert.first_row) & (windows.first_row <= alert.last_row)
    return int(np.argmax(np.where(touches & np.isfinite(windows.score), windows.score, -np.inf)))


def _typical_window(windows: WindowScores, alerts: Sequence[Alert]) -> int:
    """Find the window nearest to the median score, away from every alert if there is one."""
    is_free = np.isfinite(windows.score)
    for alert in alerts:
        is_free &= (windows.last_row < alert.first_row) | (windows.first_row > alert.last_row)
    if not is_free.any():
        is_free = np.isfinite(windows.score)
    middle = np.median(windows.score[is_free])
    return int(np.argmin(np.where(is_free, np.abs(windows.score - middle), np.inf)))


def _traces(recording: Recording, alert: Alert, learned: Any) -> tuple[TraceView, ...]:
    """Cut the most guilty variables out of the recording, with a margin before and after."""
    margin = _margin(alert, learned.window)
    part = recording.rows(max(0, alert.first_row - margin), alert.last_row + 1 + margin)
    known = set(part.names)
    shown = [cause for cause in alert.causes if cause.variable in known][:MAX_TRACES]
    return tuple(
        TraceView(
            cause=cause,
            times=part.times,
            values=part.trace(cause.variable),
            usual=usual_band(learned, cause.variable, part.times),
        )
        for cause in shown
    )


def _margin(alert: Alert, least: int) -> int:
    """Return how many rows are shown on either side of an alert."""
    return min(max(least, alert.last_row - alert.first_row + 1), MAX_MARGIN_ROWS)
