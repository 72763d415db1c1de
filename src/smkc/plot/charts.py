"""The page's live charts, as plain data that plotly's script draws.

In: recordings, scores, alerts. Out: dictionaries of ``data`` and ``layout``. A colour is written
``{"css": "--name"}`` and taken from the page's style when drawn, so that light and dark both work.
"""

import base64
import html
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from smkc.decide import Alert
from smkc.fleet import Incident
from smkc.plot.thinning import presence_grid, thin
from smkc.plot.views import TraceView, strongest
from smkc.plot.wording import short_name
from smkc.recording import Recording

__all__ = ["Chart", "cardinality_chart", "presence_chart", "score_chart", "trace_chart"]

Chart: TypeAlias = dict[str, Any]

MAX_BANDS = 200  # alerts shaded in a chart; a picture of more is a blur
MAX_TRACE_POINTS = 600


def score_chart(
    times: NDArray[Any],
    scores: NDArray[np.float64],
    threshold: float,
    alerts: Sequence[Alert],
    incidents: Sequence[Incident],
) -> Chart:
    """Score over time, its threshold, alerts as bands, planted incidents along the top."""
    rows = thin(scores)
    line = _line(times[rows], scores[rows], "score")
    ends = _axis_values(times[[0, -1]])
    limit = {
        "type": "scatter",
        "mode": "lines",
        "x": ends,
        "y": [_rounded(threshold)] * 2,
        "name": "threshold",
        "line": {"color": _css("--ink"), "width": 1, "dash": "dash"},
        "hovertemplate": "threshold %{y}<extra></extra>",
    }
    layout = _layout(times, "score", height=300)
    layout["margin"]["t"] = 26
    highest = max([threshold, *scores[np.isfinite(scores)].tolist()])
    layout["yaxis"]["range"] = [0, _rounded(1.15 * highest)]  # room for the numbers
    layout["shapes"] = _bands(alerts) + _planted(incidents)
    layout["annotations"] = _numbers(alerts) + _letters(incidents)
    return {"data": [line, limit], "layout": layout, "linked": True}


def cardinality_chart(recording: Recording, alerts: Sequence[Alert]) -> Chart:
    """How many variables were observed in each row."""
    counts = recording.cardinality
    rows = thin(counts)
    line = _line(recording.times[rows], counts[rows], "variables observed")
    line["line"]["shape"] = "hv"
    layout = _layout(recording.times, "variables a row", height=190)
    layout["yaxis"]["rangemode"] = "tozero"
    layout["shapes"] = _bands(alerts)
    return {"data": [line], "layout": layout, "linked": True}


def presence_chart(recording: Recording, alerts: Sequence[Alert]) -> Chart:
    """Which variables were observed, by first appearance, in what share of the rows."""
    grid = presence_grid(recording)
    count = len(grid.names)
    cells = {
        "type": "heatmap",
        "x": _axis_values(grid.times),
        "y": list(range(1, count + 1)),
        "z": _bytes(grid.share),
        "text": [html.escape(short_name(name, 90)) for name in grid.names],
        "zmin": 0,
        "zmax": 100,
        "showscale": False,
        "colorscale": [[0, _css("--empty")], [1, _css("--line-1")]],
        "hovertemplate": "%{text}<br>%{x}<br>observed in %{z}% of the rows<extra></extra>",
    }
    layout = _layout(recording.times, "variable, by appearance", height=min(460, 150 + 3 * count))
    layout["yaxis"].update(autorange="reversed", showgrid=False, zeroline=False)
    layout["hovermode"] = "closest"
    layout["shapes"] = _bands(alerts, filled=False)
    return {"data": [cells], "layout": layout, "linked": True, "row_text": True}


def trace_chart(trace: TraceView, alert: Alert) -> Chart:
    """One variable around an alert; gaps stay gaps."""
    rows = thin(trace.values, MAX_TRACE_POINTS)
    line = _line(trace.times[rows], trace.values[rows], "value")
    line["mode"] = "lines+markers"
    line["marker"] = {"size": 3, "color": _css("--line-1")}
    layout = _layout(trace.times, "", height=150)
    layout["margin"].update(t=8, b=28)
    layout["shapes"] = _bands([alert])
    layout["xaxis"]["nticks"] = 6
    layout["yaxis"]["nticks"] = 4
    return {"data": [*_usual(trace, rows), line], "layout": layout}


# ---------------------------------------------------------------------- their parts


def _css(name: str) -> dict[str, str]:
    return {"css": name}


def _line(times: NDArray[Any], values: NDArray[Any], name: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": _axis_values(times),
        "y": [_rounded(value) for value in values.tolist()],
        "name": name,
        "line": {"color": _css("--line-1"), "width": 1.3},
        "connectgaps": False,
        "hovertemplate": "%{x}<br>" + name + " %{y}<extra></extra>",
    }


