import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests import worlds

from benchmarks.paper.pictures import (
    Curve,
    Point,
    WindowView,
    cardinality_figure,
    channels_figure,
    collapse_figure,
    rate_figure,
    scatter_figure,
    transform_figure,
)
from benchmarks.report import save_png
from smkc.errors import InputError, MissingExtraError
from smkc.paper.kernel import CHANNELS, images
from smkc.paper.sketch import Sketch

LENGTH = 12


@pytest.fixture
def view(rng):
    values = worlds.churn(rng, worlds.coupled(rng, LENGTH, 4))
    recording = worlds.recording_of(values)
    sketch = Sketch(buckets=16)
    image, _ = images(recording, np.array([0]), LENGTH, sketch)
    return WindowView(np.asarray(values), sketch.states(recording), image[0])


def curves(names, groups=("in_dist_C", "holdout_C")):
    x = np.array([1.0, 2.0, 4.0])
    return [
        Curve(
            name, x, x / 10 + at / 50, x / 10 + at / 50 - 0.1, x / 10 + at / 50 + 0.1, x / 9, group
        )
        for at, name in enumerate(names)
        for group in groups
    ]


def visible(figure):
    return [axes for axes in figure.axes if axes.get_visible()]


def saved(figure, tmp_path: Path):
    """Draw it all: what cannot be laid out would warn, and warnings are errors here."""
    path = save_png(figure, tmp_path / "picture.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    return path.stat().st_size


@pytest.mark.slow
def test_each_picture_is_drawn(view, tmp_path: Path):
    strange = replace(view, segment=(3, 6))
    points = [Point(f"m{at}", 0.5 + at / 100, 0.5, group) for at in range(12) for group in "ab"]
    for figure in (
        cardinality_figure(curves([f"method {at}" for at in range(5)])),
        rate_figure(curves(["a"])),
        scatter_figure(points),
        transform_figure(view, strange),
        channels_figure(view.image),
        collapse_figure(view.image[[0, 3]], 2 * view.image[[0, 3]], (3, 6)),
    ):
        assert saved(figure, tmp_path) > 5000
        assert figure.get_suptitle()


def test_a_panel_a_method_with_band_and_paper():
    figure = cardinality_figure(curves(["a", "b", "c"]))
    panels = visible(figure)
    assert [axes.get_title(loc="left") for axes in panels] == ["a", "b", "c"]
    for axes in panels:
        drawn = [line for line in axes.lines if line.get_zorder() > 1]
        assert [line.get_linestyle() for line in drawn] == ["-", "--", "-", "--"]
        assert len(axes.collections) == 2  # bands
        assert sum(line.get_zorder() == 1 for line in axes.lines) == 4  # the others, faint
    np.testing.assert_allclose(
        next(line for line in panels[1].lines if line.get_zorder() > 1).get_ydata(),
        [0.12, 0.22, 0.42],
    )
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.texts] == [
        "ours, in_dist_C",
        "paper, in_dist_C",
        "ours, holdout_C",
        "paper, holdout_C",
    ]


def test_what_is_unknown_is_not_drawn():
    (axes,) = visible(rate_figure([Curve("a", [0.01, 0.1], [0.4, 0.5])]))
    assert len(axes.lines) == 1
    assert not axes.collections
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1%", "10%"]


def test_a_protocol_keeps_its_colour():
    alone = visible(cardinality_figure(curves(["a"], ["holdout_C"])))[0].lines[0]
    both = visible(cardinality_figure(curves(["a"], ["holdout_C", "in_dist_C"])))[0].lines
    assert alone.get_color() == both[0].get_color() != both[2].get_color()


def test_places_without_a_method_stay_empty():
    figure = cardinality_figure(curves([f"method {at}" for at in range(17)]))
    assert len(visible(figure)) == 17
    # the panel above the empty place has its own labels
    assert visible(figure)[11].get_xlabel()
    assert not visible(figure)[0].get_xlabel()


