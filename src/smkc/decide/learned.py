"""Learned: which rows a detector learned from, so that whoever reads its alerts can judge.

In: reference data. Out: how many rows, from when to when; JSON's terms for the model file.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from smkc.recording import Recording
from smkc.recording.times import show_time

__all__ = ["Learned"]


@dataclass(frozen=True, kw_only=True)
class Learned:
    """The rows learned from: how many, and the first and last time as text."""

    rows: int
    start: str
    end: str

    @classmethod
    def of(cls, reference: Recording) -> "Learned":
        """Describe reference data of at least one row.

        Examples
        --------
        >>> Learned.of(Recording.from_rows([10, 20], [{"cpu": 1.0}, {"cpu": 2.0}]))
        Learned(rows=2, start='10', end='20')
        """
        times = reference.times
        return cls(rows=len(times), start=show_time(times[0]), end=show_time(times[-1]))

    def and_then(self, more: Recording) -> "Learned":
        """Describe these rows and later ones together."""
        later = Learned.of(more) if len(more) else replace(self, rows=0)
        return replace(later, rows=self.rows + later.rows, start=self.start)

    def to_dict(self) -> dict[str, Any]:
        """Return it in JSON's terms."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Learned":
        """Return what :meth:`to_dict` gave."""
        return cls(rows=int(stored["rows"]), start=str(stored["start"]), end=str(stored["end"]))
