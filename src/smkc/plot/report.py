"""The report: one recording, what was found in it and why, as one HTML file.

In: a scored recording. Out: a file that opens anywhere, without network.
"""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from smkc.decide import Alert, Scored
from smkc.errors import InputError
from smkc.fleet import Change, Incident, hold_against
from smkc.plot import sections
from smkc.plot.charts import (
    Chart,
    cardinality_chart,
    presence_chart,
    score_chart,
    trace_chart,
)
from smkc.plot.page import page
from smkc.plot.thinning import presence_grid
from smkc.plot.truth import truth_section
from smkc.plot.views import AlertView, view_alerts
from smkc.progress import task
from smkc.version import VERSION

__all__ = ["report"]

# Where there are fewer alerts than this, the page shows the next strangest moments too.
FEW_ALERTS = 5


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
    """Write the report page and return where it is.

    Parameters
    ----------
    path
        where to write; an existing file is replaced.
    scored
        what :meth:`smkc.Detector.score` returned.
    alerts
        those to show; by default all that were found.
    max_alerts
        only the strongest alerts are shown in detail; the page says how many there are.
    incidents, routine
        what is known to have happened, for made-up telemetry.
    """
    recording = scored.recording
    if len(recording) == 0:
        raise InputError("the recording has no rows, so there is nothing to report")
    with task("writing the report", total=3) as advance:
        found = scored.alerts() if alerts is None else list(alerts)
        advance(1)
        views = view_alerts(scored, found, max_alerts)
        advance(1)
        charts: dict[str, Chart] = {
            "score": score_chart(
                recording.times, scored.alarms, scored.alarm_threshold, found, incidents
            ),
            "cardinality": cardinality_chart(recording, found),
            "presence": presence_chart(recording, found),
            **_trace_charts(views),
        }
        grid = presence_grid(recording)
        truth = ""
        if incidents or routine:
            truth = truth_section(hold_against(found, incidents), found, routine)
        body = "".join(
            [
                sections.headline_section(
                    title, recording, found, scored.false_alarm_rate, scored.fitted.window
                ),
                sections.score_section(
                    charts["score"], scored.settings, len(found), bool(incidents)
                ),
                truth,
                sections.presence_section(
                    charts, len(grid.names), grid.n_variables, grid.rows_per_bin
                ),
                _alerts(views, len(found), charts),
                _next_strangest(scored, len(found)),
                sections.learned_section(scored.learned, scored.fitted.seasons),
                sections.glossary_section(scored.settings),
                f"<footer>Made by smkc {sections.text(VERSION)}. "
                "This page needs no network.</footer>",
            ]
        )
        target = _write(Path(path), page(title, body, charts))
        advance(1)
    return target


def _trace_charts(views: Sequence[AlertView]) -> dict[str, Chart]:
    """Name each trace's chart by its alert and by its cause's rank."""
    charts = {}
    for view in views:
        ranks = {id(cause): rank for rank, cause in enumerate(view.alert.causes, start=1)}
        for trace in view.traces:
            name = f"alert-{view.number}-{ranks[id(trace.cause)]}"
            charts[name] = trace_chart(trace, view.alert)
    return charts


def _alerts(views: Sequence[AlertView], n_alerts: int, charts: dict[str, Chart]) -> str:
    if not views:
        return (
            '<section><h2>Alerts</h2><p class="card">Nothing was past the threshold: the whole '
            "recording looks like the reference data.</p></section>"
        )
    note = "The strongest first; numbers follow time."
    if len(views) < n_alerts:
        note = f"The {len(views)} strongest of {n_alerts:,}, strongest first; numbers follow time."
    shown = "".join(sections.alert_section(view, charts) for view in views)
    return f'<section><h2>Alerts</h2><p class="note">{note}</p>{shown}</section>'


def _next_strangest(scored: Scored, n_alerts: int) -> str:
    n_wanted = max(0, FEW_ALERTS - n_alerts)
    return sections.moments_section(scored.strangest(n_wanted)) if n_wanted else ""


def _write(target: Path, text: str) -> Path:
    """Write the whole file or nothing."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=target.parent, prefix=".report-", suffix=".html")
    except OSError as error:
        raise InputError(
            f"cannot write {target}: {error.strerror}; choose another place"
        ) from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(draft, 0o644)
        os.replace(draft, target)
    except OSError as error:
        os.unlink(draft)
        raise InputError(
            f"cannot write {target}: {error.strerror}; choose another place"
        ) from error
    return target
