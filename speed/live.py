"""Lines for the stream: the slowest pushes with 1,000 variables, beside the anchor's one window.

In: nothing. Out: two lines of the table. Pushes and the anchor's windows take turns in stretches,
so that either finds its own numbers in the caches. The second line tells what a push takes that
finds others' there, after a pause, as it mostly is when rows come once in a while.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from speed import anchor
from speed.data import telemetry
from speed.timing import Line, rest, seconds
from speed.windows import WINDOW, anchor_score, fitted

VARIABLES = 1_000
PUSHES, STRETCH = 1_000, 200
EVERY = 20  # pushes to one of the anchor's windows
COLD = 50
SHARE = 0.1


def lines() -> Iterator[Line]:
    """Push one time step after another; between stretches, let the anchor score windows."""
    detector = fitted(VARIABLES)
    data = telemetry(WINDOW + PUSHES + COLD, VARIABLES, seed=7)
    rows = [data.recording.row(t) for t in range(len(data.recording))]
    stream = detector.stream()
    plain, score = anchor.Anchor(data.names), anchor_score()

    def push(t: int) -> float:
        return seconds(partial(stream.push, t, rows[t]))

    def anchor_window(t: int) -> float:
        return seconds(partial(score, plain, data.window(t - WINDOW, WINDOW)))

    for t in range(WINDOW):
        push(t)
    anchor_window(WINDOW)
    ours, theirs, cold = [], [], []
    for first in range(WINDOW, WINDOW + PUSHES, STRETCH):
        stretch = range(first, first + STRETCH)
        rest()
        ours += [push(t) for t in stretch]
        rest()
        theirs += [anchor_window(t) for t in stretch[::EVERY]]
    for t in range(WINDOW + PUSHES, WINDOW + PUSHES + COLD):
        anchor_window(t)
        rest()
        cold.append(push(t))
    slow, one_window = float(np.quantile(ours, 0.99)), float(np.median(theirs))
    yield Line(
        work=f"stream, 1,000 variables, p99 of a push (median {np.median(ours) * 1e6:.0f} us)",
        ours=slow,
        anchor=one_window,
        unit="s a push",
        figure=f"{slow / one_window:.3f} of the anchor's window",
        target=f"< {SHARE:g}",
        passed=slow < SHARE * one_window,
    )
    after_other_work = float(np.median(cold))
    yield Line(
        work="the same: one push after other work and a pause, median",
        ours=after_other_work,
        anchor=one_window,
        unit="s a push",
        figure=f"{after_other_work / one_window:.3f} of the anchor's window",
        target="printed",
        passed=None,
    )
