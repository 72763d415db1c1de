"""The pictures: tables as curves and scatter plots, and the paper's 3 figures.

In: plain arrays and numbers. Out: matplotlib figures, for :func:`benchmarks.report.save_png` to
write; no GUI window is opened. Drawing needs matplotlib; importing this module does not.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.libraries import library
from smkc.errors import InputError
from smkc.paper.kernel import CHANNELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "Curve",
    "Point",
    "WindowView",
    "cardinality_figure",
    "channels_figure",
    "collapse_figure",
    "rate_figure",
    "scatter_figure",
    "transform_figure",
]

# A palette for the colour-blind: Okabe and Ito, "Color Universal Design", 2008. Protocols have the
# same colours in all pictures; other groups get the remaining ones.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")
PROTOCOLS = ("in_dist_C", "holdout_C")
INK, LEADER, FAINT, MISSING = "#1d2733", "#8a929b", "#dde1e6", "#9a9a9a"
SIMILARITY, DISTANCE, SIGNED = "viridis", "magma", "RdBu_r"

# The paper's figure and ours agree if they differ by at most this much.
NEAR = 0.05

NAMES = {
    "cos_g": r"$\mathrm{Cos}(g)$",
    "cos_delta": r"$\mathrm{Cos}(\Delta g)$",
    "cos_abs": r"$\mathrm{Cos}(|\Delta g|)$",
    "log_g": r"$\mathrm{LogDist}(g)$",
    "log_delta": r"$\mathrm{LogDist}(\Delta g)$",
    "log_abs": r"$\mathrm{LogDist}(|\Delta g|)$",
}


@dataclass(frozen=True, eq=False)
class Curve:
    """One method under one protocol: ``x``, ``values``, their interval and the paper's, each (K,).

    ``paper`` is NaN where the paper has no figure. Curves with the same name share a panel, curves
    with the same group a colour.
    """

    name: str
    x: ArrayLike
    values: ArrayLike
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    paper: ArrayLike | None = None
    group: str = ""


@dataclass(frozen=True)
class Point:
    """One method's figure, ours and the paper's."""

    name: str
    ours: float
    paper: float
    group: str = ""


@dataclass(frozen=True, eq=False)
class WindowView:
    """One window at each stage of the transform.

    Parameters
    ----------
    values
        (L, C) values, NaN where missing.
    states
        (L, 2m) g: value buckets first, then presence buckets.
    image
        (6, L, L) as returned by ``smkc.paper.kernel.images``.
    segment
        first step of the anomaly and the step after its last; None for a normal window.
    """

    values: NDArray[Any]
    states: NDArray[Any]
    image: NDArray[Any]
    segment: tuple[int, int] | None = None


def cardinality_figure(curves: Sequence[Curve], metric: str = "AUPRC") -> "Figure":
    """Draw a metric against cardinality, one panel per method, the other methods in pale grey."""
    return _panels(curves, metric, "cardinality C", "variables a window", lambda x: f"{x:g}")


def rate_figure(curves: Sequence[Curve], metric: str = "AUPRC") -> "Figure":
    """Draw a metric against the test set's anomaly rate, like :func:`cardinality_figure`."""
    return _panels(curves, metric, "anomaly rate", "anomaly rate", lambda x: f"{100 * x:g}%")


def scatter_figure(points: Sequence[Point], metric: str = "AUPRC") -> "Figure":
    """Draw our figures against the paper's: one panel per protocol, one named point per method."""
    every = [value for point in points for value in (point.ours, point.paper)]
    if not every or not np.isfinite(every).all():
        raise InputError(
            f"{len(points)} points, of which some may be NaN, make no picture; "
            "give one for each method that has both figures"
        )
    colour_of = _colour_of([point.group for point in points])
    low, high = min(every) - 0.06, max(every) + 0.06
    figure = _figure(6.5 * len(colour_of), 4.9, f"{metric}: ours against the paper's")
    panels = figure.subplots(1, len(colour_of), squeeze=False)[0]
    ends = np.array([low, high])
    for axes, (group, colour) in zip(panels, colour_of.items(), strict=True):
        chosen = [point for point in points if point.group == group]
        axes.fill_between(ends, ends - NEAR, ends + NEAR, color=FAINT, alpha=0.6, linewidth=0)
        axes.plot(ends, ends, color=INK, linewidth=0.8)
        places = np.array([(point.paper, point.ours) for point in chosen])
        axes.plot(*places.T, "o", color=colour, markersize=5, markeredgecolor="white")
        _name_points(axes, chosen, low, high)
        n_near = sum(abs(point.ours - point.paper) <= NEAR for point in chosen)
        title = f"{n_near} of {len(chosen)} within {NEAR:g} (shaded)"
        axes.set_title(f"{group}: {title}" if group else title, loc="left", fontsize=9)
        axes.set(xlim=(low, high), ylim=(low, high), aspect="equal")
        axes.set(xlabel=f"{metric}, paper", ylabel=f"{metric}, ours")
    return figure


