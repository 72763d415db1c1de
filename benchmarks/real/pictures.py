"""The pictures of the real-data benchmark: a heat map, loss under churn, drift.

In: names and plain numbers. Out: matplotlib figures, which :func:`benchmarks.report.save_png`
writes. Drawing needs matplotlib; importing this module does not.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.libraries import library
from smkc.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["churn_figure", "drift_figure", "heat_map"]

# Safe for the colour-blind: Okabe and Ito, "Color Universal Design", 2008.
BEFORE, MIDDLE, AFTER, PAST = "#0072B2", "#E69F00", "#D55E00", "#009E73"
INK, FAINT = "#1d2733", "#c9ced4"

# Cells with values below this are dark, so their figures are white.
DARK = 0.55


def heat_map(
    rows: Sequence[str], columns: Sequence[str], values: ArrayLike, title: str
) -> "Figure":
    """Draw (R, C) figures as a heat map, each written in its cell; NaN cells stay blank."""
    table = np.asarray(values, np.float64)
    if table.shape != (len(rows), len(columns)) or not table.size:
        raise InputError(
            f"figures of the shape {table.shape} for {len(rows)} rows and {len(columns)} columns; "
            "give one a cell, NaN where there is none"
        )
    figure = _figure(2.6 + 0.75 * len(columns), 1.6 + 0.32 * len(rows), title)
    axes = figure.subplots()
    axes.imshow(table, cmap="viridis", vmin=0.0, vmax=1.0, aspect="auto")
    for at, value in np.ndenumerate(table):
        if not np.isnan(value):
            colour = "white" if value < DARK else INK
            text = f"{value:.2f}".lstrip("0") if value < 1 else "1"
            axes.text(at[1], at[0], text, ha="center", va="center", fontsize=8, color=colour)
    axes.set_xticks(range(len(columns)), columns, rotation=35, ha="right", fontsize=8)
    axes.set_yticks(range(len(rows)), rows, fontsize=8)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return figure


def churn_figure(panels: Mapping[str, Mapping[str, Sequence[float]]], metric: str) -> "Figure":
    """Draw the loss under churn: one panel per dataset, one line per method from none to full.

    Parameters
    ----------
    panels
        for each dataset, each method's figures without, with mild and with full churn.
    """
    if not panels or not any(panels.values()):
        raise InputError("no method has run under churn; there is nothing to draw")
    names = list(next(iter(panels.values())))
    figure = _figure(
        3.1 * len(panels) + 1.6, 1.6 + 0.30 * len(names), f"Loss under churn, {metric}"
    )
    axes_of = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (panel, methods) in zip(axes_of, panels.items(), strict=True):
        for at, name in enumerate(names):
            found = np.asarray(methods.get(name, ()), np.float64)
            if not found.size:
                continue
            axes.plot([found[0], found[-1]], [at, at], color=FAINT, linewidth=2, zorder=1)
            for value, colour in zip(found, (BEFORE, MIDDLE, AFTER), strict=True):
                axes.plot(value, at, "o", color=colour, markersize=5, zorder=2)
        axes.set_title(panel, loc="left", fontsize=9, color=INK)
        _bare(axes, metric)
    axes_of[0].set_yticks(range(len(names)), names, fontsize=8)
    axes_of[0].invert_yaxis()
    _legend(figure, {"none": BEFORE, "mild": MIDDLE, "full": AFTER})
    return figure


def drift_figure(panels: Mapping[str, Mapping[str, Sequence[float]]], metric: str) -> "Figure":
    """Draw the loss under drift: one row per method, with a static and a prequential line.

    Parameters
    ----------
    panels
        for each panel, each method's figures in the order static, static with drift, prequential,
        prequential with drift.
    """
    if not panels or not any(panels.values()):
        raise InputError("no method has run with drift; there is nothing to draw")
    names = _names(panels)
    figure = _figure(4.2 * len(panels) + 1.6, 1.6 + 0.34 * len(names), f"Drift, {metric}")
    axes_of = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (panel, methods) in zip(axes_of, panels.items(), strict=True):
        for at, name in enumerate(names):
            found = methods.get(name, (np.nan,) * 4)
            for shift, (before, after), colour in (
                (-0.14, found[:2], BEFORE),
                (0.14, found[2:], PAST),
            ):
                height = [at + shift] * 2
                axes.plot([before, after], height, color=FAINT, linewidth=2, zorder=1)
                axes.plot(before, height[0], "o", color=colour, markersize=5, zorder=2)
                hollow = {"markerfacecolor": "white", "markeredgecolor": colour}
                axes.plot(after, height[1], "o", markersize=5, zorder=3, **hollow)
        axes.set_title(panel, loc="left", fontsize=9, color=INK)
        _bare(axes, metric)
    axes_of[0].set_yticks(range(len(names)), names, fontsize=8)
    axes_of[0].invert_yaxis()
    _legend(figure, {"static": BEFORE, "prequential": PAST, "hollow: with drift": FAINT})
    return figure


def _names(panels: Mapping[str, Mapping[str, Sequence[float]]]) -> list[str]:
    """Return the methods of all panels, each once, those of the largest panel first."""
    fullest = max(panels.values(), key=len)
    return list(dict.fromkeys([*fullest, *(name for each in panels.values() for name in each)]))


def _bare(axes: "Axes", metric: str) -> None:
    axes.set_xlabel(metric, fontsize=8)
    axes.tick_params(labelsize=8)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#eceff2", linewidth=0.6, zorder=0)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _legend(figure: "Figure", colours: Mapping[str, str]) -> None:
    lines = library("matplotlib.lines", "matplotlib")
    marks = [
        lines.Line2D([], [], color=colour, marker="o", linestyle="none", label=name)
        for name, colour in colours.items()
    ]
    figure.legend(
        handles=marks, loc="outside lower center", ncols=len(marks), frameon=False, fontsize=8
    )


def _figure(width: float, height: float, title: str) -> "Figure":
    made: Figure = library("matplotlib.figure", "matplotlib").Figure(
        figsize=(width, height), layout="constrained"
    )
    made.suptitle(title, fontsize=12, color=INK)
    return made
