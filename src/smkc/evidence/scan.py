"""Scan: scores of a recording that comes in pieces, equal to those of the whole recording.

In: rows in order of time. Out: for each row the score of its window, the score that it adds by
itself, its surprise and its mark.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.decide import RowScores
from smkc.evidence.model import ReferenceEvidence
from smkc.recording import Recording

# Rows scored at a time, to limit memory.
ROWS_AT_A_TIME = 2_048


class EvidenceScan:
    """The state of the default detector while it scans a recording."""

    def __init__(self, model: ReferenceEvidence) -> None:
        self._state = model.start()

    def push(self, rows: Recording) -> RowScores:
        """Take the next rows and return their scores; a window ends at each row."""
        parts = [np.empty((0, 4))]
        for first in range(0, len(rows), ROWS_AT_A_TIME):
            part = self._state.push_rows(rows.rows(first, first + ROWS_AT_A_TIME))
            alarms = -np.log(part.p_values)
            parts.append(np.column_stack([part.held, part.prompt, alarms, part.marks]))
        held, prompt, alarms, marks = np.ascontiguousarray(np.concatenate(parts).T)
        return RowScores(held=held, prompt=prompt, alarms=alarms, marks=marks.astype(np.int8))

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-serializable header from which :meth:`restore` continues."""
        return self._state.to_arrays()

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """Restore the state that :meth:`to_arrays` returned; only before any row was scored."""
        self._state.restored(arrays, header)
