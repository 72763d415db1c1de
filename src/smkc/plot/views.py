"""Data shown for an alert: traces of its causes, and the surprise of each evidence.

In: a scored recording and its alerts. Out: one :class:`AlertView` per alert, strongest first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.decide import Alert, Cause, Fitted, Scored
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
    times, nats
        (R,) times around the alert, and by evidence (R,) its surprise; no evidence for the paper's
        detectors.
    """

    number: int
    alert: Alert
    traces: tuple[TraceView, ...]
    times: NDArray[Any]
    nats: Mapping[str, NDArray[np.float64]]


def strongest(alerts: Sequence[Alert], limit: int) -> list[tuple[int, Alert]]:
    """Return up to ``limit`` alerts with their numbers, lowest p-value first, then by score."""
    numbered = list(enumerate(alerts, start=1))
    return sorted(numbered, key=lambda pair: (pair[1].p_value, -pair[1].score))[:limit]


def view_alerts(scored: Scored, alerts: Sequence[Alert], limit: int) -> list[AlertView]:
    """Return the data to draw for the strongest of the alerts."""
    views = []
    for number, alert in strongest(alerts, limit):
        margin = _margin(alert, LEAST_EVIDENCE_ROWS)
        rows = slice(max(0, alert.first_row - margin), alert.last_row + 1 + margin)
        views.append(
            AlertView(
                number=number,
                alert=alert,
                traces=_traces(scored.recording, alert, scored.fitted),
                times=scored.times[rows],
                nats={name: one[rows] for name, one in scored.evidences.items()},
            )
        )
    return views


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