def _usual(trace: TraceView, rows: NDArray[np.intp]) -> list[Chart]:
    """Draw the band of what is usual, behind the line; nothing where there is none."""
    if trace.usual is None:
        return []
    ends = [_line(trace.times[rows], end[rows], "usual") for end in trace.usual]
    for end in ends:
        end["line"] = {"width": 0}
        end["hoverinfo"] = "skip"
        del end["hovertemplate"]
    ends[1] |= {"fill": "tonexty", "fillcolor": "rgba(120,150,190,.22)"}
    return ends


def _layout(times: NDArray[Any], label: str, height: int) -> dict[str, Any]:
    axis = {
        "color": _css("--muted"),
        "gridcolor": _css("--rule"),
        "linecolor": _css("--rule"),
        "zeroline": False,
        "automargin": True,
        "tickfont": {"size": 11},
    }
    first, last = _axis_values(times[[0, -1]])
    along = {**axis, "type": "date" if times.dtype.kind == "M" else "linear", "showgrid": False}
    return {
        "height": height,
        "margin": {"l": 48, "r": 12, "t": 12, "b": 34},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "inherit", "color": _css("--ink"), "size": 12},
        "showlegend": False,
        "hovermode": "x",
        "dragmode": "zoom",
        "hoverlabel": {
            "bgcolor": _css("--card"),
            "bordercolor": _css("--rule"),
            "font": {"color": _css("--ink")},
        },
        "xaxis": {**along, "range": [first, last]},
        "yaxis": {
            **axis,
            "title": {"text": label, "font": {"size": 11, "color": _css("--muted")}},
            "fixedrange": True,
        },
    }


def _bands(alerts: Sequence[Alert], filled: bool = True) -> list[dict[str, Any]]:
    """Alerts as vertical bands, the strongest if there are too many."""
    shapes = []
    for _, alert in strongest(alerts, MAX_BANDS):
        start, end = _axis_values(np.array([alert.start, alert.end]))
        shape = {"type": "rect", "yref": "paper", "x0": start, "x1": end, "y0": 0, "y1": 1}
        if filled:
            shape |= {"fillcolor": _css("--alert-band"), "line": {"width": 0}, "layer": "below"}
        else:
            shape |= {"line": {"width": 1, "color": _css("--alert")}}
        shapes.append(shape)
    return shapes


def _numbers(alerts: Sequence[Alert]) -> list[dict[str, Any]]:
    """Write each shown alert's number inside its band."""
    return [
        _mark(str(number), alert.start, alert.end, "--alert", 0.99, "top")
        for number, alert in strongest(alerts, 24)
    ]


def _planted(incidents: Sequence[Incident]) -> list[dict[str, Any]]:
    shapes = []
    for incident in incidents:
        start, end = _axis_values(np.array([incident.start, incident.end]))
        shapes.append(
            {
                "type": "rect",
                "yref": "paper",
                "x0": start,
                "x1": end,
                "y0": 1.0,
                "y1": 1.025,
                "fillcolor": _css("--planted"),
                "line": {"width": 0},
            }
        )
    return shapes


def _letters(incidents: Sequence[Incident]) -> list[dict[str, Any]]:
    return [
        _mark(chr(ord("A") + place % 26), one.start, one.end, "--planted", 1.02, "bottom")
        for place, one in enumerate(incidents)
    ]


def _mark(text: str, start: Any, end: Any, colour: str, y: float, side: str) -> dict[str, Any]:
    first, last = _axis_values(np.array([start, end]))
    return {
        "text": text,
        "x": (first + last) / 2,
        "xref": "x",
        "y": y,
        "yref": "paper",
        "yanchor": side,
        "showarrow": False,
        "font": {"size": 11, "color": _css(colour)},
    }


def _axis_values(times: NDArray[Any]) -> list[Any]:
    """Turn times into what plotly takes: milliseconds since 1970 for dates, else the numbers."""
    if times.dtype.kind == "M":
        return times.astype("datetime64[ms]").astype(np.int64).tolist()  # type: ignore[no-any-return]
    return times.tolist()  # type: ignore[no-any-return]


def _bytes(cells: NDArray[np.uint8]) -> dict[str, str]:
    """Write a matrix of bytes the compact way that plotly's script reads."""
    packed = base64.b64encode(np.ascontiguousarray(cells).tobytes()).decode("ascii")
    return {"dtype": "u1", "bdata": packed, "shape": ", ".join(map(str, cells.shape))}


def _rounded(value: float) -> float | None:
    """Keep five digits that matter; a missing value becomes null."""
    return float(f"{value:.5g}") if np.isfinite(value) else None
