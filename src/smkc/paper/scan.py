"""Scan of windows: a recording given piece by piece, scored as if given whole.

In: rows in order of time. Out: the windows that end in them, with the rows that they need, so that
they can be scored in any process.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc import progress
from smkc.decide import RowScores, Windows
from smkc.model_file import below
from smkc.paper.densities import Density
from smkc.recording import Recording, Scaling


class KernelScan:
    """Windows of a recording that arrives in pieces; ``scaling`` is None if there is none."""

    def __init__(self, density: Density, stride: int, scaling: Scaling | None) -> None:
        self._density = density
        self._stride = stride
        self._scaling = scaling.start() if scaling is not None else None
        self._halo: Recording | None = None  # rows that later windows need, scaled
        self._n_rows = 0
        self._next_start = 0  # row at which the next window starts

    def begin(self, rows: Recording) -> Windows:
        """Take the next rows; return the windows that end in them."""
        prepared = self._scaling.scale(rows) if self._scaling is not None else rows
        joined = prepared if self._halo is None else Recording.concat([self._halo, prepared])
        first = self._n_rows + len(rows) - len(joined)  # number of joined's first row
        self._n_rows += len(rows)
        end = self._n_rows - self._density.window + 1
        starts = np.arange(self._next_start, end, self._stride)
        if len(starts):
            self._next_start = int(starts[-1]) + self._stride
        kept = joined.rows(min(max(self._next_start - first, 0), len(joined))).canonical()
        self._halo = _copied(kept) if len(kept) else None
        return Windows(prepared=joined, starts=starts - first)

    def score(self, windows: Windows) -> NDArray[np.float64]:
        """Return (B,) scores of windows; each depends on its own rows only."""
        if not len(windows.starts):
            return np.empty(0)
        with progress.quiet():
            return self._density.scores(windows.prepared, windows.starts)

    def end(self, n_rows: int, windows: Windows, scores: NDArray[np.float64]) -> RowScores:
        """Return scores of the last ``n_rows`` rows: each window's score at the row where it ends.

        Rows at which no window ends have -inf.
        """
        held = np.full(n_rows, -np.inf)
        first = len(windows.prepared) - n_rows
        held[windows.starts + self._density.window - 1 - first] = scores
        return RowScores(held=held)

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header from which :meth:`restore` resumes exactly."""
        header: dict[str, Any] = {"n_rows": self._n_rows, "next_start": self._next_start}
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
        self._n_rows, self._next_start = header["n_rows"], header["next_start"]
        if self._scaling is not None:
            self._scaling.restore(below(arrays, "scaling."), header["scaling"])
        if "halo" in header:
            self._halo = _recording_of(below(arrays, "halo."), header["halo"])


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
    return Recording(
        arrays["times"].view(header["time_type"]),
        arrays["indptr"],
        arrays["codes"],
        arrays["values"],
        tuple(header["names"]),
    )
