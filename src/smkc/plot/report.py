"""The report on one recording, its alerts and their causes, as one HTML file.

In: a scored recording. Out: a file that opens in any browser, without network access.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from smkc.decide import Alert, Scored
from smkc.errors import InputError
from smkc.evidence.variables import describe_seasons
from smkc.fleet import Change, Incident, hold_against
from smkc.plot.charts import Chart, cardinality_chart, presence_chart, score_chart, trace_chart
from smkc.plot.page import Tile, write_page
from smkc.plot.pictures import evidence_strips
from smkc.plot.thinning import presence_grid
from smkc.plot.views import AlertView, view_alerts
from smkc.plot.wording import duration, in_full, percent, span
from smkc.progress import task
from smkc.recording import Recording

MAX_NAMED = 8  # causes named under an alert; the others are only counted

# With fewer alerts than this, the page also shows the strangest moments besides the alerts.
FEW_ALERTS = 5

SCORE_WORDS = {
    "evidence": "How surprising each row is: minus the logarithm of its p-value, by its most "
    "unusual variable, by the whole system, or by both together. Higher is stranger.",
}

WINDOW_WORDS = (
    "How unlike the reference data each moment is: the higher, the stranger. A moment takes the "
    "score of the strangest window that holds it, so a band reaches a little beyond the trouble "
    "itself."
)


def report(
    path: str | Path,
    scored: Scored,
    alerts: Sequence[Alert] | None = None,
    *,
    title: str = "What smkc found",
    max_alerts: int = 12,
    incidents: Sequence[Incident] = (),
    routine: Sequence[Change] = (),
) -> Path:
    """Write the report page and return its path.

    Parameters
    ----------
    path
        file to write; an existing file is replaced.
    scored
        the result of :meth:`smkc.Detector.score`.
    alerts
        alerts to show; by default all that were found.
    title
        title of the page.
    max_alerts
        number of alerts shown in detail, strongest first; the page gives the total.
    incidents, routine
        known incidents and routine changes, where the truth about the telemetry is known.
    """
    recording = scored.recording
    if len(recording) == 0:
        raise InputError("the recording has no rows, so there is nothing to report")
    with task("writing the report", total=3) as advance:
        found = scored.alerts() if alerts is None else list(alerts)
        advance(1)
        views = view_alerts(scored, found, max_alerts)
        moments = scored.strangest(max(0, FEW_ALERTS - len(found)))
        advance(1)
        charts: dict[str, Chart] = {
            "score": score_chart(
                recording.times, scored.alarms, scored.alarm_threshold, found, incidents
            ),
            "cardinality": cardinality_chart(recording, found),
            "presence": presence_chart(recording, found),
            **_trace_charts(views),
        }
        zone = " UTC" if recording.times.dtype.kind == "M" else ""
        target = write_page(
            path,
            "report.html",
            title,
            charts,
            when=span(recording.times[0], recording.times[-1]) + zone,
            tiles=_tiles(scored, len(found)),
            score_words=SCORE_WORDS.get(scored.settings["detector"], WINDOW_WORDS),
            truth=_truth(found, incidents, routine) if incidents or routine else None,
            grid=presence_grid(recording),
            views=[(view, evidence_strips(view)) for view in views],
            max_named=MAX_NAMED,
            n_alerts=len(found),
            moments=moments,
            learned=scored.learned,
            notes=scored.notes,
            seasons=describe_seasons(
                scored.fitted.seasons, scored.settings.get("time_zone", "UTC")
            ),
            words=_glossary(scored),
        )
        advance(1)
    return target


def _tiles(scored: Scored, n_alerts: int) -> list[Tile]:
    """Return tiles with the numbers of alerts, rows and variables, churn, and the rate."""
    recording = scored.recording
    appeared, vanished = _churn(recording, scored.fitted.window)
    counts = recording.cardinality
    found = f"{n_alerts:,} alert{'s' * (n_alerts > 1)}" if n_alerts else "No alert"
    length = f"over {duration(recording.times[0], recording.times[-1])}"
    observed = f"{counts.min():,} to {counts.max():,} in a row"
    churn = f"{appeared:,} appeared, {vanished:,} vanished"
    allowed = percent(scored.false_alarm_rate)
    return [
        Tile(found, "found", "past the threshold", is_hot=n_alerts > 0),
        Tile(in_full(len(recording)), "rows", length),
        Tile(in_full(len(recording.names)), "variables seen", observed),
        Tile(in_full(appeared + vanished), "comings and goings", churn),
        Tile(allowed, "false alarms allowed", "share of normal time steps"),
    ]


def _churn(recording: Recording, window: int) -> tuple[int, int]:
    """Count variables first observed after the first window, and last observed before the last."""
    n_names = len(recording.names)
    first = np.full(n_names, len(recording), np.int64)
    last = np.full(n_names, -1, np.int64)
    np.minimum.at(first, recording.codes, recording.row_numbers)
    np.maximum.at(last, recording.codes, recording.row_numbers)
    seen = last >= 0
    appeared = int((first[seen] >= window).sum())
    return appeared, int((last[seen] < len(recording) - window).sum())


def _trace_charts(views: Sequence[AlertView]) -> dict[str, Chart]:
    """Return the charts of all traces, named by the alert's number and the cause's rank."""
    charts = {}
    for view in views:
        ranks = {id(cause): rank for rank, cause in enumerate(view.alert.causes, start=1)}
        for trace in view.traces:
            name = f"alert-{view.number}-{ranks[id(trace.cause)]}"
            charts[name] = trace_chart(trace, view.alert)
    return charts


def _truth(
    alerts: Sequence[Alert], incidents: Sequence[Incident], routine: Sequence[Change]
) -> dict[str, Any]:
    """Compare the alerts with the known incidents and routine changes."""
    finding = hold_against(alerts, incidents)
    number_of = {id(alert): number for number, alert in enumerate(alerts, start=1)}
    return {
        "n_found": finding.n_found,
        "n_incidents": len(finding.by_incident),
        "n_false": len(finding.false_alarms),
        "incidents": [
            {
                "letter": chr(ord("A") + place % 26),
                "start": incident.start,
                "kind": incident.kind,
                "story": incident.story,
                "found_by": [number_of[id(alert)] for alert in met],
            }
            for place, (incident, met) in enumerate(finding.by_incident)
        ],
        "routine": [
            {
                "start": change.start,
                "kind": change.kind,
                "story": change.story,
                "is_alarmed": any(map(change.meets, finding.false_alarms)),
            }
            for change in routine
        ],
    }


def _glossary(scored: Scored) -> dict[str, str]:
    """Return definitions of the page's terms, and the detector's settings."""
    return {
        "score": SCORE_WORDS.get(
            scored.settings["detector"],
            "Mean distance from a window to its nearest windows in the reference data, which were "
            "taken as normal. Higher is stranger.",
        ),
        "threshold": "The score that normal time steps exceed no more often than was asked for.",
        "share": "How much of what made the window strange is due to this variable.",
        "level": "The variable's own values were unusual.",
        "jump": "The variable took a larger step than it usually does.",
        "relation": "The variable stopped moving with the others, or began to.",
        "presence": "The variable appeared, vanished or reported differently.",
        "detector": ", ".join(f"{key} = {value}" for key, value in scored.settings.items()),
    }
