"""Lines for windows: images, band features and complete scores, compared with the anchor.

In: nothing. Out: lines of the table. m = 128, 16 variables, windows of 64 time steps, as in the
paper's scaling study; times are per window.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.speed import anchor
from benchmarks.speed.data import Telemetry, Window, telemetry
from benchmarks.speed.timing import Line, ratio_line, take_turns
from smkc.paper import KnnDetector
from smkc.paper.kernel import Representation, map_features, window_starts
from smkc.paper.sketch import Sketch

WINDOW = 64
VARIABLES = 16
COMPONENTS = 256
REFERENCES = 4096
NEIGHBOURS = 20
ROUNDS = 15

# Numbers of windows, large enough that the fixed cost of a call is as small as in practice.
INDEPENDENT = 4096
SLIDING = 8192
ANCHOR_WINDOWS = 32

# Minimum speed-up over the anchor, for each line.
IMAGE_TARGET, BAND_TARGET, SLIDING_TARGET, SCORE_TARGET = 7.5, 40, 125, 30


def lines() -> Iterator[Line]:
    """Measure the 4 lines that compare the time per window."""
    independent = telemetry(INDEPENDENT * WINDOW, VARIABLES, seed=1)
    apart = window_starts(INDEPENDENT * WINDOW, WINDOW, WINDOW)
    sliding = telemetry(SLIDING + WINDOW - 1, VARIABLES, seed=2)
    every = window_starts(SLIDING + WINDOW - 1, WINDOW, 1)
    yield compare(
        "six-channel image, independent windows",
        *(feature_work(independent, apart[: INDEPENDENT // 16], "full image"), INDEPENDENT // 16),
        anchor_work(independent, lambda plain, window: plain.image(*window)),
        IMAGE_TARGET,
    )
    yield compare(
        "log3 band(8) features, independent windows",
        *(feature_work(independent, apart, "log3 band(8)"), INDEPENDENT),
        anchor_work(independent, lambda plain, window: plain.log3_band(*window)),
        BAND_TARGET,
    )
    yield compare(
        "log3 band(8) features, sliding, stride 1",
        *(feature_work(sliding, every, "log3 band(8)"), SLIDING),
        anchor_work(sliding, lambda plain, window: plain.log3_band(*window)),
        SLIDING_TARGET,
    )
    detector = fitted(VARIABLES)
    yield compare(
        "whole score against 4,096 references, sliding, stride 1",
        *(lambda: detector.score_windows(sliding.recording), SLIDING),
        anchor_work(sliding, anchor_score()),
        SCORE_TARGET,
    )


def compare(
    work: str, ours: Callable[[], object], n_ours: int, plain: Callable[[], object], target: float
) -> Line:
    """Time ours on ``n_ours`` windows and the anchor on ANCHOR_WINDOWS, in turns."""
    our_time, anchor_time = take_turns(ours, plain, ROUNDS)
    return ratio_line(work, our_time / n_ours, anchor_time / ANCHOR_WINDOWS, target)


def feature_work(data: Telemetry, starts: NDArray[np.int64], text: str) -> Callable[[], object]:
    """Return a function that computes our features of these windows, block by block."""
    representation, sketch = Representation.parse(text), Sketch()

    def work() -> None:
        for _ in map_features(len_of, data.recording, starts, WINDOW, representation, sketch):
            pass

    return work


def anchor_work(
    data: Telemetry, one: Callable[[anchor.Anchor, Window], object]
) -> Callable[[], object]:
    """Return a function that runs the anchor on ANCHOR_WINDOWS windows, one after another."""
    plain = anchor.Anchor(data.names)
    windows = [data.window(WINDOW * i, WINDOW) for i in range(ANCHOR_WINDOWS)]
    return lambda: [one(plain, window) for window in windows]


def anchor_score(seed: int = 3) -> Callable[[anchor.Anchor, Window], float]:
    """Return the anchor's score function: features, projection, neighbours of 4,096 references."""
    rng = np.random.default_rng(seed)
    projection = rng.normal(scale=COMPONENTS**-0.5, size=(3 * 8 * WINDOW, COMPONENTS))
    references = rng.normal(size=(REFERENCES, COMPONENTS))
    references /= np.linalg.norm(references, axis=1, keepdims=True)

    def score(plain: anchor.Anchor, window: Window) -> float:
        flat = plain.log3_band(*window).ravel()
        return anchor.knn_score(flat, projection, references, NEIGHBOURS)

    return score


def fitted(n_variables: int) -> KnnDetector:
    """Return our detector with a full reference set, and without steps that the anchor lacks."""
    detector = KnnDetector(
        window=WINDOW,
        neighbours=NEIGHBOURS,
        components=COMPONENTS,
        reference_size=REFERENCES,
        scaling=None,
        counters=None,
    )
    return detector.fit(telemetry(3 * REFERENCES, n_variables, seed=4).recording)


def len_of(_: slice, block: NDArray[np.float32]) -> int:
    """Return the number of windows in a block of features; ignore the features."""
    return len(block)
