"""Scan: scores of a recording that comes in pieces, equal to those of the whole recording.

In: rows in order of time. Out: for each row the score of its window, the score that it adds by
itself, its surprise and its mark.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.decide import RowScores, Windows
from smkc.evidence.model import ReferenceEvidence
from smkc.recording import Recording

# Rows scored at a time, to limit memory.
ROWS_AT_A_TIME = 2_048


class EvidenceScan:
    """The state of the default detector while it scans a recording."""

    def __init__(self, model: ReferenceEvidence) -> None:
        self._state = model.start()

    def begin(self, rows: Recording) -> Windows:
        """Return the windows of the next rows; one ends at each row."""
        return Windows(prepared=rows, starts=np.arange(len(rows)))

    def score(self, windows: Windows) -> NDArray[np.float64]:
        """Return (n, 4): the score of each row's window, the row's own, its alarm and its mark."""
        rows = windows.prepared
        parts = [np.empty((0, 4))]
        for first in range(0, len(rows), ROWS_AT_A_TIME):
            part = self._state.push_rows(rows.rows(first, first + ROWS_AT_A_TIME))
            alarms = -np.log(part.p_values)
            parts.append(np.column_stack([part.scores, part.loudest, alarms, part.marks]))
        return np.concatenate(parts)

    def end(self, n_rows: int, windows: Windows, scores: NDArray[np.float64]) -> RowScores:
        """Return the result of :meth:`score` as row scores."""
        held, prompt, alarms, marks = np.ascontiguousarray(scores.T)
        return RowScores(held=held, prompt=prompt, alarms=alarms, marks=marks.astype(np.int8))

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-serializable header from which :meth:`restore` continues."""
        return self._state.to_arrays()

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """Restore the state that :meth:`to_arrays` returned; only before any row was scored."""
        self._state.restored(arrays, header)
