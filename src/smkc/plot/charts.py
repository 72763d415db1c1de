"""Interactive charts of the page, as plain data that the page's script draws.

In: recordings, scores, alerts. Out: dictionaries that ``page.js`` reads. Colours are names of CSS
variables, so that light and dark themes both work.
"""

import base64
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

Chart: TypeAlias = dict[str, Any]

MAX_BANDS = 200  # alerts shaded in a chart; more would be indistinguishable
MAX_NUMBERED = 24
MAX_TRACE_POINTS = 600


def score_chart(
    times: NDArray[Any],
    scores: NDArray[np.float64],
    threshold: float,
    alerts: Sequence[Alert],
    incidents: Sequence[Incident],
) -> Chart:
    """Chart the score over time with its threshold, alerts as bands, and incidents at the top."""
    rows = thin(scores)
    highest = max([threshold, *scores[np.isfinite(scores)].tolist()])
    return {
        **_over_time(times[rows]),
        "height": 300,
        "label": "score",
        "low": 0,
        "high": _rounded(1.15 * highest),  # room for the alert numbers
        "lines": [line("score", scores[rows])],
        "threshold": _rounded(threshold),
        "spans": _bands(alerts) + _planted(incidents),
        "marks": _numbers(alerts) + _letters(incidents),
        "is_linked": True,
    }


def cardinality_chart(recording: Recording, alerts: Sequence[Alert]) -> Chart:
    """Chart the number of variables observed in each row."""
    counts = recording.cardinality
    rows = thin(counts)
    return {
        **_over_time(recording.times[rows]),
        "height": 190,
        "label": "variables per row",
        "low": 0,
        "lines": [line("variables observed", counts[rows], is_stepped=True)],
        "spans": _bands(alerts),
        "is_linked": True,
    }


def presence_chart(recording: Recording, alerts: Sequence[Alert]) -> Chart:
    """Chart the presence of variables over time, ordered by first appearance."""
    grid = presence_grid(recording)
    count, columns = grid.share.shape
    times = np.append(grid.times, recording.times[-1:])
    return {
        **_over_time(times),
        "height": min(460, 150 + 3 * count),
        "label": "variable, by appearance",
        "lines": [line("presence", np.full(len(times), np.nan))],
        "cells": {
            "names": [short_name(name, 90) for name in grid.names],
            "columns": columns,
            "bytes": base64.b64encode(grid.share.tobytes()).decode("ascii"),
        },
        "spans": [{**band, "colour": "--alert", "is_framed": True} for band in _bands(alerts)],
        "is_linked": True,
    }


def trace_chart(trace: TraceView, alert: Alert) -> Chart:
    """Chart one variable around an alert, with the band of its usual values if it is known."""
    rows = thin(trace.values, MAX_TRACE_POINTS)
    chart = {
        **_over_time(trace.times[rows]),
        "height": 150,
        "lines": [line("value", trace.values[rows], has_points=True)],
        "spans": _bands([alert]),
    }
    if trace.usual is not None:
        chart["usual"] = [_numbers_of(end[rows]) for end in trace.usual]
    return chart


def line(name: str, values: NDArray[Any], colour: str = "--line-1", **looks: bool) -> Chart:
    """Return one line of a chart; looks are ``is_stepped``, ``is_dashed`` and ``has_points``."""
    return {"name": name, "y": _numbers_of(values), "colour": colour, **looks}


# ---------------------------------------------------------------------- parts of charts


def _over_time(times: NDArray[Any]) -> Chart:
    return {"axis": "time" if times.dtype.kind == "M" else "number", "x": _axis_values(times)}


def _bands(alerts: Sequence[Alert]) -> list[Chart]:
    """Return alerts as vertical bands; only the strongest MAX_BANDS."""
    return [
        {**_span(alert.start, alert.end), "colour": "--alert-band"}
        for _, alert in strongest(alerts, MAX_BANDS)
    ]


def _planted(incidents: Sequence[Incident]) -> list[Chart]:
    return [
        {**_span(one.start, one.end), "colour": "--planted", "is_tip": True} for one in incidents
    ]


def _numbers(alerts: Sequence[Alert]) -> list[Chart]:
    """Return the numbers of the strongest MAX_NUMBERED alerts, to be written in their bands."""
    return [
        {**_mark(str(number), alert.start, alert.end), "colour": "--alert", "is_inside": True}
        for number, alert in strongest(alerts, MAX_NUMBERED)
    ]


def _letters(incidents: Sequence[Incident]) -> list[Chart]:
    return [
        {**_mark(chr(ord("A") + place % 26), one.start, one.end), "colour": "--planted"}
        for place, one in enumerate(incidents)
    ]


def _span(start: Any, end: Any) -> Chart:
    first, last = _axis_values(np.array([start, end]))
    return {"from": first, "to": last}


def _mark(text: str, start: Any, end: Any) -> Chart:
    first, last = _axis_values(np.array([start, end]))
    return {"text": text, "x": (first + last) / 2}


def _axis_values(times: NDArray[Any]) -> list[Any]:
    """Convert times for the script: dates to milliseconds since 1970, other times to numbers."""
    if times.dtype.kind == "M":
        return times.astype("datetime64[ms]").astype(np.int64).tolist()  # type: ignore[no-any-return]
    return times.tolist()  # type: ignore[no-any-return]


def _numbers_of(values: NDArray[Any]) -> list[float | None]:
    return [_rounded(value) for value in values.tolist()]


def _rounded(value: float) -> float | None:
    """Round to 5 significant digits; a value that is not finite becomes None."""
    return float(f"{value:.5g}") if np.isfinite(value) else None
