"""The page's sections: headline, score, presence, alerts and how to read them.

In: values and views. Out: HTML; every text that comes from outside goes through ``text``.
"""

import html
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from smkc.decide import Alert, Cause, Learned
from smkc.decide.words import EVIDENCES, KINDS, OTHER_KIND
from smkc.evidence.variables import told_seasons
from smkc.plot.charts import Chart
from smkc.plot.page import chart_box
from smkc.plot.raster import colour_range, picture, ramp
from smkc.plot.views import AlertView, EvidenceView, KernelView
from smkc.plot.wording import clock, duration, figure, odds, percent, span
from smkc.recording import Recording

__all__ = [
    "alert_section",
    "glossary_section",
    "headline_section",
    "learned_section",
    "moments_section",
    "presence_section",
    "score_section",
    "text",
]

MAX_NAMED = 8  # causes named under an alert; the rest is a count

CHANNEL_WORDS = {
    "cos_g": ("Likeness of states", "cos g"),
    "cos_delta": ("Likeness of changes", "cos delta"),
    "cos_abs": ("Likeness of change sizes", "cos |delta|"),
    "log_g": ("Distance of states", "log g"),
    "log_delta": ("Distance of changes", "log delta"),
    "log_abs": ("Distance of change sizes", "log |delta|"),
}

SCORE_WORDS = {
    "evidence": "How surprising each row is: minus the logarithm of its p-value, by the loudest "
    "variable or by the whole system. Higher is stranger.",
}

LEAST_HIGH = 10.0  # nats at the bright end of the colours, at least


def text(value: object) -> str:
    """Escape any text for HTML."""
    return html.escape(str(value), quote=True)


def headline_section(
    title: str, recording: Recording, alerts: Sequence[Alert], false_alarm_rate: float, window: int
) -> str:
    """Say what was looked at and what came of it, in a few figures."""
    appeared, vanished = _churn(recording, window)
    cardinality = recording.cardinality
    found = "No alert" if not alerts else f"{len(alerts):,} alert{'s' * (len(alerts) > 1)}"
    rows = len(recording)
    length = f"over {duration(recording.times[0], recording.times[-1])}"
    tiles = [
        (found, "found", "past the threshold", bool(alerts)),
        (figure(rows), "rows", length, False),
        (
            figure(len(recording.names)),
            "variables seen",
            f"{cardinality.min():,} to {cardinality.max():,} in a row",
            False,
        ),
        (
            figure(appeared + vanished),
            "comings and goings",
            f"{appeared:,} appeared, {vanished:,} vanished",
            False,
        ),
        (percent(false_alarm_rate), "false alarms allowed", "share of normal time steps", False),
    ]
    cells = "".join(
        f'<p class="card tile{" hot" * is_hot}"><b>{text(number)}</b>'
        f"<span>{text(what)}</span><small>{text(more)}</small></p>"
        for number, what, more, is_hot in tiles
    )
    zone = " UTC" if recording.times.dtype.kind == "M" else ""
    return (
        f"<header><h1>{text(title)}</h1>"
        f'<p class="sub">{text(span(recording.times[0], recording.times[-1]))}{zone}</p>'
        f'<div class="tiles">{cells}</div></header>'
    )


def score_section(
    chart: Chart, settings: Mapping[str, Any], n_alerts: int, has_incidents: bool
) -> str:
    """Show the score over time."""
    what = SCORE_WORDS.get(
        settings["detector"],
        "How unlike the reference data each moment is: the higher, the stranger. A moment takes "
        "the score of the strangest window that holds it, so a band reaches a little beyond the "
        "trouble itself.",
    )
    keys = ["k-line:score", "k-limit:threshold"]
    keys += ["k-alert:alert, numbered"] * (n_alerts > 0)
    keys += ["k-planted:planted incident, lettered"] * has_incidents
    return (
        "<section><h2>Score over time</h2>"
        f'<p class="note">{what} Drag to zoom, double-click to go back.</p>'
        f'<div class="card">{chart_box("score", chart, "anomaly score over time")}{_key(keys)}'
        "</div></section>"
    )


def presence_section(
    charts: Mapping[str, Chart], n_drawn: int, n_variables: int, rows_per_bin: int
) -> str:
    """Show how many variables were observed, and which."""
    limits = []
    if n_drawn < n_variables:
        limits.append(f"{n_drawn:,} of {n_variables:,} variables are drawn, evenly chosen.")
    if rows_per_bin > 1:
        limits.append(f"Each cell stands for {rows_per_bin:,} rows.")
    return (
        "<section><h2>Who was observed</h2>"
        '<p class="note">Above: how many variables reported in each row. Below: which ones, a line '
        "each, in the order they first appeared; blank where nothing came. Rollouts show as steps "
        f"down to the right, gaps as pale stripes; frames are alerts. {text(' '.join(limits))}</p>"
        f'<div class="card">'
        f"{chart_box('cardinality', charts['cardinality'], 'variables observed a row')}"
        f"{chart_box('presence', charts['presence'], 'presence of each variable over time')}"
        "</div></section>"
    )


