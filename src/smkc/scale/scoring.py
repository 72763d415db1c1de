"""Scoring: rows of one entity, piece by piece -> final scores, as for the whole recording.

In: a fitted detector and complete rows in order of time. Out: scores a time step, equal to
those of ``Detector.decision_function`` of all rows at once (``evidence`` to the bit, kernel
detectors to 1e-6); memory does not grow with the rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc import progress
from smkc.detector import Detector
from smkc.fitted import EvidenceFitted, Fitted
from smkc.paper.density import Density
from smkc.recording import Recording
from smkc.scale.placing import NO_WINDOW, Placing

__all__ = ["Scored", "Scorer", "Windows", "score_windows"]

# Rows are pushed through the evidences so many at a time, as for a whole recording.
ROWS_AT_A_TIME = 2_048


@dataclass(frozen=True, kw_only=True, eq=False)
class Windows:
    """Windows that are to be scored, with all rows that they need: a time range and its halo.

    Parameters
    ----------
    prepared
        the rows, scaled.
    starts
        (B,) where the windows start among them.
    """

    prepared: Recording
    starts: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Scored:
    """(T,) time steps whose score is final; ``alarms`` are what alerts are raised by."""

    times: NDArray[Any]
    scores: NDArray[np.float64]
    alarms: NDArray[np.float64]


def score_windows(density: Density, windows: Windows) -> NDArray[np.float64]:
    """(B,) scores of windows, each depending on its own rows alone."""
    if not len(windows.starts):
        return np.empty(0)
    with progress.quiet():
        return density.scores(windows.prepared, windows.starts)


class Scorer:
    """Scores the rows of one entity as they come.

    What comes in order (scaling, placing) is done in :meth:`begin` and :meth:`end`; between them
    the windows of a detector that scores each by itself may be scored anywhere.

    Parameters
    ----------
    detector
        fitted.
    """

    def __init__(self, detector: Detector) -> None:
        self._fitted = fitted = detector.fitted_
        self._times: NDArray[Any] | None = None  # of rows that are not final yet
        self._n_rows = 0
        self.n_unscored = 0  # windows in which too little was observed
        by_row = isinstance(fitted, EvidenceFitted)
        stride = 1 if by_row else fitted.stride  # type: ignore[union-attr]
        self._scores = Placing(fitted.window, stride, detector.align, by_row)
        # Of evidences, in rows that are not final yet: what single variables add, and the alarms.
        self._prompt, self._alarms = np.empty(0), np.empty(0)
        if isinstance(fitted, EvidenceFitted):
            self._evidences = fitted.known.start()
        else:
            self._scaling = fitted.scaling.start() if fitted.scaling is not None else None
            self._halo: Recording | None = None  # rows that later windows need, scaled
            self._next_start = 0  # row at which the next window starts

    @property
    def scores_windows(self) -> bool:
        """Whether windows are scored by themselves, so that time ranges can be told apart."""
        return isinstance(self._fitted, Fitted)

    @property
    def n_rows(self) -> int:
        """How many rows came so far."""
        return self._n_rows

    @property
    def is_too_short(self) -> bool:
        """Whether fewer rows came than make one window."""
        return isinstance(self._fitted, Fitted) and self._n_rows < self._fitted.window

    def push(self, rows: Recording) -> Scored:
        """Take the next rows; return the time steps whose score has become final."""
        if isinstance(self._fitted, Fitted):
            windows = self.begin(rows)
            return self.end(rows.times, windows, score_windows(self._fitted.density, windows))
        parts = []
        for first in range(0, len(rows), ROWS_AT_A_TIME):
            parts.append(self._evidences.push_rows(rows.rows(first, first + ROWS_AT_A_TIME)))
        self._n_rows += len(rows)
        held = np.concatenate([np.empty(0), *(part.scores for part in parts)])
        p_values = [part.p_values for part in parts]
        self._prompt = np.concatenate([self._prompt, *(part.loudest for part in parts)])
        self._alarms = np.concatenate([self._alarms, *(-np.log(some) for some in p_values)])
        return self._placed(rows.times, held)

    def begin(self, rows: Recording) -> Windows:
        """Take the next rows; return the windows that end in them."""
        fitted = self._fitted
        assert isinstance(fitted, Fitted)
        prepared = self._scaling.scale(rows) if self._scaling is not None else rows
        joined = prepared if self._halo is None else Recording.concat([self._halo, prepared])
        first = self._n_rows + len(rows) - len(joined)  # the number of its first row
        self._n_rows += len(rows)
        starts = np.arange(self._next_start, self._n_rows - fitted.window + 1, fitted.stride)
        if len(starts):
            self._next_start = int(starts[-1]) + fitted.stride
        kept = joined.rows(min(max(self._next_start - first, 0), len(joined))).canonical()
        self._halo = _copied(kept) if len(kept) else None
        return Windows(prepared=joined, starts=starts - first)

    def end(self, times: NDArray[Any], windows: Windows, scores: NDArray[np.float64]) -> Scored:
        """Take the scores of the windows of :meth:`begin`, in the same order."""
        by_row = np.full(len(times), NO_WINDOW)
        first = len(windows.prepared) - len(times)
        by_row[windows.starts + self._fitted.window - 1 - first] = scores
        self.n_unscored += int(np.isnan(scores).sum())
        return self._placed(times, by_row)

    def finish(self) -> Scored:
        """Return what remains; no row comes after it."""
        times = np.empty(0, np.int64) if self._times is None else self._times
        self._times = None
        return self._final(times, self._scores.finish())

    def _placed(self, times: NDArray[Any], scores: NDArray[np.float64]) -> Scored:
        final = self._scores.add(scores)
        waiting = times if self._times is None else np.concatenate([self._times, times])
        self._times = waiting[len(final) :].copy()
        return self._final(waiting[: len(final)], final)

    def _final(self, times: NDArray[Any], scores: NDArray[np.float64]) -> Scored:
        """Return time steps that are final, and forget what waited for them."""
        if isinstance(self._fitted, Fitted):
            return Scored(times=times, scores=scores, alarms=scores)
        n = len(times)
        prompt, alarms = self._prompt[:n], self._alarms[:n]
        self._prompt, self._alarms = self._prompt[n:].copy(), self._alarms[n:].copy()
        return Scored(times=times, scores=scores + prompt, alarms=alarms)

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header from which :meth:`restore` goes on exactly."""
        parts: dict[str, Any] = {"scores": self._scores.to_arrays()}
        header: dict[str, Any] = {"n_rows": self._n_rows, "unscored": self.n_unscored}
        if isinstance(self._fitted, EvidenceFitted):
            parts["evidences"] = self._evidences.to_arrays()
        else:
            header["next_start"] = self._next_start
            if self._scaling is not None:
                parts["scaling"] = self._scaling.to_arrays()
            if self._halo is not None:
                parts["halo"] = _recording_arrays(self._halo)
        arrays: dict[str, NDArray[Any]] = {"prompt": self._prompt, "alarms": self._alarms}
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
        self._prompt, self._alarms = arrays["prompt"], arrays["alarms"]
        if "time_type" in header:
            self._times = arrays["times"].view(header["time_type"])
        if isinstance(self._fitted, EvidenceFitted):
            self._evidences.restored(_under("evidences.", arrays), header["evidences"])
            return
        self._next_start = header["next_start"]
        if self._scaling is not None:
            self._scaling.restore(_under("scaling.", arrays), header["scaling"])
        if "halo" in header:
            self._halo = _recording_of(_under("halo.", arrays), header["halo"])


def _under(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {key[len(prefix) :]: array for key, array in arrays.items() if key.startswith(prefix)}


def _copied(recording: Recording) -> Recording:
    """Return the same rows in memory of their own, so that those around them can go."""
    return replace(
        recording,
        times=recording.times.copy(),
        codes=recording.codes.copy(),
        values=recording.values.copy(),
    )


def _recording_arrays(recording: Recording) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    arrays: dict[str, NDArray[Any]] = {
        "times": recording.times.view(np.int64),
        "indptr": recording.indptr,
        "codes": recording.codes,
        "values": recording.values,
    }
    return arrays, {"time_type": recording.times.dtype.str, "names": list(recording.names)}


def _recording_of(arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Recording:
    return Recording(
        arrays["times"].view(header["time_type"]),
        arrays["indptr"],
        arrays["codes"],
        arrays["values"],
        tuple(header["names"]),
    )
