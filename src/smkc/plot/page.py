"""The page's skeleton: style, scripts and charts put together into one self-contained file.

In: a title, the body as HTML, the charts by name. Out: the text of an HTML file that asks for
nothing outside itself; its content policy forbids it to, and lets only these scripts run.
"""

import base64
import hashlib
import html
import json
from collections.abc import Mapping
from importlib.resources import files

from smkc.plot.charts import Chart

__all__ = ["chart_box", "page", "safe_json"]

LEGEND_HEIGHT = 32


def page(title: str, body: str, charts: Mapping[str, Chart]) -> str:
    """Put a page together; ``body`` is HTML in which all text is escaped already."""
    style = "".join(_part(name) for name in ("palette.css", "uplot/uPlot.min.css", "page.css"))
    licence = _part("uplot/LICENSE").strip()
    plotting, script = _part("uplot/uPlot.iife.min.js"), _part("page.js")
    allowed = " ".join(f"'sha256-{_digest(text)}'" for text in (plotting, script))
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"
    )
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="generator" content="smkc">',
            f"<title>{html.escape(title)}</title>",
            '<link rel="icon" href="data:,">',
            f"<!-- Charts are drawn by uPlot.\n{licence}\n-->",
            f"<style>{style}</style>",
            "</head>",
            "<body>",
            f"<main>{body}</main>",
            f'<script type="application/json" id="charts">{safe_json(charts)}</script>',
            f"<script>{plotting}</script>",
            f"<script>{script}</script>",
            "</body>",
            "</html>",
            "",
        ]
    )


def chart_box(name: str, chart: Chart, label: str) -> str:
    """Return the place where a chart will be drawn, as high as it will be."""
    height = int(chart["height"]) + LEGEND_HEIGHT * bool(chart.get("has_legend"))
    return (
        f'<div class="chart" data-chart="{html.escape(name)}" role="img" '
        f'aria-label="{html.escape(label)}" style="height:{height}px"></div>'
    )


def safe_json(value: object) -> str:
    """Write JSON that cannot end the script element that it stands in."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _part(name: str) -> str:
    return files("smkc.plot").joinpath(name).read_text("utf-8")


def _digest(script: str) -> str:
    """Return the digest by which the content policy knows a script."""
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
