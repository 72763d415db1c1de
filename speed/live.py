"""Line for the stream: the slowest pushes with 1,000 variables, beside the anchor's one window.

In: nothing. Out: one line of the table.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from speed import anchor
from speed.data import telemetry
from speed.timing import Line, seconds
from speed.windows import WINDOW, anchor_score, fitted

VARIABLES = 1_000
PUSHES = 1_000
SHARE = 0.1


def lines() -> Iterator[Line]:
    """Push one time step after another; every few, let the anchor score a window."""
    detector = fitted(VARIABLES)
    data = telemetry(WINDOW + PUSHES, VARIABLES, seed=7)
    rows = [data.recording.row(t) for t in range(len(data.recording))]
    stream = detector.stream()
    for t in range(WINDOW):
        stream.push(t, rows[t])
    plain, score = anchor.Anchor(data.names), anchor_score()
    ours, theirs = [], []
    for t in range(WINDOW, WINDOW + PUSHES):
        ours.append(seconds(partial(stream.push, t, rows[t])))
        if t % 20 == 0:
            window = data.window(t - WINDOW, WINDOW)
            theirs.append(seconds(partial(score, plain, window)))
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
