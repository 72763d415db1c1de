"""The picture of the alert benchmark: recall against false alerts, one panel per method.

In: names and plain numbers. Out: a matplotlib figure. Importing this module does not import
matplotlib.
"""

from collections.abc import Mapping
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.libraries import library
from smkc.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["alert_figure"]

POINT, MEAN = "#0072B2", "#D55E00"  # safe for the colour-blind (Okabe and Ito, 2008)
INK, FAINT = "#1d2733", "#c9ced4"

PANELS_PER_ROW = 4

# The axis of false alerts is linear up to this value, so that it can show 0, then logarithmic.
LINEAR_UP_TO = 0.1

# Labels: smallest vertical distance, in recall, and number of columns named per point.
LABEL_HEIGHT = 0.035
MOST_NAMES = 2


def alert_figure(points: Mapping[str, Mapping[str, tuple[float, float]]]) -> "Figure":
    """Draw one panel per method, with one point per column and their mean.

    Parameters
    ----------
    points
        for each method, each column's false alerts per 1,000 rows and recall.
    """
    if not points:
        raise InputError("no method has run on a labelled dataset; there is nothing to draw")
    n_across = min(PANELS_PER_ROW, len(points))
    n_down = ceil(len(points) / n_across)
    figure: Figure = library("matplotlib.figure", "matplotlib").Figure(
        figsize=(4.6 * n_across, 4.2 * n_down + 0.4), layout="constrained"
    )
    figure.suptitle(
        "Recall against false alerts: a point per dataset (c: under full churn), a cross for "
        "their mean; up and left is better",
        fontsize=11,
        color=INK,
        wrap=True,
    )
    panels = figure.subplots(n_down, n_across, sharey=True, squeeze=False).ravel()
    most = max(false for by_column in points.values() for false, _ in by_column.values())
    for axes, (method, by_column) in zip(panels, points.items(), strict=False):
        _panel(axes, method, by_column)
        axes.set_xlim(-0.02, max(30.0, 5 * most))
    for axes in panels[len(points) :]:
        axes.set_visible(False)
    return figure


def _panel(axes: "Axes", method: str, by_column: Mapping[str, tuple[float, float]]) -> None:
    values = np.array(list(by_column.values()))
    mean = values.mean(axis=0)
    axes.axvline(1.0, color=FAINT, linewidth=1, zorder=0)
    axes.plot(*mean, "X", color=MEAN, markersize=11, zorder=1)
    axes.plot(values[:, 0], values[:, 1], "o", color=POINT, markersize=4, zorder=2)
    lowest: dict[int, float] = {}  # height of the lowest label, by place on the axis
    for names, (false, recall) in _labels(by_column):
        place = int(_shown(false))
        height = min(recall, lowest.get(place, np.inf) - LABEL_HEIGHT)
        lowest[place] = height
        axes.text(
            false * 1.12 + 0.008, height, names, fontsize=6.5, color=INK, va="center", zorder=3
        )
    axes.set_title(f"{method}: recall {mean[1]:.2f}", loc="left", fontsize=9, color=INK)
    axes.set_xscale("symlog", linthresh=LINEAR_UP_TO, linscale=0.5)
    axes.set_xticks([0, 0.1, 1, 10], ["0", "0.1", "1", "10"])
    axes.set_ylim(-0.08, 1.05)
    axes.set_xlabel("false alerts per 1,000 normal rows", fontsize=8)
    axes.set_ylabel("recall", fontsize=8)
    axes.tick_params(labelsize=8)
    axes.grid(color="#eceff2", linewidth=0.6, zorder=0)
    axes.spines[["top", "right"]].set_visible(False)


def _labels(
    by_column: Mapping[str, tuple[float, float]],
) -> list[tuple[str, tuple[float, float]]]:
    """Return labels and their points, the highest first; columns at one point share a label."""
    shared: dict[tuple[float, float], list[str]] = {}
    for name, (false, recall) in by_column.items():
        point = round(false, 1), round(recall, 2)
        shared.setdefault(point, []).append(name.replace(", full churn", " c"))
    found = []
    for point, names in sorted(shared.items(), key=lambda item: -item[0][1]):
        more = len(names) - MOST_NAMES
        text = ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
        found.append((text, point))
    return found


def _shown(false: float) -> float:
    """Return the approximate place of a value on the axis; labels 1 apart do not overlap."""
    return 2.0 + 1.6 * float(np.log10(max(false, LINEAR_UP_TO / 3) / LINEAR_UP_TO))