def alert_section(view: AlertView, charts: Mapping[str, Chart]) -> str:
    """Show one alert: when, how strong, why, its traces and what the detector saw."""
    alert = view.alert
    detail = view.detail
    seen = (
        f"<h4>Its window beside a normal one</h4>{_kernels(detail)}"
        if isinstance(detail, KernelView)
        else f"<h4>Which evidence spoke</h4>{_evidences(detail)}"
    )
    rows = []
    for rank, cause in enumerate(alert.causes[:MAX_NAMED], start=1):
        name = f"alert-{view.number}-{rank}"
        if name in charts:
            drawn = chart_box(name, charts[name], f"{cause.variable} around the alert")
            rows.append(f'<div class="cause">{_cause(rank, cause)}<div>{drawn}</div></div>')
        else:
            rows.append(_lesser_cause(rank, cause))
    left = len(alert.causes) - MAX_NAMED
    if left > 0:
        rest = sum(cause.share for cause in alert.causes[MAX_NAMED:])
        rows.append(f'<p class="more">and {left:,} more with {percent(rest)} together</p>')
    if not alert.causes:
        rows.append('<p class="more">No single variable stands out.</p>')
    return (
        f'<article class="card alert" id="alert-{view.number}"><header>'
        f'<h3><span class="number">Alert {view.number}</span> &middot; '
        f"{text(span(alert.start, alert.end))}</h3>"
        f'<p class="note">lasted {text(duration(alert.start, alert.end))}, highest at '
        f"{text(clock(alert.peak))} with a score of {text(figure(alert.score))}; "
        f"{text(odds(alert.p_value))}</p></header>"
        f"<h4>Why</h4>{_about_bands(view)}{''.join(rows)}{seen}</article>"
    )


def _about_bands(view: AlertView) -> str:
    if not any(trace.usual is not None for trace in view.traces):
        return ""
    return (
        '<p class="note">The blue band is what is usual: three spreads either way, by the time of '
        "day or of another period where there is a season.</p>"
    )


def moments_section(moments: Sequence[Alert]) -> str:
    """List the strangest moments that raised no alert."""
    if not moments:
        return ""
    rows = "".join(
        f'<tr><td class="when">{text(clock(one.peak))}</td><td>{text(odds(one.p_value))}</td>'
        f"<td>{_first_cause(one)}</td></tr>"
        for one in moments
    )
    return (
        "<section><h2>Next strangest moments</h2>"
        '<p class="note">These raised no alert; they would be the next to do so if more false '
        "alarms were allowed.</p>"
        '<div class="card"><table><tr><th>when</th><th>how rare</th><th>most likely cause</th></tr>'
        f"{rows}</table></div></section>"
    )


def _first_cause(moment: Alert) -> str:
    if not moment.causes:
        return "no single variable stands out"
    cause = moment.causes[0]
    return (
        f'<div class="name">{text(cause.variable)}</div>'
        f'<div class="detail">{text(cause.kind)}: {text(cause.detail)}</div>'
    )


def learned_section(learned: Learned | None, seasons: Mapping[str, float]) -> str:
    """Say which rows were taken as normal, and which seasons were found in them."""
    told = "This detector's file does not say which rows were learned from."
    if learned is not None:
        told = (
            f"{learned.rows:,} rows from {learned.start} to {learned.end} were taken as normal. "
            "Trouble in them is not reported later."
        )
    season = (
        f"Variables with a season: {told_seasons(seasons)}. What is usual depends on the time."
        if seasons
        else "No season was found: what is usual is the same at every hour."
    )
    return (
        '<section><h2>What was learned from</h2><div class="card">'
        f"<p>{text(told)}</p><p>{text(season)}</p></div></section>"
    )


def glossary_section(settings: Mapping[str, Any]) -> str:
    """Explain the words of the page and say how the detector was set."""
    words = {
        "score": SCORE_WORDS.get(
            settings["detector"],
            "Mean distance from a window to its nearest windows in the reference data, which were "
            "taken as normal. Higher is stranger.",
        ),
        "threshold": "The score that normal time steps exceed no more often than was asked for.",
        "share": "How much of what made the window strange is due to this variable.",
        "level": "The variable's own values were unusual.",
        "jump": "The variable took a larger step than it usually does.",
        "relation": "The variable stopped moving with the others, or began to.",
        "presence": "The variable appeared, vanished or reported differently.",
        "kernel image": "Six maps that compare every moment of a window with every other. Smooth "
        "maps mean steady behaviour; crosses and blocks mean sudden change.",
    }
    rows = "".join(f"<dt>{text(word)}</dt><dd>{text(what)}</dd>" for word, what in words.items())
    chosen = ", ".join(f"{key} = {value}" for key, value in settings.items())
    return (
        f'<section><h2>How to read this</h2><div class="card"><dl>{rows}'
        f"<dt>detector</dt><dd>{text(chosen)}</dd></dl></div></section>"
    )


