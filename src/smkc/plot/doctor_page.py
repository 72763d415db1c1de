"""The result of ``smkc doctor`` as one HTML file.

In: a diagnosis. Out: a file that opens in any browser, without network access.
"""

from pathlib import Path

import numpy as np

from smkc.doctor import CHURN, KINDS, Diagnosis
from smkc.doctor.planting import SIZES
from smkc.plot.charts import Chart, line, score_chart
from smkc.plot.page import Tile, write_page
from smkc.plot.wording import percent, span

VERDICTS = {
    "yes": ("Yes", "it works on this recording"),
    "partly": ("Partly", "it works, with the limits below"),
    "no": ("No", "it does not work as things are"),
}


def doctor_page(
    path: str | Path, diagnosis: Diagnosis, *, title: str = "Does smkc work on this recording?"
) -> Path:
    """Write the page and return its path; an existing file is replaced."""
    charts: dict[str, Chart] = {}
    if diagnosis.outcomes:
        charts["rates"] = _rate_chart(diagnosis)
        charts["score"] = score_chart(
            diagnosis.times, diagnosis.scores, diagnosis.threshold, [], []
        )
    return write_page(
        path,
        "doctor.html",
        title,
        charts,
        tried=_tried(diagnosis),
        tiles=_tiles(diagnosis),
        diagnosis=diagnosis,
        kinds=KINDS,
        churn=CHURN,
        words=_glossary(diagnosis),
    )


def _tried(diagnosis: Diagnosis) -> str:
    when = span(diagnosis.times[0], diagnosis.times[-1]) if len(diagnosis.times) else ""
    when += " UTC" * (diagnosis.times.dtype.kind == "M")
    if not diagnosis.outcomes:
        return f"{diagnosis.n_rows:,} rows, {when}; nothing could be tried."
    return (
        f"Learned from the first {diagnosis.n_reference:,} of {diagnosis.n_rows:,} rows, tried on "
        f"{len(diagnosis.scores):,} after them, {when}."
    )


def _tiles(diagnosis: Diagnosis) -> list[Tile]:
    word, meaning = VERDICTS[diagnosis.verdict]
    tiles = [Tile(word, "does it work here?", meaning, is_hot=diagnosis.verdict != "yes")]
    if diagnosis.untouched is None:
        return tiles
    large = diagnosis.large
    caught, planted = sum(one.caught for one in large), sum(one.planted for one in large)
    delays = [one.delay for one in large if one.delay is not None]
    until = diagnosis.lasting(float(np.median(delays))) if delays else "-"
    asked = f"{percent(diagnosis.false_alarm_rate)} was asked for"
    worst = max(diagnosis.churn, key=lambda one: one.rate)
    return [
        *tiles,
        Tile(f"{caught} of {planted}", "large anomalies caught", "all kinds together"),
        Tile(until, "until the alarm", "half of those caught are sooner"),
        Tile(percent(diagnosis.untouched.rate), "of untouched rows alarm", asked),
        Tile(percent(worst.rate), "at most under churn alone", f"with {worst.kind}"),
    ]


def _rate_chart(diagnosis: Diagnosis) -> Chart:
    rates = diagnosis.rates
    lines = []
    for size, colour in enumerate(("--muted", "--planted", "--good")):
        shares = np.array([diagnosis.caught_share(size, at) for at in range(len(rates))])
        dashed = size == 0
        lines.append(
            line(f"{SIZES[size]} caught", shares, colour, has_points=True, is_dashed=dashed)
        )
    alarms = np.array(diagnosis.rate_alarms)
    lines.append(line("untouched rows that alarm", alarms, "--alert", has_points=True))
    return {
        "axis": "log",
        "x": list(rates),
        "along": "rate asked for",
        "height": 300,
        "low": -0.02,
        "high": 1.03,
        "is_share": True,
        "has_legend": True,
        "lines": lines,
        "used": diagnosis.false_alarm_rate,
    }


def _glossary(diagnosis: Diagnosis) -> dict[str, str]:
    return {
        "spread": "The usual scatter of a variable around its middle, robustly estimated; of its "
        "rate, for a counter.",
        "variables struck": "A tenth of those observed at the time, where sizes are in spreads or "
        "parts of a period.",
        "relation": "Values are replaced by the variable's own of another time; only tried where "
        "variables move together.",
        "wrong hour": "Values are replaced by the variable's own of another hour; only tried where "
        "a season was found.",
        "false-alarm rate": "The share of normal rows that may be past the threshold.",
        "detector": ", ".join(f"{key} = {value}" for key, value in diagnosis.settings.items()),
    }
