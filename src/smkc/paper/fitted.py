"""KernelFitted: the learned state of a detector that scores windows by a density.

In: reference data. Out: calibrated scores of windows, and arrays for the model file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc import progress
from smkc.decide import Calibration, Cause, ScoredWindows, step_scores
from smkc.errors import ModelFileError, WindowError
from smkc.model_file import below
from smkc.paper.causes import explain_window
from smkc.paper.densities import Density
from smkc.paper.kernel import window_starts
from smkc.paper.scan import KernelScan
from smkc.paper.stream import KernelStream
from smkc.recording import Identity, Recording, Scaling

# Null scores kept for calibration: enough for a false-alarm rate of 1 in 100,000.
MAX_NULL_SCORES = 200_000

# Windows scored per calibration. If there are more, only runs of consecutive windows, spread over
# the reference data, are scored.
MAX_CALIBRATED_WINDOWS = 32_768
CALIBRATED_RUNS = 16

# Distance, in windows, from which two scores count as independent, by alignment: the values with
# which requested and measured false-alarm rates agree best (results/false_alarms.md).
INDEPENDENT_AFTER = {"prompt": 0.5, "sharp": 1.5}

# Largest distance, in windows, within which references are left out when a window calibrates.
GUARD_WINDOWS = 4

# Alerts closer to each other than this share of a window are merged.
JOIN_SHARE = 1 / 8

TOO_SHORT = "give more reference data, a shorter window, a smaller stride or fewer neighbours"

NOTHING_YET = Calibration(np.empty(0), 0.0)


@dataclass(frozen=True, kw_only=True)
class KernelFitted:
    """The learned state of a detector: scaling, density, and calibration.

    Parameters
    ----------
    stride
        rows from one window to the next.
    align
        how windows' scores become time steps' scores: ``sharp`` or ``prompt``.
    density
        the density that scores windows.
    of_windows, of_steps
        calibration of the scores of windows and of time steps.
    is_scaled, identity, counters
        whether variables are scaled, the rule for their families, and how counters are treated.
    scaling
        the fitted scaling; None before any data, or if variables are not scaled.
    """

    stride: int
    align: str
    density: Density
    of_windows: Calibration = NOTHING_YET
    of_steps: Calibration = NOTHING_YET
    is_scaled: bool = True
    identity: Identity | None = None
    counters: str | None = "auto"
    scaling: Scaling | None = None

    has_independent_windows = True

    @property
    def window(self) -> int:
        """Rows per window."""
        return self.density.window

    @property
    def held_rows(self) -> int:
        """Rows that a score is placed by: those of a window."""
        return self.window

    @property
    def join(self) -> int:
        """Largest number of quiet rows between two alerts that are merged."""
        return max(1, int(self.window * JOIN_SHARE))

    @property
    def seasons(self) -> Mapping[str, float]:
        """Empty: this detector learns no seasons."""
        return {}

    def prepare(self, recording: Recording) -> Recording:
        """Scale a recording from its beginning."""
        return self.scaling.start().scale(recording) if self.scaling is not None else recording

    def score(self, recording: Recording) -> ScoredWindows:
        """Score a recording's windows."""
        starts = window_starts(len(recording), self.window, self.stride)
        prepared = self.prepare(recording)
        scores = self.density.scores(prepared, starts)
        return ScoredWindows(
            prepared=prepared,
            first_rows=starts,
            last_rows=starts + self.window - 1,
            scores=scores,
            p_values=self.of_windows.p_values(scores),
            alarms=scores,
        )

    def step_scores(self, scored: ScoredWindows, align: str) -> NDArray[np.float64]:
        """Return (T,) scores, one per time step, from the (B,) scores of windows."""
        n_rows = len(scored.prepared)
        return step_scores(scored.scores, scored.first_rows, self.window, n_rows, align)

    def step_alarms(self, scored: ScoredWindows) -> NDArray[np.float64]:
        """Return (T,) values that the alert threshold applies to: the time steps' scores."""
        return self.step_scores(scored, self.align)

    def threshold(self, rate: float) -> float:
        """Return the time step score that reference data exceed at most at this rate."""
        return self.of_steps.threshold(rate)

    def causes(
        self, scored: ScoredWindows, numbers: Sequence[int], begun: Sequence[int]
    ) -> list[list[Cause]]:
        """Return the causes of the windows with these numbers, whenever their trouble began."""
        found = []
        with progress.task("explaining alerts", len(numbers)) as advance:
            for number in numbers:
                start, score = int(scored.first_rows[number]), float(scored.scores[number])
                usual = self.of_windows.usual
                with progress.quiet():
                    found.append(explain_window(scored.prepared, start, score, usual, self.density))
                advance(1)
        return found

    def usual_band(
        self, variable: str, times: NDArray[Any]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Return None: this detector learns no usual range of single variables."""
        return None

    def scan(self) -> KernelScan:
        """Return a new scan, before its first row."""
        return KernelScan(self.density, self.stride, self.scaling)

    def stream(self) -> KernelStream:
        """Return a new stream, before its first row."""
        return KernelStream(self)

    def reference_steps(
        self, reference: Recording
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return (T,) scores and (T,) alarms of the rows learned from last; here both are the same.

        Each window is scored with the references from the block of rows around it left out.
        """
        prepared = self.prepare(reference)
        starts = window_starts(len(prepared), self.window, self.stride)
        scores = self.left_out_scores(prepared, starts)
        steps = step_scores(scores, starts, self.window, len(prepared), self.align)
        return steps, steps

    def updated(self, recording: Recording, seed: int) -> "KernelFitted":
        """Return the state after learning from more reference data."""
        scaled = replace(self, scaling=self._scaling_after(recording)) if self.is_scaled else self
        prepared = scaled.prepare(recording)
        starts = window_starts(len(prepared), self.window, self.stride)
        offered = starts[self.density.is_filled(prepared, starts)]
        density = self.density.learned(prepared, offered)
        n_needed = density.neighbours
        if density.n_references < n_needed:
            raise WindowError(
                f"the reference data's {len(prepared):,} rows give {len(offered):,} windows of "
                f"{self.window} rows for {n_needed} neighbours: {TOO_SHORT}"
            )
        of_windows, of_steps = replace(scaled, density=density)._normal_scores(prepared, starts)
        if len(of_windows.null) == 0:
            raise WindowError(
                f"the reference data have {len(prepared):,} rows; with the rows around a window "
                f"left out, no {n_needed} other windows of {self.window} rows remain to "
                f"calibrate with: {TOO_SHORT}"
            )
        return replace(
            scaled,
            density=density,
            of_windows=self.of_windows.merged(of_windows, MAX_NULL_SCORES, seed),
            of_steps=self.of_steps.merged(of_steps, MAX_NULL_SCORES, seed),
        )

    def _scaling_after(self, recording: Recording) -> Scaling:
        """Return the scaling after more reference data: new variables are added."""
        if self.scaling is not None:
            return self.scaling.update(recording)
        return Scaling.fit(recording, self.identity, self.counters)  # type: ignore[arg-type]

    def left_out_scores(
        self, prepared: Recording, starts: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return (B,) scores of windows learned from last, each with the block around it left out.

        Neighbouring windows share rows and are similar even beyond that: with them among the
        references, a window would look more normal than any new one.
        """
        guard = int(np.clip(len(prepared) // 8, self.window, GUARD_WINDOWS * self.window))
        return self.density.scores(prepared, starts, guard)

    def _normal_scores(
        self, prepared: Recording, starts: NDArray[np.int64]
    ) -> tuple[Calibration, Calibration]:
        """Calibrate with the scores of normal windows, and of normal time steps.

        Time steps at the ends of a run, which fewer windows cover, are left out of runs of at
        least 3 windows' length.
        """
        windows, steps = [], []
        for run in _runs_for_calibration(self.density.left_out_runs(prepared, starts)):
            scores = self.left_out_scores(prepared, run)
            first, last = int(run[0]), int(run[-1]) + self.window
            by_step = step_scores(scores, run - first, self.window, last - first, self.align)
            edge = self.window - 1 if last - first >= 3 * self.window else 0
            windows.append(scores)
            steps.append(by_step[edge : last - first - edge])
        reach = INDEPENDENT_AFTER[self.align] * self.window
        return (
            _calibration(
                np.concatenate(windows), INDEPENDENT_AFTER["prompt"] * self.window / self.stride
            ),
            _calibration(np.concatenate(steps), reach),
        )

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header for the model file."""
        arrays: dict[str, NDArray[Any]] = {}
        header: dict[str, Any] = {}
        parts = {"density": self.density, "scaling": self.scaling}
        for name, part in parts.items():
            if part is not None:
                part_arrays, header[name] = part.to_arrays()
                arrays |= {f"{name}.{key}": array for key, array in part_arrays.items()}
        for name, calibration in (("windows", self.of_windows), ("steps", self.of_steps)):
            arrays[f"calibration.{name}"] = calibration.null
            header[f"independent_{name}"] = calibration.n_independent
        return arrays, header

    def restored(
        self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]
    ) -> "KernelFitted":
        """Return this (empty) state filled with the results of :meth:`to_arrays`."""
        scaling = None
        if "scaling" in header:
            scaling = Scaling.from_arrays(below(arrays, "scaling."), header["scaling"])
        if (scaling is not None) != self.is_scaled:
            raise ModelFileError("its scaling is not the one that its settings name")
        return replace(
            self,
            scaling=scaling,
            density=self.density.restored(below(arrays, "density."), header["density"]),
            of_windows=_restored_calibration(arrays, header, "windows"),
            of_steps=_restored_calibration(arrays, header, "steps"),
        )


def _runs_for_calibration(runs: list[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Return runs of consecutive windows, at most about MAX_CALIBRATED_WINDOWS in total."""
    if sum(map(len, runs)) <= MAX_CALIBRATED_WINDOWS:
        return runs
    n_parts = max(1, CALIBRATED_RUNS // len(runs))
    length = MAX_CALIBRATED_WINDOWS // (n_parts * len(runs))
    parts = []
    for run in runs:
        if len(run) <= n_parts * length:
            parts.append(run)
        else:
            firsts = np.linspace(0, len(run) - length, n_parts).astype(int)
            parts += [run[first : first + length] for first in firsts]
    return parts


def _calibration(scores: NDArray[np.float64], reach: float) -> Calibration:
    """Calibrate with the finite scores; ``reach`` neighbours count as 1 independent score."""
    null = np.sort(scores[np.isfinite(scores)])
    return Calibration(null, len(null) / max(reach, 1.0))


def _restored_calibration(
    arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any], name: str
) -> Calibration:
    null, n_independent = arrays[f"calibration.{name}"], header[f"independent_{name}"]
    if (
        null.dtype != np.float64
        or null.ndim != 1
        or len(null) == 0
        or not np.isfinite(null).all()
        or not isinstance(n_independent, float)
        or not 0 < n_independent <= 1e15
    ):
        raise ModelFileError(
            f"the stored calibration of {name}, {null.dtype} {null.shape}, makes no sense; fit "
            "again and save the model anew"
        )
    return Calibration(np.sort(null), n_independent)
