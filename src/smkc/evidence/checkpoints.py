"""Checkpoints: saved states at some rows of a recording, from which scoring can be repeated.

In: the state before each part of the rows, and the largest alarm of the part. Out: the saved states
by row. Finding the causes of an alert needs the state at that row; without checkpoints, that would
need a second pass over all rows before it.
"""

from typing import Any

from numpy.typing import NDArray

from smkc.evidence.model import ReferenceEvidence
from smkc.evidence.state import EvidenceState

# Memory limit for checkpoints; those before the least alarming parts are dropped first.
MAX_CHECKPOINT_BYTES = 128_000_000

Saved = tuple[dict[str, NDArray[Any]], dict[str, Any]]


class Checkpoints:
    """Saved states by the number of the row that comes next."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[float, int, Saved]] = {}
        self._size = 0

    def save(self, state: EvidenceState) -> Saved:
        """Return a copy of a state as arrays and a header."""
        arrays, header = state.to_arrays()
        return {name: array.copy() for name, array in arrays.items()}, header

    def keep(self, row: int, saved: Saved, alarm: float) -> None:
        """Keep the state before a part of the rows whose largest alarm is ``alarm``."""
        size = sum(array.nbytes for array in saved[0].values())
        self._kept[row] = alarm, size, saved
        self._size += size
        while self._size > MAX_CHECKPOINT_BYTES and self._kept:
            quietest = min(self._kept, key=lambda one: (self._kept[one][0], one))
            self._size -= self._kept.pop(quietest)[1]

    def by_row(self) -> dict[int, Saved]:
        """Return the states that are kept, in order of their rows."""
        return {row: saved for row, (_, _, saved) in sorted(self._kept.items())}


def resumed(model: ReferenceEvidence, saved: Saved) -> EvidenceState:
    """Return a new state that continues from ``saved``, which stays unchanged."""
    arrays, header = saved
    return model.start().restored({name: array.copy() for name, array in arrays.items()}, header)