def transform_figure(normal: WindowView, anomalous: WindowView) -> "Figure":
    """Draw values, states, Cos(g) and LogDist(g) of a normal and of an anomalous window."""
    views = (normal, anomalous)
    for view in views:
        _check_view(view)
    title = "From a window to its kernel image (dashed: the anomalous segment)"
    figure = _figure(13, 6.2, title)
    panels = figure.subplots(2, 4, width_ratios=(1.15, 1.15, 1, 1))
    used = [np.flatnonzero(np.any(view.states != 0, axis=0)) for view in views]
    states = [view.states.T[rows] for view, rows in zip(views, used, strict=True)]
    cos, log = CHANNELS.index("cos_g"), CHANNELS.index("log_g")
    columns: list[tuple[str, list[NDArray[Any]], str]] = [
        ("values X, crosses where missing", [view.values.T for view in views], SIGNED),
        ("states g, the buckets in use", states, SIGNED),
        (NAMES["cos_g"], [view.image[cos] for view in views], SIMILARITY),
        (NAMES["log_g"], [view.image[log] for view in views], DISTANCE),
    ]
    for column, (title, pictures, colours) in enumerate(columns):
        span = _signed_range(pictures) if colours == SIGNED else _range(pictures)
        for row, (picture, view) in enumerate(zip(pictures, views, strict=True)):
            axes = panels[row, column]
            axes.set_facecolor(MISSING)  # visible where a value is missing
            shown = axes.imshow(picture, cmap=colours, vmin=span[0], vmax=span[1], aspect="auto")
            _mark(axes, view.segment, "w" if column > 1 else INK, both=column > 1)
            axes.set_title(title if row == 0 else "", fontsize=10)
            axes.set_xlabel("time step" if row == 1 else "", fontsize=9)
            axes.tick_params(labelsize=8)
        _bar(figure, shown, panels[:, column], location="bottom", aspect=32, pad=0.02)
    for row, (view, buckets) in enumerate(zip(views, used, strict=True)):
        missing = np.argwhere(np.isnan(view.values))
        panels[row, 0].plot(*missing.T, "x", color=INK, markersize=4, markeredgewidth=0.9)
        panels[row, 0].set_ylabel(f"{('normal', 'anomalous')[row]} window\nvariable", fontsize=10)
        n_values = int(np.count_nonzero(buckets < view.states.shape[1] // 2))
        panels[row, 1].axhline(n_values - 0.5, color=INK, linewidth=0.9)
        middles = [(n_values - 1) / 2, (n_values + len(buckets) - 1) / 2]
        panels[row, 1].set_yticks(middles, ["values", "presence"], rotation=90, va="center")
        panels[row, 1].tick_params(axis="y", length=0)
        for axes in panels[row, 2:]:
            axes.set_ylabel("time step", fontsize=9)
    return figure


def channels_figure(image: ArrayLike, title: str = "Six channels of a kernel image") -> "Figure":
    """Draw the 6 channels (6, L, L) of one window, each with its own colour range."""
    channels = _checked_image(image, len(CHANNELS))
    figure = _figure(9.6, 6.4, title)
    panels = figure.subplots(2, 3, sharex=True, sharey=True)
    for axes, name, channel in zip(panels.flat, CHANNELS, channels, strict=True):
        low, high = (0.0, 1.0) if name.startswith("cos") else _range([channel])
        colours = SIMILARITY if name.startswith("cos") else DISTANCE
        shown = axes.imshow(channel, cmap=colours, vmin=low, vmax=high)
        _bar(figure, shown, axes)
        axes.set_title(NAMES[name], fontsize=10)
    _label_steps(panels)
    return figure


def collapse_figure(
    before: ArrayLike, after: ArrayLike, segment: tuple[int, int] | None = None
) -> "Figure":
    """Draw Cos(g) and LogDist(g) before and after the amplitude of a short segment is scaled.

    Parameters
    ----------
    before, after
        (2, L, L) Cos(g) and LogDist(g) of the same window.
    segment
        first scaled step, and the step after the last.
    """
    first, second = _checked_image(before, 2), _checked_image(after, 2)
    if first.shape != second.shape:
        raise InputError(
            f"kernels of the shape {first.shape} before and {second.shape} after; "
            "compare one window with itself"
        )
    title = "Kernels before and after a segment (dashed) is scaled in amplitude"
    figure = _figure(10, 6.4, title)
    panels = figure.subplots(2, 3, sharex=True, sharey=True)
    for row, (name, colours) in enumerate((("cos_g", SIMILARITY), ("log_g", DISTANCE))):
        pair = [np.asarray(kernel[row], np.float64) for kernel in (first, second)]
        low, high = (0.0, 1.0) if name == "cos_g" else _range(pair)
        for axes, kernel, when in zip(panels[row], pair, ("before", "after"), strict=False):
            shown = axes.imshow(kernel, cmap=colours, vmin=low, vmax=high)
            axes.set_title(f"{NAMES[name]} {when}", fontsize=10)
            _bar(figure, shown, axes)
        change = pair[1] - pair[0]
        largest = float(np.abs(change).max())
        # Use the kernel's own range, so that rounding errors do not look like structure.
        reach = 1.0 if name == "cos_g" else max(largest, 1e-12)
        shown = panels[row, 2].imshow(change, cmap=SIGNED, vmin=-reach, vmax=reach)
        panels[row, 2].set_title(f"difference, at most {largest:.2g}", fontsize=10)
        _bar(figure, shown, panels[row, 2])
        for axes, colour in zip(panels[row], ("w", "w", INK), strict=True):
            _mark(axes, segment, colour, both=True)
    _label_steps(panels)
    return figure


def _panels(
    curves: Sequence[Curve], metric: str, against: str, label: str, tick: Callable[[float], str]
) -> "Figure":
    """Draw small multiples: one panel per name, one colour per group, dashed for the paper."""
    if not curves:
        raise InputError("no curve to draw; give one for each method and protocol")
    for curve in curves:
        _check_curve(curve)
    names = list(dict.fromkeys(curve.name for curve in curves))
    colour_of = _colour_of([curve.group for curve in curves])
    n_columns = min(len(names), 6 if len(names) > 12 else 4)
    n_rows = math.ceil(len(names) / n_columns)
    size = (max(2.15 * n_columns, 4.6), 1.95 * n_rows + 1.1)
    figure = _figure(*size, f"{metric} against {against}")
    panels = figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
    ticks = sorted({float(x) for curve in curves for x in np.asarray(curve.x, np.float64)})
    labels: dict[str, Any] = {}
    for axes, name in zip(panels.flat, names, strict=False):
        for curve in curves:
            if curve.name != name:
                axes.plot(curve.x, curve.values, color=FAINT, linewidth=0.6, zorder=1)
        for curve in (one for one in curves if one.name == name):
            colour = colour_of[curve.group]
            width = {"linewidth": 1.6, "markersize": 3}
            (line,) = axes.plot(curve.x, curve.values, "o-", color=colour, **width, zorder=3)
            labels.setdefault(", ".join(filter(None, ("ours", curve.group))), line)
            if curve.low is not None and curve.high is not None:
                band = (curve.x, curve.low, curve.high)
                axes.fill_between(*band, color=colour, alpha=0.22, linewidth=0, zorder=2)
            if curve.paper is not None:
                dashed = {"color": colour, "linewidth": 1.1, "linestyle": (0, (4, 2))}
                (line,) = axes.plot(curve.x, curve.paper, **dashed, zorder=4)
                labels.setdefault(", ".join(filter(None, ("paper", curve.group))), line)
        axes.set_title(name, loc="left", fontsize=8.5, color=INK)
        axes.set_xscale("log")
        axes.set_xticks(ticks, [tick(x) for x in ticks])
        axes.minorticks_off()
        axes.tick_params(labelsize=7)
        axes.grid(axis="y", color="#eceff2", linewidth=0.6, zorder=0)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels.flat[len(names) :]:
        axes.set_visible(False)
    for column in range(n_columns):  # the lowest visible panel of each column
        lowest = panels[(len(names) - 1 - column) // n_columns, column]
        lowest.xaxis.set_tick_params(labelbottom=True)
        lowest.set_xlabel(label, fontsize=8)
    for axes in panels[:, 0]:
        axes.set_ylabel(metric, fontsize=8)
    style = {"ncols": 4, "frameon": False, "fontsize": 8}
    figure.legend(labels.values(), labels, loc="outside lower center", **style)
    return figure


def _name_points(axes: "Axes", points: Sequence[Point], low: float, high: float) -> None:
    """Write the names beside the panel without overlaps, joined to their points by lines."""
    ordered = sorted(points, key=lambda point: point.ours)
    at_x, gap = high + 0.03 * (high - low), 0.047 * (high - low)
    heights = [point.ours for point in ordered]
    for at in range(1, len(heights)):
        heights[at] = max(heights[at], heights[at - 1] + gap)
    heights[-1] = min(heights[-1], high)
    for at in range(len(heights) - 2, -1, -1):
        heights[at] = min(heights[at], heights[at + 1] - gap)

    def leader(point: Point, height: float) -> float:
        return math.hypot(at_x - point.paper, height - point.ours)

    swapped = True
    while swapped:  # when no swap shortens two lines, none of them cross
        swapped = False
        for i, j in combinations(range(len(ordered)), 2):
            (one, other), (lower, upper) = (ordered[i], ordered[j]), (heights[i], heights[j])
            now = leader(one, lower) + leader(other, upper)
            if leader(one, upper) + leader(other, lower) < now - 1e-9:
                ordered[i], ordered[j], swapped = other, one, True
    for point, height in zip(ordered, heights, strict=True):
        axes.annotate(
            point.name.replace("$", r"\$"),
            (point.paper, point.ours),
            xytext=(at_x, height),
            va="center",
            fontsize=7.5,
            color=INK,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": LEADER, "linewidth": 0.5, "relpos": (0, 0.5)},
        )


def _mark(axes: "Axes", segment: tuple[int, int] | None, colour: str, *, both: bool) -> None:
    for edge in segment or ():
        for line in (axes.axvline, axes.axhline) if both else (axes.axvline,):
            line(edge - 0.5, color=colour, linewidth=0.9, linestyle="--")


def _label_steps(panels: NDArray[Any]) -> None:
    for axes in panels.flat:
        axes.set(xlabel="time step", ylabel="time step")
        axes.tick_params(labelsize=8)
        axes.label_outer()


def _range(pictures: Sequence[NDArray[Any]]) -> tuple[float, float]:
    high = max(float(np.max(picture)) for picture in pictures)
    return 0.0, high if high > 0 else 1.0


def _signed_range(pictures: Sequence[NDArray[Any]]) -> tuple[float, float]:
    """Return a range around 0 without the largest 0.5 %, so that a spike does not hide the rest."""
    sizes = np.concatenate([np.abs(picture[~np.isnan(picture)]) for picture in pictures])
    reach = float(np.percentile(sizes, 99.5)) if sizes.size else 1.0
    return (-reach, reach) if reach > 0 else (-1.0, 1.0)


def _colour_of(groups: Sequence[str]) -> dict[str, str]:
    """Return a colour for each group, protocols first."""
    known = PROTOCOLS if set(groups) & set(PROTOCOLS) else ()
    order = list(dict.fromkeys([*known, *groups]))
    return {group: COLOURS[order.index(group) % len(COLOURS)] for group in groups}


def _figure(width: float, height: float, title: str) -> "Figure":
    made: Figure = library("matplotlib.figure", "matplotlib").Figure(
        figsize=(width, height), layout="constrained"
    )
    made.suptitle(title, fontsize=12, color=INK)
    return made


def _bar(figure: "Figure", shown: Any, axes: Any, **where: Any) -> None:
    figure.colorbar(shown, ax=axes, shrink=0.8, **where).ax.tick_params(labelsize=8)


def _check_curve(curve: Curve) -> None:
    parts = (curve.values, curve.low, curve.high, curve.paper)
    shapes = [np.shape(part) for part in parts if part is not None]
    if any(shape != np.shape(curve.x) for shape in shapes):
        raise InputError(
            f"curve {curve.name!r}: figures of the shapes {shapes} at {np.shape(curve.x)} places; "
            "give one for each, NaN where there is none"
        )


def _check_view(view: WindowView) -> None:
    length = len(view.values)
    _checked_image(view.image, len(CHANNELS))
    if len(view.states) != length or view.image.shape[1] != length:
        raise InputError(
            f"values of {length} steps, states of {len(view.states)} and an image of "
            f"{view.image.shape[1]}; give all three of one window"
        )


def _checked_image(image: ArrayLike, n_channels: int) -> NDArray[Any]:
    channels = np.asarray(image)
    if channels.ndim != 3 or len(channels) != n_channels or channels.shape[1] != channels.shape[2]:
        raise InputError(
            f"kernels of the shape {channels.shape}, not ({n_channels}, L, L); "
            "take them from smkc.paper.kernel.images"
        )
    return channels
