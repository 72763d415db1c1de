"""Scan of windows: a recording given piece by piece, scored as if given whole.

In: rows in order of time. Out: the scores of the windows that end in them.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc import progress
from smkc.decide import RowScores
from smkc.errors import ModelFileError
from smkc.model_file import below
from smkc.paper.densities import Density
from smkc.recording import Recording, Scaling

# Types in which times are saved.
TIME_TYPES = ("<M8[ns]", "<i8", "<f8")


class KernelScan:
    """Windows of a recording that arrives in pieces; ``scaling`` is None if there is none."""

    def __init__(self, density: Density, stride: int, scaling: Scaling | None) -> None:
        self._density = density
        self._stride = stride
        self._scaling = scaling.start() if scaling is not None else None
        self._halo: Recording | None = None  # rows that later windows need, scaled
        self.n_rows = 0

    @property
    def _next_start(self) -> int:
        """Row at which the next window starts."""
        n_ended = max(self.n_rows - self._density.window + 1, 0)
        return -(-n_ended // self._stride) * self._stride

    def push(self, rows: Recording) -> RowScores:
        """Take the next rows; return each window's score at the row where it ends.

        Rows at which no window ends have -inf.
        """
        prepared = self._scaling.scale(rows) if self._scaling is not None else rows
        joined = prepared if self._halo is None else Recording.concat([self._halo, prepared])
        next_start = self._next_start
        self.n_rows += len(rows)
        first = self.n_rows - len(joined)  # number of joined's first row
        starts = np.arange(next_start, self.n_rows - self._density.window + 1, self._stride) - first
        kept = joined.rows(min(max(self._next_start - first, 0), len(joined))).canonical()
        self._halo = _copied(kept) if len(kept) else None
        held = np.full(len(rows), -np.inf)
        if len(starts):
            with progress.quiet():
                scores = self._density.scores(joined, starts)
            held[starts + self._density.window - 1 - (len(joined) - len(rows))] = scores
        return RowScores(held=held)

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header from which :meth:`restore` resumes exactly."""
        header: dict[str, Any] = {"n_rows": self.n_rows}
        parts: dict[str, Any] = {}
        if self._scaling is not None:
            parts["scaling"] = self._scaling.to_arrays()
        if self._halo is not None:
            parts["halo"] = _recording_arrays(self._halo)
        arrays: dict[str, NDArray[Any]] = {}
        for name, (own_arrays, header[name]) in parts.items():
            arrays |= {f"{name}.{key}": array for key, array in own_arrays.items()}
        return arrays, header

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """Restore the results of :meth:`to_arrays`; call it before the first row."""
        n_rows = header["n_rows"]
        if type(n_rows) is not int or n_rows < 0:
            raise ModelFileError(f"{n_rows!r} is no number of rows")
        self.n_rows = n_rows
        if self._scaling is not None:
            self._scaling.restore(below(arrays, "scaling."), header["scaling"])
        if "halo" in header:
            self._halo = _recording_of(below(arrays, "halo."), header["halo"])
        n_held = 0 if self._halo is None else len(self._halo)
        if n_held != max(n_rows - self._next_start, 0):
            raise ModelFileError(f"it holds {n_held} of {n_rows} rows, a wrong number")


def _copied(recording: Recording) -> Recording:
    """Return a copy of the rows, so that the arrays they are part of can be freed."""
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
    names, time_type = header["names"], header["time_type"]
    indptr, codes, values = arrays["indptr"], arrays["codes"], arrays["values"]
    if time_type not in TIME_TYPES or arrays["times"].dtype != np.int64:
        raise ModelFileError(f"{time_type!r} is no type of times")
    times, counts = arrays["times"].view(time_type), np.diff(indptr)
    if (
        not all(isinstance(name, str) for name in names)
        or indptr.dtype != np.int64
        or codes.dtype != np.int32
        or values.dtype != np.float32
        or counts.shape != times.shape
        or (counts < 0).any()
        or not codes.shape == values.shape == (counts.sum(),)
        or (codes < 0).any()
        or (codes >= len(names)).any()
        or not np.isfinite(values).all()
        or not (times[1:] > times[:-1]).all()
    ):
        raise ModelFileError("its latest rows do not fit the model")
    rows = np.repeat(np.arange(len(counts)), counts)
    return Recording.from_observations(times, rows, codes, values, names)
