"""Fitted: all that a detector has learned, apart from how it was asked to learn.

In: reference data. Out: scores of windows, calibrated; as arrays for the model file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.decide import Calibration, held_out_windows, step_scores
from smkc.density import KnnDensity
from smkc.errors import ModelFileError, WindowError
from smkc.kernel import window_starts
from smkc.recording import Recording, Scaling

__all__ = ["Fitted"]

# Null scores kept for calibration: enough for a false-alarm rate of 1 in 100,000.
MOST_NULL_SCORES = 200_000

NOTHING_HELD_OUT = Calibration(np.empty(0))


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """What a detector has learned: scaling, density, and what normal scores look like.

    Parameters
    ----------
    stride
        rows from one window to the next.
    align
        how windows' scores become time steps' scores.
    scaling
        brings variables to a common measure; None if values are taken as they are.
    density
        scores windows.
    of_windows, of_steps
        held-out normal scores of windows and of time steps.
    """

    stride: int
    align: str
    scaling: Scaling | None
    density: KnnDensity
    of_windows: Calibration = NOTHING_HELD_OUT
    of_steps: Calibration = NOTHING_HELD_OUT

    @property
    def window(self) -> int:
        """Rows a window."""
        return self.density.window

    def prepare(self, recording: Recording) -> Recording:
        """Scale a recording from its beginning."""
        return self.scaling.start().scale(recording) if self.scaling is not None else recording

    def score(
        self, recording: Recording
    ) -> tuple[Recording, NDArray[np.int64], NDArray[np.float64]]:
        """Return the prepared recording, and (B,) start rows and scores of its windows."""
        starts = window_starts(len(recording), self.window, self.stride)
        prepared = self.prepare(recording)
        return prepared, starts, self.density.scores(prepared, starts)

    def learned(self, recording: Recording, calibration_share: float, seed: int) -> "Fitted":
        """Return what is known after more reference data (the scaling is updated before).

        Blocks of rows are held out for calibration; the density never sees their windows.
        """
        prepared = self.prepare(recording)
        starts = window_starts(len(prepared), self.window, self.stride)
        is_held, block = held_out_windows(starts, self.window, len(prepared), calibration_share)
        is_filled = self.density.is_filled(prepared, starts)
        stored = starts[is_filled & ~is_held & (block >= 0)]
        n_held = int((is_held & is_filled).sum())
        if len(stored) + len(self.density.references) < self.density.neighbours or n_held == 0:
            raise WindowError(
                f"the reference data's {len(prepared):,} rows give {len(stored):,} windows of "
                f"{self.window} rows, for {self.density.neighbours} neighbours, and {n_held:,} "
                "more for calibration: give more reference data, a shorter window, a smaller "
                "stride or fewer neighbours"
            )
        density = self.density.learned(prepared, stored)
        scores = density.scores(prepared, starts[is_held])
        steps = self._steps(scores, starts[is_held], block[is_held])
        return replace(
            self,
            density=density,
            of_windows=self.of_windows.merged(scores, MOST_NULL_SCORES, seed),
            of_steps=self.of_steps.merged(steps, MOST_NULL_SCORES, seed),
        )

    def _steps(
        self, scores: NDArray[np.float64], starts: NDArray[np.int64], block: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Scores of held-out time steps: those that all their windows cover, if there are any."""
        whole, every = [], []
        for number in np.unique(block):
            mine = block == number
            first = int(starts[mine][0])
            n_rows = int(starts[mine][-1]) + self.window - first
            steps = step_scores(scores[mine], starts[mine] - first, self.window, n_rows, self.align)
            every.append(steps)
            whole.append(steps[self.window - 1 : n_rows - self.window + 1])
        covered = np.concatenate(whole)
        return covered if np.isfinite(covered).any() else np.concatenate(every)

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
        arrays["calibration.windows"] = self.of_windows.null
        arrays["calibration.steps"] = self.of_steps.null
        return arrays, header

    def restored(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> "Fitted":
        """Return this (empty) state with what :meth:`to_arrays` gave."""
        scaling = None
        if "scaling" in header:
            scaling = Scaling.from_arrays(_part(arrays, "scaling."), header["scaling"])
        nulls = [arrays[f"calibration.{name}"] for name in ("windows", "steps")]
        for null in nulls:
            if null.dtype != np.float64 or null.ndim != 1 or not np.isfinite(null).all():
                raise ModelFileError(
                    f"the stored calibration, {null.dtype} {null.shape}, makes no sense; fit again "
                    "and save the model anew"
                )
        return replace(
            self,
            scaling=scaling,
            density=self.density.restored(_part(arrays, "density."), header["density"]),
            of_windows=Calibration(np.sort(nulls[0])),
            of_steps=Calibration(np.sort(nulls[1])),
        )


def _part(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    return {key[len(prefix) :]: array for key, array in arrays.items() if key.startswith(prefix)}
