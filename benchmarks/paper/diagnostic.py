"""The cosine diagnostic: the effect of changes in magnitude on cosine and log-distance kernels.

In: normal windows. Out: how well the mean of each kernel separates windows with a scaled or shifted
segment from unchanged ones, and how much the kernels of one window change.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.metrics import auprc, auroc
from benchmarks.windows import Windows
from smkc.errors import InputError, SettingError
from smkc.paper.kernel import Representation
from smkc.paper.kernel._compare import compare_lags
from smkc.paper.kernel._select import NO_GUESS
from smkc.paper.sketch import Sketch

__all__ = ["COLUMNS", "TASKS", "Diagnosis", "Diagnostic", "Example"]

TASKS = ("amplitude scaling", "additive perturbation")
COLUMNS = ("cosine_auroc", "cosine_auprc", "logdist_auroc", "logdist_auprc")

# Cos(g) and LogDist(g), in this order.
KERNELS = Representation.parse("base2 image")


@dataclass(frozen=True)
class Example:
    """One window of the first task: ``before`` and ``after`` (2, L, L), Cos(g) and LogDist(g)."""

    before: NDArray[np.float32]
    after: NDArray[np.float32]
    segment: tuple[int, int]


@dataclass(frozen=True)
class Diagnosis:
    """Results of the diagnostic.

    Parameters
    ----------
    rows
        for each of TASKS, the figures of COLUMNS.
    cosine_max_difference, logdist_max_difference
        the largest absolute change of the example's kernels under amplitude scaling.
    cosine_max_difference_of_all
        the largest absolute change of Cos(g) over all scaled windows.
    example
        the window whose largest change of log distance is the median.
    """

    rows: dict[str, tuple[float, float, float, float]]
    cosine_max_difference: float
    logdist_max_difference: float
    cosine_max_difference_of_all: float
    example: Example


@dataclass(frozen=True, kw_only=True)
class Diagnostic:
    """The diagnostic and its settings; ``factor`` and ``shift`` are midpoints of generator ranges.

    Parameters
    ----------
    factor
        factor of the states in a segment; the paper gives none. Use no power of 2: multiplying by
        one is exact in floating point.
    shift
        Euclidean norm of the vector, of random direction over all buckets, that is added to the
        states of a segment.
    segment
        range of a segment's length, as a share of the window.
    seed
        seed of the choice of windows, segments and directions.
    sketch
        sketch of a time step into a state; the paper's sketch if None.

    Notes
    -----
    The paper, paragraph "Why cosine-only collapses" and appendix "Additional diagnostics". It
    says "simple kernel-summary statistics" and names none: here it is the mean of Cos(g), or of
    LogDist(g), over all pairs of different time steps, higher = more anomalous. States are
    perturbed, not values: scaling values leaves the presence stream unchanged and thus rotates
    the states, which cosines detect.
    """

    factor: float = 5.0
    shift: float = 5.5
    segment: tuple[float, float] = (1 / 8, 1 / 4)
    seed: int = 0
    sketch: Sketch | None = None

    def __post_init__(self) -> None:
        if not self.factor > 0:
            raise SettingError(f"factor={self.factor}: give a number above 0")
        if not 0 < self.segment[0] <= self.segment[1] <= 1:
            raise SettingError(f"segment={self.segment}: give two shares of a window, ascending")

    def run(self, windows: Windows) -> Diagnosis:
        """Perturb half of the normal windows and compare them with the other half."""
        windows = windows.normal()
        if len(windows) < 2:
            raise InputError(f"{len(windows)} normal windows; the diagnostic needs 2 at least")
        rng = np.random.default_rng(self.seed)
        order = rng.permutation(len(windows))
        half = len(order) // 2
        untouched = self._kernels(self._states(windows.take(order[:half])))
        states = self._states(windows.take(order[half : 2 * half]))
        segments = self._segments(rng, *states.shape[:2])
        steps = np.arange(windows.length)[None, :, None]
        inside = (steps >= segments[:, :1, None]) & (steps < segments[:, 1:, None])
        directions = rng.standard_normal((half, 1, states.shape[2])).astype(np.float32)
        directions *= np.float32(self.shift) / np.linalg.norm(directions, axis=2, keepdims=True)

        scaled = self._kernels(np.where(inside, states * np.float32(self.factor), states))
        shifted = self._kernels(np.where(inside, states + directions, states))
        before = self._kernels(states)
        change = np.abs(scaled - before).max(axis=(2, 3))
        # An element of the list, not an interpolated median: the example must be a window.
        shown = int(np.argsort(change[:, 1], kind="stable")[half // 2])
        first, end = segments[shown].tolist()
        return Diagnosis(
            {
                task: _separation(untouched, perturbed)
                for task, perturbed in zip(TASKS, (scaled, shifted), strict=True)
            },
            float(change[shown, 0]),
            float(change[shown, 1]),
            float(change[:, 0].max()),
            Example(before[shown], scaled[shown], (first, end)),
        )

    def _segments(self, rng: np.random.Generator, n_windows: int, length: int) -> NDArray[np.int64]:
        """(B, 2) first step of each window's segment, and the step after its last."""
        shortest, longest = (max(1, round(share * length)) for share in self.segment)
        n_steps = rng.integers(shortest, longest + 1, n_windows)
        first = rng.integers(0, length - n_steps + 1)
        return np.stack([first, first + n_steps], axis=1)

    def _states(self, windows: Windows) -> NDArray[np.float32]:
        """(B, L, 2m) states."""
        states = (self.sketch or Sketch()).states(windows.recording())
        return states.reshape(len(windows), windows.length, -1)

    def _kernels(self, states: NDArray[np.float32]) -> NDArray[np.float32]:
        """(B, 2, L, L) Cos(g) and LogDist(g) of (B, L, 2m) states."""
        n_windows, length, _ = states.shape
        kernels = np.empty((n_windows, 2, length, length), np.float32)
        places, guesses = np.array(KERNELS.places, np.int64), np.full(3, NO_GUESS)
        first, sigma = np.zeros(1, np.int64), np.empty(1)
        for at, state in enumerate(states):
            by_bucket = np.ascontiguousarray(state.T)
            out = kernels[at : at + 1]
            compare_lags(by_bucket, first, length, length - 1, places, True, guesses, out, sigma)
        return kernels


def _separation(
    untouched: NDArray[np.float32], perturbed: NDArray[np.float32]
) -> tuple[float, float, float, float]:
    """Return AUROC and AUPRC of the mean of each kernel, in the order of COLUMNS."""
    is_perturbed = np.arange(len(untouched) + len(perturbed)) >= len(untouched)
    means = _mean_of_pairs(np.concatenate([untouched, perturbed]))
    figures = [measure(is_perturbed, mean) for mean in means.T for measure in (auroc, auprc)]
    return figures[0], figures[1], figures[2], figures[3]


def _mean_of_pairs(kernels: NDArray[np.float32]) -> NDArray[np.float64]:
    """(B, 2) the mean of each kernel over pairs of different time steps."""
    earlier, later = np.triu_indices(kernels.shape[-1], 1)
    mean: NDArray[np.float64] = kernels[:, :, earlier, later].mean(axis=2, dtype=np.float64)
    return mean
