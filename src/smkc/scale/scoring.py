"""Scoring: rows of one entity, piece by piece -> final scores, as for the whole recording.

In: a fitted detector and complete rows in order of time. Out: scores per time step, equal to
those of ``decision_function`` of all rows at once (the default to the bit, the paper's detectors
to 1e-6); memory does not grow with the rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.base import BaseDetector
from smkc.decide import Windows
from smkc.recording import Recording
from smkc.scale.placing import Placing

__all__ = ["FinalSteps", "Scorer"]


@dataclass(frozen=True, kw_only=True, eq=False)
class FinalSteps:
    """(T,) time steps whose score is final.

    ``alarms`` are what alerts are raised by, ``marks`` what each step is to them.
    """

    times: NDArray[Any]
    scores: NDArray[np.float64]
    alarms: NDArray[np.float64]
    marks: NDArray[np.int8]


class Scorer:
    """Scores the rows of one entity as they come.

    What comes in order (scaling, placing) is done in :meth:`begin` and :meth:`end`; between them
    the windows of a detector that scores each by itself may be scored anywhere.

    Parameters
    ----------
    detector
        fitted.
    """

    def __init__(self, detector: BaseDetector) -> None:
        fitted = detector.fitted_
        self._scan = fitted.scan()
        self.has_independent_windows = fitted.has_independent_windows
        self._window = fitted.window
        self._times: NDArray[Any] | None = None  # of rows that are not final yet
        self._n_rows = 0
        self.n_unscored = 0  # windows in which too little was observed
        by_row = not fitted.has_independent_windows
        self._scores = Placing(fitted.window, fitted.stride, detector.align, by_row)
        # Of rows that are not final yet: what each adds by itself, its alarm and its mark, where
        # the score of the time step is not all there is.
        self._prompt, self._alarms, self._marks = np.empty(0), np.empty(0), np.empty(0, np.int8)

    @property
    def is_too_short(self) -> bool:
        """Whether fewer rows came than make one window, of a detector that needs one."""
        return self.has_independent_windows and self._n_rows < self._window

    def push(self, rows: Recording) -> FinalSteps:
        """Take the next rows; return the time steps whose score has become final."""
        windows = self.begin(rows)
        return self.end(rows.times, windows, self._scan.score(windows))

    def begin(self, rows: Recording) -> Windows:
        """Take the next rows; return the windows that end in them."""
        self._n_rows += len(rows)
        return self._scan.begin(rows)

    def end(self, times: NDArray[Any], windows: Windows, scores: NDArray[np.float64]) -> FinalSteps:
        """Take the scores of the windows of :meth:`begin`, in the same order."""
        by_row = self._scan.end(len(times), windows, scores)
        self.n_unscored += int(np.isnan(by_row.held).sum())
        if by_row.prompt is not None and by_row.alarms is not None and by_row.marks is not None:
            self._prompt = np.concatenate([self._prompt, by_row.prompt])
            self._alarms = np.concatenate([self._alarms, by_row.alarms])
            self._marks = np.concatenate([self._marks, by_row.marks])
        final = self._scores.add(by_row.held)
        waiting = times if self._times is None else np.concatenate([self._times, times])
        self._times = waiting[len(final) :].copy()
        return self._final(waiting[: len(final)], final)

    def finish(self) -> FinalSteps:
        """Return what remains; no row comes after it."""
        times = np.empty(0, np.int64) if self._times is None else self._times
        self._times = None
        return self._final(times, self._scores.finish())

    def _final(self, times: NDArray[Any], scores: NDArray[np.float64]) -> FinalSteps:
        """Return time steps that are final, and forget what waited for them."""
        if self.has_independent_windows:
            unmarked = np.zeros(len(times), np.int8)
            return FinalSteps(times=times, scores=scores, alarms=scores, marks=unmarked)
        n = len(times)
        prompt, alarms, marks = self._prompt[:n], self._alarms[:n], self._marks[:n]
        self._prompt, self._alarms = self._prompt[n:].copy(), self._alarms[n:].copy()
        self._marks = self._marks[n:].copy()
        return FinalSteps(times=times, scores=scores + prompt, alarms=alarms, marks=marks)

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header from which :meth:`restore` goes on exactly."""
        parts = {"scores": self._scores.to_arrays(), "scan": self._scan.to_arrays()}
        header: dict[str, Any] = {"n_rows": self._n_rows, "unscored": self.n_unscored}
        arrays: dict[str, NDArray[Any]] = {
            "prompt": self._prompt,
            "alarms": self._alarms,
            "marks": self._marks,
        }
        if self._times is not None:
            arrays["times"] = self._times.view(np.int64)
            header["time_type"] = self._times.dtype.str
        for name, (own_arrays, header[name]) in parts.items():
            arrays |= {f"{name}.{key}": array for key, array in own_arrays.items()}
        return arrays, header

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """Take over what :meth:`to_arrays` gave; only before any row was pushed."""
        self._n_rows, self.n_unscored = header["n_rows"], header["unscored"]
        self._scores.restore(_under("scores.", arrays), header["scores"])
        self._scan.restore(_under("scan.", arrays), header["scan"])
        self._prompt, self._alarms = arrays["prompt"], arrays["alarms"]
        self._marks = arrays["marks"]
        if "time_type" in header:
            self._times = arrays["times"].view(header["time_type"])


def _under(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {key[len(prefix) :]: array for key, array in arrays.items() if key.startswith(prefix)}
