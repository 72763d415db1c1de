"""Scan of evidences: a recording's rows, piece by piece, scored as in one go.

In: rows in order of time. Out: of each row what its window scored, what it adds by itself, and how
surprising it was.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.decide import RowScores, Windows
from smkc.evidence.reference import ReferenceEvidence
from smkc.recording import Recording

__all__ = ["ROWS_AT_A_TIME", "EvidenceScan"]

# Rows scored at a time, which bounds memory.
ROWS_AT_A_TIME = 2_048


class EvidenceScan:
    """The evidences at one moment of a recording that comes in pieces."""

    def __init__(self, model: ReferenceEvidence) -> None:
        self._state = model.start()

    def begin(self, rows: Recording) -> Windows:
        """Take the next rows; a window ends at each."""
        return Windows(prepared=rows, starts=np.arange(len(rows)))

    def score(self, windows: Windows) -> NDArray[np.float64]:
        """(n, 4) of each row: its window's score, what it adds by itself, its alarm, its mark."""
        rows = windows.prepared
        parts = [np.empty((0, 4))]
        for first in range(0, len(rows), ROWS_AT_A_TIME):
            part = self._state.push_rows(rows.rows(first, first + ROWS_AT_A_TIME))
            alarms = -np.log(part.p_values)
            parts.append(np.column_stack([part.scores, part.loudest, alarms, part.marks]))
        return np.concatenate(parts)

    def end(self, n_rows: int, windows: Windows, scores: NDArray[np.float64]) -> RowScores:
        """Return what the rows have."""
        held, prompt, alarms, marks = np.ascontiguousarray(scores.T)
        return RowScores(held=held, prompt=prompt, alarms=alarms, marks=marks.astype(np.int8))

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header from which :meth:`restore` goes on exactly."""
        return self._state.to_arrays()

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """Take over what :meth:`to_arrays` gave; only before any row was taken."""
        self._state.restored(arrays, header)
