"""What is shown of an alert: its window at the peak, a normal one beside it, its traces.

In: a recording, a fitted detector and its alerts. Out: one :class:`AlertView` an alert, the
strongest first; both the page and the files draw from these.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.decide import Alert, Cause, WindowScores
from smkc.detector import Detector
from smkc.kernel import images
from smkc.recording import Recording

__all__ = ["AlertView", "TraceView", "strongest", "view_alerts"]

MAX_TRACES = 4
MAX_MARGIN_ROWS = 240


@dataclass(frozen=True, kw_only=True)
class TraceView:
    """One variable around an alert: (R,) times and values, NaN where it was not observed."""

    cause: Cause
    times: NDArray[Any]
    values: NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class AlertView:
    """One alert with all that is drawn of it.

    Parameters
    ----------
    number
        the alert's place in time among all alerts, from 1.
    traces
        the variables that contributed most and that are in this recording, at most four.
    kernel, normal
        (6, L, L) kernel images of the window at the peak and of a typical window.
    window, normal_window
        first and last time of these two windows.
    """

    number: int
    alert: Alert
    traces: tuple[TraceView, ...]
    kernel: NDArray[np.float32]
    normal: NDArray[np.float32]
    window: tuple[Any, Any]
    normal_window: tuple[Any, Any]


def strongest(alerts: Sequence[Alert], limit: int) -> list[tuple[int, Alert]]:
    """Return up to ``limit`` alerts with their numbers in time, highest score first."""
    numbered = list(enumerate(alerts, start=1))
    return sorted(numbered, key=lambda pair: (pair[1].p_value, -pair[1].score))[:limit]


def view_alerts(
    recording: Recording, detector: Detector, alerts: Sequence[Alert], limit: int = 12
) -> list[AlertView]:
    """Gather what is drawn of the strongest alerts; ``alerts`` are in order of time."""
    chosen = strongest(alerts, limit)
    if not chosen:
        return []
    windows = detector.score_windows(recording)
    normal = _typical_window(windows, alerts)
    peaks = [_peak_window(windows, alert) for _, alert in chosen]
    starts = np.array([windows.first_row[at] for at in [normal, *peaks]], np.int64)
    learned = detector.fitted_
    prepared = learned.prepare(recording)
    kernel_images, _ = images(prepared, starts, detector.window, learned.density.sketch)
    return [
        AlertView(
            number=number,
            alert=alert,
            traces=_traces(recording, alert, detector.window),
            kernel=image,
            normal=kernel_images[0],
            window=(windows.start[peak], windows.end[peak]),
            normal_window=(windows.start[normal], windows.end[normal]),
        )
        for (number, alert), peak, image in zip(chosen, peaks, kernel_images[1:], strict=True)
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


def _traces(recording: Recording, alert: Alert, window: int) -> tuple[TraceView, ...]:
    """Cut the most guilty variables out of the recording, with a margin before and after."""
    margin = min(max(window, alert.last_row - alert.first_row + 1), MAX_MARGIN_ROWS)
    part = recording.rows(max(0, alert.first_row - margin), alert.last_row + 1 + margin)
    known = set(part.names)
    shown = [cause for cause in alert.causes if cause.variable in known][:MAX_TRACES]
    return tuple(
        TraceView(cause=cause, times=part.times, values=part.trace(cause.variable))
        for cause in shown
    )