def test_scatter_names_every_point_and_counts_the_near_ones():
    points = [Point("near", 0.5, 0.52, "a"), Point("far", 0.3, 0.5, "a"), Point("x", 0.4, 0.4, "b")]
    panels = visible(scatter_figure(points))
    assert panels[0].get_title(loc="left").startswith("a: 1 of 2 within 0.05")
    assert panels[1].get_title(loc="left").startswith("b: 1 of 1 within 0.05")
    assert {text.get_text() for text in panels[0].texts} == {"near", "far"}
    assert {text.xy for text in panels[0].texts} == {(0.52, 0.5), (0.5, 0.3)}


def test_names_in_the_scatter_keep_apart_and_leaders_do_not_cross(rng):
    points = [
        Point(str(at), *(0.5 + 0.02 * rng.random(2)))  # a crowd
        for at in range(12)
    ]
    (axes,) = visible(scatter_figure([*points, Point("alone", 0.1, 0.1)]))
    leaders = [(text.xy, text.get_position()) for text in axes.texts]
    heights = np.sort([place[1] for _, place in leaders])
    low, high = axes.get_ylim()
    assert np.diff(heights).min() > 0.04 * (high - low)
    assert heights[-1] <= high
    for at, first in enumerate(leaders):
        for second in leaders[:at]:
            assert not crosses(first, second)


def crosses(first, second):
    def side(a, b, c):
        return np.sign((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))

    (a, b), (c, d) = first, second
    return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0


def test_transform_shows_the_window_and_its_gaps(view):
    holes = view.values.copy()
    holes[[2, 5], [1, 0]] = np.nan
    figure = transform_figure(view, replace(view, values=holes, segment=(3, 6)))
    panels = figure.axes[:8]
    np.testing.assert_array_equal(panels[4].images[0].get_array().filled(np.nan), holes.T)
    crosses = {tuple(map(float, place)) for place in panels[4].lines[-1].get_xydata()}
    assert {(2.0, 1.0), (5.0, 0.0)} <= crosses
    assert len(crosses) == np.isnan(holes).sum()
    for column, channel in ((2, "cos_g"), (3, "log_g")):
        shown = panels[column].images[0].get_array()
        np.testing.assert_array_equal(shown, view.image[CHANNELS.index(channel)])
    for upper, lower in zip(panels[:4], panels[4:], strict=True):
        assert upper.images[0].get_clim() == lower.images[0].get_clim()
    assert len(panels[6].lines) == 4  # two edges each way
    assert not panels[2].lines  # no anomaly in the normal one


def test_channels_in_the_papers_order(view):
    panels = channels_figure(view.image).axes[:6]
    for axes, channel in zip(panels, view.image, strict=True):
        np.testing.assert_array_equal(axes.images[0].get_array(), channel)
    assert [axes.get_title() for axes in panels][::3] == [
        r"$\mathrm{Cos}(g)$",
        r"$\mathrm{LogDist}(g)$",
    ]


def test_collapse_says_how_much_each_kernel_changes(view):
    before = view.image[[0, 3]]
    after = before.copy()
    after[0, 1, 2] += 1e-7
    after[1, 1, 2] -= 2.0
    titles = [axes.get_title() for axes in collapse_figure(before, after).axes]
    assert "difference, at most 1.2e-07" in titles  # the step of float32 near 1
    assert "difference, at most 2" in titles


def test_what_cannot_be_drawn(view):
    with pytest.raises(InputError, match="no curve to draw; give one"):
        cardinality_figure([])
    with pytest.raises(InputError, match=r"curve 'a': figures of the shapes \[\(1,\)\].*NaN"):
        rate_figure([Curve("a", [0.1, 0.2], [0.5])])
    for points in ([], [Point("a", np.nan, 0.5)]):
        with pytest.raises(InputError, match="make no picture; give one"):
            scatter_figure(points)
    with pytest.raises(InputError, match=r"not \(6, L, L\); take them from"):
        channels_figure(view.image[:3])
    with pytest.raises(InputError, match="compare one window with itself"):
        collapse_figure(np.zeros((2, 3, 3)), np.zeros((2, 4, 4)))
    with pytest.raises(InputError, match="give all three of one window"):
        transform_figure(view, replace(view, states=view.states[1:]))


def test_importing_loads_no_matplotlib():
    code = "import sys, benchmarks.paper.pictures; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_missing_extra_names_the_install_command(monkeypatch, view):
    for name in [one for one in sys.modules if one.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match="--group benchmarks"):
        channels_figure(view.image)
