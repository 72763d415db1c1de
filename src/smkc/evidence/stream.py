"""The scores of a whole recording, row by row (stream) or in pieces (scan), equal to the bit.

In: a fitted detector and rows in order of time. Out: the score of each row, and its p-value under
what was normal when the row came. Memory is bounded, and the time per row does not grow.
"""

from collections.abc import Collection, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smkc.decide import Cause, NewNormal, RowScores
from smkc.evidence.causes.wording import causes_of
from smkc.evidence.model import ReferenceEvidence
from smkc.evidence.now import LoudVariable, loudest_of
from smkc.evidence.state import EvidenceScores, EvidenceState
from smkc.recording import Recording
from smkc.stream import Stream

if TYPE_CHECKING:
    from smkc.evidence.fitted import EvidenceFitted

# Rows of a scan that are scored at a time, to limit memory.
ROWS_AT_A_TIME = 2_048


class EvidenceStream(Stream):
    """Stream that scores a live recording row by row; made by :meth:`smkc.Detector.stream`.

    Examples
    --------
    >>> import smkc
    >>> rng = np.random.default_rng(0)
    >>> reference = {"time": np.arange(600), "cpu": rng.normal(size=600)}
    >>> live = smkc.Detector().fit(reference).stream()
    >>> quiet = [live.push(600 + t, {"cpu": rng.normal()}) for t in range(20)]
    >>> live.push(620, {"cpu": 40.0}) > max(quiet)
    True
    """

    kind = "evidence stream"

    def __init__(self, fitted: "EvidenceFitted") -> None:
        super().__init__(fitted.window)
        self._fitted = fitted
        self._state: EvidenceState = fitted.known.start()
        self._latest_p_value = float("nan")

    def _push(self, row: Recording) -> float:
        return float(self.push_rows(row).scores[0])

    def push_rows(self, rows: Recording) -> EvidenceScores:
        """Score the next rows of a recording.

        The result is the same as for pushing row by row, to the last bit, but takes less time.
        """
        scored = self._state.push_rows(rows)
        if len(rows):
            self._last_time = rows.times[-1]
            self._score = float(scored.scores[-1])
            self._latest_p_value = float(scored.p_values[-1])
        return scored

    def causes(
        self, first: int, last: int, rows: Recording, begun: int | None = None
    ) -> list[Cause]:
        """Return the causes of rows first to last - 1, counted from the stream's first row.

        ``begun`` is the row in which the trouble began, as far as known; by default ``first``.

        These must be among the last :attr:`memory` rows. ``rows`` are the same rows and those of
        the window before, as they were pushed; the details of the causes describe them. A score is
        held for 2 windows: the score of row n depends on rows n - 2 ``window`` + 2 to n.
        """
        state = self._state
        return causes_of(state.blame(first, last, begun), rows, self._fitted.known, state.usual)

    def is_beyond(self, row: int) -> bool:
        """Return whether a variable was beyond a bound of the rules in a row of :attr:`memory`."""
        return self._state.is_beyond(row)

    def loudest(self, row: Recording, n: int) -> tuple[LoudVariable, ...]:
        """Return at most n variables that are most unusual by themselves, the loudest first.

        ``row`` is the latest row, as it was pushed.
        """
        by_question = self._state.loudest(self.n_rows - 1, self.n_rows)
        return loudest_of(by_question, row, self._fitted.known, n, self._state.usual)

    def new_normals(self) -> tuple[NewNormal, ...]:
        """Return the variables that are judged by a new normal, by the rows in which these began.

        Rows are counted from the stream's first row.
        """
        return self._state.new_normals()

    def refuse(self, variables: Collection[str]) -> None:
        """Judge variables by the reference alone, although they have a new normal.

        They are unusual again, until they have been back to usual for as long as they were not.
        """
        self._state.refuse(variables)

    def accept(self, first: int, last: int) -> None:
        """Accept rows first to last - 1, counted from the stream's first row, as normal.

        What was loud in them is then compared with these rows, too, until it becomes quiet again.
        """
        self._state.accept(first, last)

    @property
    def memory(self) -> int:
        """Number of latest rows that are remembered."""
        return self._fitted.known.choices.memory

    @property
    def block(self) -> int:
        """Rows per block; rows are scored in blocks counted from the stream's first row."""
        return self._fitted.known.choices.block

    @property
    def n_rows(self) -> int:
        """Number of rows pushed so far."""
        return self._state.n_rows

    def _p_value(self) -> float:
        return self._latest_p_value

    def _fingerprint(self) -> str:
        arrays, header = self._fitted.to_arrays()
        digest = sha256(repr(header).encode())
        for name in sorted(arrays):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(arrays[name]).data)
        return digest.hexdigest()

    def _to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays, header = self._state.to_arrays()
        return arrays, {"state": header}

    def _restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        self._state = self._fitted.known.start().restored(arrays, header["state"])
        self._last_time = self._state.last_time


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