# ---------------------------------------------------------------------- their parts


def _cause(rank: int, cause: Cause) -> str:
    width = round(100 * min(max(cause.share, 0.0), 1.0), 1)
    joint = ""
    if cause.joint_with:
        others = ", ".join(cause.joint_with[:3]) + ", ..." * (len(cause.joint_with) > 3)
        joint = f'<div class="detail">share held jointly with {text(others)}</div>'
    return (
        f'<div><div class="name">{rank}. {text(cause.variable)}</div>'
        f'<div class="bar"><i style="width:{width}%"></i></div>'
        f'<div class="share">{percent(cause.share)} &middot; {text(cause.kind)}: '
        f"{text(KINDS.get(cause.kind, OTHER_KIND).phrase)}</div>"
        f'<div class="detail">{text(cause.detail)}</div>{joint}</div>'
    )


def _lesser_cause(rank: int, cause: Cause) -> str:
    """Return a cause on one line, for those whose trace is not drawn."""
    return (
        f'<div class="lesser"><div class="name">{rank}. {text(cause.variable)}</div>'
        f'<div class="detail">{percent(cause.share)} &middot; {text(cause.kind)}, '
        f"{text(cause.detail)}</div></div>"
    )


def _evidences(view: EvidenceView) -> str:
    """Draw each evidence's surprise over time as a strip, all in one colour range."""
    high = max([LEAST_HIGH, *(float(np.nanmax(one, initial=0.0)) for one in view.nats.values())])
    rows = []
    for name, nats in view.nats.items():
        strip = picture(nats[None], 0.0, high)
        most = float(np.nanmax(nats, initial=0.0))
        words = EVIDENCES[name].sentence if name in EVIDENCES else ""
        rows.append(
            f'<div class="evidence"><div><div class="name">{text(name)}</div>'
            f'<div class="detail">{text(words)}</div></div>'
            f'<img alt="surprise of {text(name)} over time" src="{strip}">'
            f'<div class="share">{most:.1f}</div></div>'
        )
    return (
        f'<p class="note">How surprised each evidence was, from {text(clock(view.times[0]))} to '
        f"{text(clock(view.times[-1]))}, and at most: in nats, minus the logarithm of a p-value "
        f"(2.3 is one in ten, 6.9 one in a thousand).</p>{''.join(rows)}"
        f'<div class="scale"><span>0</span><i style="background:{ramp()}"></i>'
        f"<span>{high:.0f}</span></div>"
    )


def _kernels(view: KernelView) -> str:
    """Draw six pairs of pictures, each pair in one colour range."""
    cells = []
    for channel, (words, symbol) in enumerate(CHANNEL_WORDS.values()):
        pair = (view.normal[channel], view.kernel[channel])
        low, high = colour_range(pair)
        normal, strange = (picture(one, low, high) for one in pair)
        cells.append(
            f'<figure class="kernel"><figcaption>{words} <span>{text(symbol)}</span></figcaption>'
            f'<div class="pair"><div><img alt="{words}, normal window" src="{normal}">'
            f'<small>normal</small></div><div><img alt="{words}, alert" src="{strange}">'
            f"<small>alert</small></div></div>"
            f'<div class="scale"><span>{low:.2f}</span>'
            f'<i style="background:{ramp()}"></i><span>{high:.2f}</span></div></figure>'
        )
    length = view.kernel.shape[-1]
    return (
        f'<p class="note">Each map compares the {length} moments of a window with one another, '
        "from the first (top left) to the last (bottom right). Left: "
        f"{text(clock(view.normal_window[0]))}, a typical window. "
        f"Right: {text(clock(view.window[0]))}, this alert at its peak.</p>"
        f'<div class="kernels">{"".join(cells)}</div>'
    )


def _key(entries: Sequence[str]) -> str:
    parts = (entry.partition(":") for entry in entries)
    spans = "".join(f'<span class="{kind}"><i></i>{text(word)}</span>' for kind, _, word in parts)
    return f'<div class="key">{spans}</div>'


def _churn(recording: Recording, window: int) -> tuple[int, int]:
    """Count variables first seen after the first window, and last seen before the last one."""
    n_names = len(recording.names)
    first = np.full(n_names, len(recording), np.int64)
    last = np.full(n_names, -1, np.int64)
    np.minimum.at(first, recording.codes, recording.row_numbers)
    np.maximum.at(last, recording.codes, recording.row_numbers)
    seen = last >= 0
    appeared = int((first[seen] >= window).sum())
    return appeared, int((last[seen] < len(recording) - window).sum())
