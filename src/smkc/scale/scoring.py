"""Scoring: rows of one entity, piece by piece -> final scores, as for the whole recording.

In: a fitted detector and complete rows in order of time. Out: scores per time step, equal to those
of ``decision_function`` for all rows at once (for the default detector bit for bit, for the paper's
detectors to 1e-6); memory does not grow with the number of rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.base import BaseDetector
from smkc.decide import Placing
from smkc.model_file import below
from smkc.recording import Recording


@dataclass(frozen=True, kw_only=True, eq=False)
class FinalSteps:
    """T time steps whose score is final, each array (T,).

    ``alarms`` are the numbers that alerts are raised from; ``marks`` are of type
    :class:`~smkc.decide.Mark`.
    """

    times: NDArray[Any]
    scores: NDArray[np.float64]
    alarms: NDArray[np.float64]
    marks: NDArray[np.int8]


class Scorer:
    """Scorer of the rows of one entity as they arrive."""

    def __init__(self, detector: BaseDetector) -> None:
        fitted = detector.fitted_
        self._scan = fitted.scan()
        self.has_independent_windows = fitted.has_independent_windows
        self._window = fitted.window
        self._times: NDArray[Any] | None = None  # of rows that are not final yet
        self._n_rows = 0
        self.n_unscored = 0  # windows in which too little was observed
        by_row = not fitted.has_independent_windows
        self._scores = Placing(fitted.held_rows, fitted.stride, detector.align, by_row)
        # (n, 3) for rows that are not final yet: the row's own part of the score, its alarm and its
        # mark; empty for detectors whose alarms are the scores of time steps.
        self._own = np.empty((0, 3))

    @property
    def is_too_short(self) -> bool:
        """Whether there were fewer rows than one window, for detectors that need a full one."""
        return self.has_independent_windows and self._n_rows < self._window

    def push(self, rows: Recording) -> FinalSteps:
        """Add the next rows; return the time steps whose score has become final."""
        self._n_rows += len(rows)
        by_row = self._scan.push(rows)
        self.n_unscored += int(np.isnan(by_row.held).sum())
        if by_row.prompt is not None and by_row.alarms is not None and by_row.marks is not None:
            own = np.column_stack([by_row.prompt, by_row.alarms, by_row.marks])
            self._own = np.concatenate([self._own, own])
        final = self._scores.add(by_row.held)
        times = rows.times
        waiting = times if self._times is None else np.concatenate([self._times, times])
        self._times = waiting[len(final) :].copy()
        return self._final(waiting[: len(final)], final)

    def finish(self) -> FinalSteps:
        """Return the remaining time steps, after the last row."""
        times = np.empty(0, np.int64) if self._times is None else self._times
        self._times = None
        return self._final(times, self._scores.finish())

    def _final(self, times: NDArray[Any], scores: NDArray[np.float64]) -> FinalSteps:
        """Return final time steps, and drop what was stored for them."""
        if self.has_independent_windows:
            unmarked = np.zeros(len(times), np.int8)
            return FinalSteps(times=times, scores=scores, alarms=scores, marks=unmarked)
        prompt, alarms, marks = self._own[: len(times)].T.copy()
        self._own = self._own[len(times) :].copy()
        return FinalSteps(
            times=times, scores=scores + prompt, alarms=alarms, marks=marks.astype(np.int8)
        )

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header from which :meth:`restore` continues exactly."""
        parts = {"scores": self._scores.to_arrays(), "scan": self._scan.to_arrays()}
        header: dict[str, Any] = {"n_rows": self._n_rows, "unscored": self.n_unscored}
        arrays: dict[str, NDArray[Any]] = {"own": self._own}
        if self._times is not None:
            arrays["times"] = self._times.view(np.int64)
            header["time_type"] = self._times.dtype.str
        for name, (own_arrays, header[name]) in parts.items():
            arrays |= {f"{name}.{key}": array for key, array in own_arrays.items()}
        return arrays, header

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """Restore what :meth:`to_arrays` returned; only before the first row."""
        self._n_rows, self.n_unscored = header["n_rows"], header["unscored"]
        self._scores.restore(below(arrays, "scores."), header["scores"])
        self._scan.restore(below(arrays, "scan."), header["scan"])
        self._own = arrays["own"]
        if "time_type" in header:
            self._times = arrays["times"].view(header["time_type"])
