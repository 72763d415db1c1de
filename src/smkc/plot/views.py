"""Data shown for an alert: traces of its causes, and its evidences or kernel images.

In: a scored recording and its alerts. Out: one :class:`AlertView` per alert, strongest first, from
which both the page and the figures are drawn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.decide import Alert, Cause, Fitted, Scored, WindowScores
from smkc.recording import Recording

MAX_TRACES = 4
MAX_MARGIN_ROWS = 240
LEAST_EVIDENCE_ROWS = 48


@dataclass(frozen=True, kw_only=True)
class TraceView:
    """One variable around an alert: (R,) times and values, NaN where it was not observed.

    ``usual`` holds the (R,) lower and upper limits of its usual values; None if they are unknown.
    """

    cause: Cause
    times: NDArray[Any]
    values: NDArray[np.float32]
    usual: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None


@dataclass(frozen=True, kw_only=True)
class KernelView:
    """An alert's window beside a normal one: (6, L, L) kernel images, first and last times."""

    kernel: NDArray[np.float32]
    normal: NDArray[np.float32]
    window: tuple[Any, Any]
    normal_window: tuple[Any, Any]


@dataclass(frozen=True, kw_only=True)
class EvidenceView:
    """Surprise of each evidence around an alert: (R,) times, and (R,) nats by evidence name."""

    times: NDArray[Any]
    nats: Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True, kw_only=True)
class AlertView:
    """One alert with the data that are drawn for it.

    Parameters
    ----------
    number
        position of the alert among all alerts in order of time, from 1.
    alert
        the alert.
    traces
        at most 4 variables of the recording, those that contributed most.
    detail
        kernel images or evidences, depending on the detector.
    """

    number: int
    alert: Alert
    traces: tuple[TraceView, ...]
    detail: KernelView | EvidenceView


def strongest(alerts: Sequence[Alert], limit: int) -> list[tuple[int, Alert]]:
    """Return up to ``limit`` alerts with their numbers, lowest p-value first, then by score."""
    numbered = list(enumerate(alerts, start=1))
    return sorted(numbered, key=lambda pair: (pair[1].p_value, -pair[1].score))[:limit]


def view_alerts(
    scored: Scored, alerts: Sequence[Alert] | None = None, limit: int = 12
) -> list[AlertView]:
    """Return the data to draw for the strongest alerts; ``alerts`` defaults to all found."""
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
    """Return the kernel images of each alert's window and of a normal one.

    Return an empty list if the detector does not score kernel images.
    """
    windows = scored.windows
    normal = _typical_window(windows, alerts)
    worst = scored.windows_scored.worst
    peaks = [worst(alert.first_row, alert.last_row) or 0 for alert in shown]
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


def _typical_window(windows: WindowScores, alerts: Sequence[Alert]) -> int:
    """Return the number of the window nearest to the median score, outside alerts if possible."""
    is_free = np.isfinite(windows.score)
    for alert in alerts:
        is_free &= (windows.last_row < alert.first_row) | (windows.first_row > alert.last_row)
    if not is_free.any():
        is_free = np.isfinite(windows.score)
    middle = np.median(windows.score[is_free])
    return int(np.argmin(np.where(is_free, np.abs(windows.score - middle), np.inf)))


def _traces(recording: Recording, alert: Alert, fitted: Fitted) -> tuple[TraceView, ...]:
    """Return the traces of the main causes, with a margin of rows before and after the alert."""
    margin = _margin(alert, fitted.window)
    part = recording.rows(max(0, alert.first_row - margin), alert.last_row + 1 + margin)
    known = set(part.names)
    shown = [cause for cause in alert.causes if cause.variable in known][:MAX_TRACES]
    return tuple(
        TraceView(
            cause=cause,
            times=part.times,
            values=part.trace(cause.variable),
            usual=fitted.usual_band(cause.variable, part.times),
        )
        for cause in shown
    )


def _margin(alert: Alert, least: int) -> int:
    """Return the number of rows shown on each side of an alert."""
    return min(max(least, alert.last_row - alert.first_row + 1), MAX_MARGIN_ROWS)
