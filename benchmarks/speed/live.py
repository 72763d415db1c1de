"""Lines for streams: the slowest pushes of 1,000 variables, compared with one window of the anchor.

In: nothing. Out: 2 lines of the table. Pushes and the anchor's windows run in alternating series,
each after a warm-up, so that both have their data in the CPU caches. The second line is the time of
a push after other work and a pause, with cold caches, as is usual when rows arrive rarely.
"""

from collections.abc import Iterator
from itertools import count

import numpy as np

from benchmarks.speed import anchor
from benchmarks.speed.data import telemetry
from benchmarks.speed.timing import Line, rest, seconds, warm_up
from benchmarks.speed.windows import WINDOW, anchor_score, fitted

VARIABLES = 1_000
PUSHES, STRETCH = 1_000, 200
EVERY = 20  # pushes per window of the anchor
COLD = 50
SHARE = 0.2


def lines() -> Iterator[Line]:
    """Push one time step after another; between series of pushes, let the anchor score windows."""
    detector = fitted(VARIABLES)
    data = telemetry(WINDOW + PUSHES, VARIABLES, seed=7)
    rows = [data.recording.row(t) for t in range(len(data.recording))]
    stream, clock = detector.stream(), count()
    plain, score = anchor.Anchor(data.names), anchor_score()

    def push() -> None:
        t = next(clock)
        stream.push(t, rows[t % len(rows)])

    def anchor_window() -> None:
        score(plain, data.window(next(clock) % PUSHES, WINDOW))

    for _ in range(WINDOW):
        push()
    anchor_window()
    ours, theirs, cold = [], [], []
    for _ in range(PUSHES // STRETCH):
        warm_up(push)
        ours += [seconds(push) for _ in range(STRETCH)]
        warm_up(anchor_window)
        theirs += [seconds(anchor_window) for _ in range(STRETCH // EVERY)]
    for _ in range(COLD):
        anchor_window()
        rest()
        cold.append(seconds(push))
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
