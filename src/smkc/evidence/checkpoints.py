"""Checkpoints: the evidences at some rows of a recording, to go on from there once more.

In: a state before each part of the rows, and how alarming the part was. Out: the latest state
before a row. Causes are asked of the state at the moment of an alert; without checkpoints, that
would need a second pass over all rows before it.
"""

from typing import Any

from numpy.typing import NDArray

from smkc.evidence.reference import EvidenceState, ReferenceEvidence

__all__ = ["Checkpoints", "Saved", "resumed"]

# Memory that checkpoints may take; those before the least alarming parts make room.
MAX_CHECKPOINT_BYTES = 128_000_000

Saved = tuple[dict[str, NDArray[Any]], dict[str, Any]]


class Checkpoints:
    """States by the number of the row that comes next."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[float, int, Saved]] = {}
        self._size = 0

    def save(self, state: EvidenceState) -> Saved:
        """Return a state as it is now."""
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
        """Return the states that were kept, in order of their rows."""
        return {row: saved for row, (_, _, saved) in sorted(self._kept.items())}


def resumed(model: ReferenceEvidence, saved: Saved) -> EvidenceState:
    """Return a state of its own that goes on where ``saved`` was."""
    arrays, header = saved
    return model.start().restored({name: array.copy() for name, array in arrays.items()}, header)
