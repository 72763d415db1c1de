"""Computed pictures of the documentation, which show how the default detector decides.

Run ``python -m tools.pictures`` after a change of the detector; it writes to ``docs/images``.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.dates as mdates
import matplotlib.pyplot as plt
import numpy as np

import smkc
from smkc.evidence.variables import Tails
from smkc.fleet import make_fleet

IMAGES = Path(__file__).parents[1] / "docs" / "images"
BLUE, RED, GREY, BAND = "#2f6db0", "#b8401f", "#5b6570", "#cfe0f2"


def tails() -> None:
    """Draw surprise over distance for light tails from many and from few rows, and heavy tails."""
    rng = np.random.default_rng(0)
    columns = {
        "light tails, 5,000 rows": (rng.normal(size=5000), BLUE, "-"),
        "light tails, 200 rows": (rng.normal(size=200), BLUE, "--"),
        "heavy tails, 5,000 rows": (rng.standard_t(2, size=5000), RED, "-"),
    }
    far = np.linspace(0, 20, 400).astype(np.float32)[:, None]
    figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
    for name, (values, colour, style) in columns.items():
        fitted = Tails.fit(values[:, None].astype(np.float32), gap=1)
        axes.plot(far[:, 0], fitted.nats(far)[:, 0], style, color=colour, label=name)
    axes.axhline(np.log(1000), color=GREY, lw=1, ls=":")
    axes.annotate("1 in 1,000", (20, np.log(1000)), ha="right", va="bottom", color=GREY)
    axes.set(
        xlabel="distance from the median, in spreads", ylabel="surprise, in nats", xlim=(0, 20)
    )
    axes.set_ylim(bottom=0)
    _finish(figure, axes, "tails.png")


def season() -> None:
    """Draw 3 days of a variable with the band of its usual values by time of day."""
    rng = np.random.default_rng(3)
    times = np.datetime64("2026-05-04T00:00") + np.arange(10 * 144) * np.timedelta64(10, "m")
    hour = np.arange(len(times)) / 6 % 24
    usual = 40 + 25 * np.clip(np.sin((hour - 7) / 12 * np.pi), 0, None)
    values = usual + 2 * rng.normal(size=len(times))
    values[-144 * 2 + 12 : -144 * 2 + 24] = 58 + 2 * rng.normal(size=12)
    recording = smkc.read({"time": times, "load": values})
    fitted = smkc.Detector().fit(recording.rows(0, 7 * 144).canonical()).fitted_
    shown = slice(7 * 144, None)
    expected = [fitted.known.usual("load", time) for time in recording.times[shown]]
    middle = np.array([one.middle for one in expected])
    spread = np.array([one.spread for one in expected])
    figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
    axes.fill_between(
        times[shown], middle - 3 * spread, middle + 3 * spread,
        color=BAND, label="usual at this time, 3 spreads", step="mid",
    )  # fmt: skip
    axes.plot(times[shown], values[shown], color=BLUE, lw=1, label="value")
    axes.annotate(
        "usual by day, not by night", (times[-144 * 2 + 18], 61), (times[-144 * 2 + 18], 72),
        arrowprops={"arrowstyle": "->", "color": RED}, color=RED, va="center", ha="center",
    )  # fmt: skip
    axes.set(ylim=(30, 76), xlim=(times[shown][0], times[-1]))
    axes.xaxis.set_major_formatter(mdates.ConciseDateFormatter(axes.xaxis.get_major_locator()))
    _finish(figure, axes, "season.png")


def surprises() -> None:
    """Draw the surprise of each row of the demo's live day, with the threshold and the alerts."""
    fleet = make_fleet(0)
    detector = smkc.Detector(false_alarm_rate=0.001).fit(fleet.reference)
    nats = -np.log(detector.p_values(fleet.live))
    figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
    for alert in detector.alerts(fleet.live, explain=False):
        axes.axvspan(alert.start, alert.end, color="#f6ddd4", lw=0)
    axes.plot(fleet.live.times, nats, color=BLUE, lw=0.7, label="surprise of the row")
    axes.axhline(-np.log(0.001), color=GREY, ls="--", lw=1, label="threshold of the rate 0.001")
    axes.set(ylabel="nats", xlim=(fleet.live.times[0], fleet.live.times[-1]))
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_formatter(mdates.ConciseDateFormatter(axes.xaxis.get_major_locator()))
    _finish(figure, axes, "surprises.png")


def _finish(figure: plt.Figure, axes: plt.Axes, name: str) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="upper left")
    figure.savefig(IMAGES / name, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    tails()
    season()
    surprises()
