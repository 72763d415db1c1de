"""Matplotlib figures of scores, presence, traces and evidences.

In: arrays, recordings and alerts. Out: figures without a window, to be saved as files.
"""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smkc.decide import Alert
from smkc.errors import InputError
from smkc.fleet import Incident
from smkc.plot.extra import need
from smkc.plot.thinning import presence_grid, thin
from smkc.plot.views import AlertView, EvidenceView
from smkc.plot.wording import odds, percent, short_name, span
from smkc.recording import Recording

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, SCORE, ALERT, INCIDENT = "#1d2733", "#2f6fa8", "#c8502f", "#7b61a8"


def score_figure(
    times: ArrayLike,
    scores: ArrayLike,
    threshold: float | None = None,
    alerts: Sequence[Alert] = (),
    incidents: Sequence[Incident] = (),
) -> "Figure":
    """Draw the score over time with its threshold, the alerts and the planted incidents.

    Parameters
    ----------
    times, scores
        (T,) times of the recording, and (T,) scores as returned by ``decision_function``.
    threshold
        scores above it are anomalous; None draws no threshold.
    """
    times, scores = np.asarray(times), np.asarray(scores, np.float64)
    if times.shape != scores.shape:
        raise InputError(
            f"{times.size} times for {scores.size} scores; give one score for each time"
        )
    figure, (axes,) = _figure(1, 3.2)
    rows = thin(scores)
    axes.plot(times[rows], scores[rows], color=SCORE, linewidth=0.9, label="score")
    if threshold is not None:
        axes.axhline(threshold, color=INK, linewidth=0.8, linestyle="--", label="threshold")
    _shade(axes, alerts, incidents)
    axes.set(ylabel="score", xlabel=_time_label(times))
    axes.set_title("Anomaly score over time", loc="left")
    axes.margins(x=0, y=0.12)
    axes.set_ylim(bottom=0)
    axes.legend(
        loc="lower right", bbox_to_anchor=(1, 1), frameon=False, fontsize=8, ncols=4, borderpad=0
    )
    return figure


def presence_figure(
    recording: Recording, alerts: Sequence[Alert] = (), incidents: Sequence[Incident] = ()
) -> "Figure":
    """Draw the number of variables observed over time, and the presence of each variable."""
    figure, (upper, lower) = _figure(2, 5.6, ratios=(1, 2.4))
    rows = thin(recording.cardinality)
    upper.plot(recording.times[rows], recording.cardinality[rows], color=SCORE, linewidth=0.9)
    _shade(upper, alerts, incidents)
    upper.set_title("Variables observed over time", loc="left")
    upper.set(ylabel="how many")
    upper.set_ylim(bottom=0)
    grid = presence_grid(recording)
    if grid.share.size:
        edges = np.append(grid.times, recording.times[-1:])
        lower.pcolormesh(
            edges, np.arange(len(grid.names) + 1), grid.share, cmap="Blues", vmin=0, vmax=100
        )
    lower.invert_yaxis()
    drawn = f", {len(grid.names)} of {grid.n_variables}" * (len(grid.names) < grid.n_variables)
    lower.set(ylabel=f"variables by first\nappearance{drawn}", xlabel=_time_label(recording.times))
    return figure


def trace_figure(view: AlertView) -> "Figure":
    """Draw the variables that contributed most to an alert, with the alert shaded."""
    alert, count = view.alert, max(len(view.traces), 1)
    figure, panels = _figure(count, 1.0 + 1.5 * count)
    figure.suptitle(
        f"Alert {view.number}, {span(alert.start, alert.end)}: {odds(alert.p_value)}", fontsize=12
    )
    for axes, trace in zip(panels, view.traces, strict=False):
        if trace.usual is not None:
            axes.fill_between(trace.times, *trace.usual, color=SCORE, alpha=0.15, linewidth=0)
        axes.plot(trace.times, trace.values, color=SCORE, linewidth=0.9, marker=".", markersize=2)
        axes.axvspan(alert.start, alert.end, color=ALERT, alpha=0.15, linewidth=0)
        axes.yaxis.set_major_formatter(need("matplotlib.ticker").EngFormatter(sep=""))
        share = f"{percent(trace.cause.share)}, {trace.cause.kind}"
        label = f"{short_name(trace.cause.variable, 90)}   ({share})"
        axes.annotate(_plain(label), (0, 1.03), xycoords="axes fraction", fontsize=8, color=INK)
    if not view.traces:
        panels[0].text(0.5, 0.5, "no variable was named as a cause", ha="center", va="center")
    else:
        panels[-1].set_xlabel(_time_label(view.traces[0].times))
    return figure


def evidence_figure(view: EvidenceView) -> "Figure":
    """Draw the surprise of each evidence around an alert, one row per evidence."""
    names = list(view.nats)
    nats = np.vstack([view.nats[name] for name in names])
    figure, (axes,) = _figure(1, 1.2 + 0.35 * len(names))
    edges = _edges(view.times)
    shown = axes.pcolormesh(edges, np.arange(len(names) + 1), nats, cmap="viridis", vmin=0)
    axes.set_yticks(np.arange(len(names)) + 0.5, names)
    axes.invert_yaxis()
    axes.set_xlabel(_time_label(view.times))
    figure.colorbar(shown, ax=axes, label="nats")
    return figure


def _edges(times: NDArray[Any]) -> NDArray[Any]:
    """Return (R + 1,) cell edges of (R,) times; the last cell is as wide as the one before."""
    last = times[-1] + (times[-1] - times[-2] if len(times) > 1 else np.array(1, times.dtype)[()])
    return np.append(times, last)


def save_png(figure: "Figure", path: str | Path) -> Path:
    """Write a figure to a PNG file and return its path."""
    target = Path(path)
    if target.suffix.lower() != ".png":
        raise InputError(f"a picture is written as PNG, not to {target.name}; call it NAME.png")
    target.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # names in scripts without a font
        figure.savefig(target, dpi=120)
    return target


def _figure(panels: int, height: float, ratios: Sequence[float] = ()) -> tuple["Figure", Any]:
    figure = need("matplotlib.figure").Figure(figsize=(11, height), layout="constrained")
    all_axes = figure.subplots(panels, 1, sharex=True, squeeze=False, height_ratios=ratios or None)[
        :, 0
    ]
    for axes in all_axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
    return figure, all_axes


def _shade(axes: "Axes", alerts: Sequence[Alert], incidents: Sequence[Incident]) -> None:
    for number, alert in enumerate(alerts):
        label = "alert" if number == 0 else None
        axes.axvspan(alert.start, alert.end, color=ALERT, alpha=0.18, linewidth=0, label=label)
    for number, incident in enumerate(incidents):
        label = "planted" if number == 0 else None
        axes.axvspan(
            incident.start, incident.end, ymin=0.97, color=INCIDENT, linewidth=0, label=label
        )


def _time_label(times: NDArray[Any]) -> str:
    return "time (UTC)" if times.dtype.kind == "M" else "time"


def _plain(text: str) -> str:
    """Escape dollar signs, so that matplotlib does not read a name as mathematics."""
    return text.replace("$", r"\$")
