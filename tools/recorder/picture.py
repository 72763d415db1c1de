"""The picture of a dataset: presence of its variables, load, and faults.

In: the folder of a dataset. Out: a PNG file.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from tools.recorder.check import moved
from tools.recorder.dataset import read_dataset
from tools.recorder.system import System

__all__ = ["picture"]

BLUE, RED, GREY = "#2f6db0", "#b8401f", "#5b6570"


def picture(system: type[System], folder: Path, out: Path) -> Path:
    """Draw a dataset; return the path of the picture."""
    data = read_dataset(folder, system.name)
    minutes = (data.times - data.times[0]) / 60
    figure, (presence, load, faults) = plt.subplots(
        3, 1, figsize=(12, 10), sharex=True, layout="constrained", height_ratios=(4, 2, 3)
    )
    is_there = np.array([np.isfinite(values) for values in data.columns.values()])
    order = np.argsort(is_there.argmax(axis=1), kind="stable")
    edges = (minutes[0], minutes[-1], len(order), 0)
    presence.imshow(is_there[order], aspect="auto", extent=edges, cmap="Blues", vmin=-0.3, vmax=1.4)
    presence.set(
        title=f"{system.name}: {len(order)} variables, in order of appearance", ylabel="present"
    )
    for metric, colour in (("node_load1", GREY), ('node_cpu{mode="user"}', BLUE)):
        if metric in data.columns:
            load.plot(minutes, data.columns[metric], color=colour, lw=1, label=metric)
    load.plot(minutes, is_there.sum(axis=0) / 100, color=RED, lw=1, label="variables / 100")
    load.set(ylabel="load", ylim=(0, None))
    load.legend(loc="upper left", fontsize="small")
    for place, event in enumerate(data.events):
        start, end = ((moment - data.times[0]) / 60 for moment in (event.start, event.end))
        load.axvspan(start, end, color=RED, alpha=0.12, lw=0)
        faults.barh(place, end - start, left=start, color=RED)
        far = moved(data, event)
        n_moved = sum(value >= 4 for value in far.values())
        told = f" {event.kind} ({event.service}), {n_moved} of {len(far)} causes moved"
        is_late = start > 0.6 * minutes[-1]
        faults.annotate(
            told,
            (start if is_late else end, place),
            ha="right" if is_late else "left",
            va="center",
            fontsize="small",
        )
    for start_at, *_ in data.routine:
        faults.axvline((start_at - data.times[0]) / 60, color=GREY, lw=0.6, alpha=0.6)
    faults.set(xlabel="minutes; thin lines are routine changes", yticks=[], ylabel="faults")
    faults.invert_yaxis()
    split = minutes[data.in_test][0]
    for axes in (presence, load, faults):
        axes.axvline(split, color=GREY, ls="--", lw=1)
    figure.savefig(out, dpi=110)
    plt.close(figure)
    return out
