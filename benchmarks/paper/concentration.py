"""The concentration table: how much cosines and log distances vary inside normal windows.

In: a plan's world and sizes; no jobs are run. Out: a table, one row per hash width.
"""

import numpy as np
from numpy.typing import NDArray

from benchmarks.paper.hash_width import WIDTHS
from benchmarks.paper.plan import Plan
from benchmarks.protocols import Splits, find_protocol
from benchmarks.table import Cell, Row, Table
from benchmarks.windows import Windows
from benchmarks.world import find_world
from smkc.paper.kernel import CHANNELS, images
from smkc.paper.sketch import Sketch

__all__ = ["concentration", "contrast"]

PROTOCOL = find_protocol("holdout_C")
HEADINGS = {
    "cos_g": "Cos(g)",
    "cos_delta": "Cos(delta g)",
    "cos_abs": "Cos(|delta g|)",
    "log_g": "LogDist(g)",
    "log_delta": "LogDist(delta g)",
    "log_abs": "LogDist(|delta g|)",
}


def concentration(plan: Plan) -> Table:
    """Return the table of the mean of Cos(g) and the sd of every channel, by hash width."""
    splits = Splits(seed=0, world=find_world(plan.world), sizes=plan.settings.budget.sizes)
    windows = splits.train(PROTOCOL)
    rows = []
    for buckets in WIDTHS:
        means, spreads = contrast(windows, buckets)
        cells = [Cell(float(means[0])), *(Cell(float(spread)) for spread in spreads)]
        cells.append(Cell(0.5 / np.sqrt(2 * buckets)))
        rows.append(Row(f"m = {buckets}", tuple(cells)))
    return Table(
        "concentration" if plan.world == "paper" else f"concentration-{plan.world}",
        "Contrast of kernel images: spread over pairs of time steps inside normal windows",
        (
            "Cos(g) mean",
            *(f"{HEADINGS[channel]} sd" for channel in CHANNELS),
            "sd of random directions",
        ),
        tuple(rows),
        (
            "The sd over pairs of different time steps of a window, mean over the normal training "
            "windows of seed 0. Cosines are mapped to 0..1 as in the paper.",
            "Random directions: cosines of independent Gaussian vectors of 2m numbers. The paper "
            "says that cosines of high-dimensional sketches concentrate, and measures nothing.",
        ),
    )


def contrast(windows: Windows, buckets: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(6,) means and (6,) sds of each channel over pairs of time steps, averaged over windows."""
    earlier, later = np.triu_indices(windows.length, 1)
    sketch = Sketch(buckets=buckets)
    made, _ = images(windows.recording(), windows.starts(), windows.length, sketch)
    pairs = made[:, :, earlier, later].astype(np.float64)
    return pairs.mean(axis=(0, 2)), pairs.std(axis=2).mean(axis=0)
