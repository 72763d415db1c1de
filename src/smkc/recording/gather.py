"""Gather: pieces of observations, batch by batch -> one recording, or one per entity.

In: pieces with raw times and codes. Out: recordings in canonical order with what was dropped
counted in their notes.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smkc.errors import ReadError
from smkc.recording.columns import Where, texts
from smkc.recording.recording import Notes, Recording
from smkc.recording.stamps import TimeUnit, settled

__all__ = ["Gathering", "Piece", "beyond", "observed"]


@dataclass(frozen=True, kw_only=True)
class Piece:
    """The observations of one batch.

    Parameters
    ----------
    times
        (R,) when, a time for each row of the batch.
    rows
        (N,) the row of the batch that each observation came from.
    codes
        (N,) which variable, an index into the gathering's names.
    values
        (N,) what was read, finite.
    entities
        (R,) which entity each row is about, if there are several.
    notes
        what was not kept.
    """

    times: NDArray[Any]
    rows: NDArray[np.integer[Any]]
    codes: NDArray[np.int32]
    values: NDArray[np.float32]
    entities: NDArray[np.int32] | None
    notes: Notes


class Gathering:
    """All pieces so far, and the names that their codes stand for."""

    def __init__(self) -> None:
        self.variables: dict[str, int] = {}
        self.entities: dict[str, int] = {}
        self.notes = Notes()
        self._pieces: list[Piece] = []

    def code(self, variable: str) -> int:
        """Return the code of a variable, a new one if it was not met before."""
        return self.variables.setdefault(variable, len(self.variables))

    def entity_codes(self, column: pa.Array, where: Where) -> NDArray[np.int32]:
        """Return the code of the entity that each row is about, new ones for new entities."""
        found, distinct = texts(column)
        unnamed = np.flatnonzero(found < 0)
        if len(unnamed):
            raise ReadError(
                f"{where(int(unnamed[0]))} names no entity; give it one or leave the row out"
            )
        used = np.unique(found)
        renumber = np.zeros(len(distinct), np.int32)
        renumber[used] = [
            self.entities.setdefault(distinct[code], len(self.entities)) for code in used
        ]
        return renumber[found]

    def add(self, piece: Piece) -> None:
        """Take one more piece."""
        self._pieces.append(piece)
        self.notes = self.notes + piece.notes

    def ignore(self, columns: tuple[str, ...]) -> None:
        """Note columns that were left out."""
        self.notes = self.notes + Notes(ignored=columns)

    def recording(self, source: str, unit: TimeUnit) -> Recording:
        """Order everything by time; the pieces are spent."""
        times, rows, codes, values, _ = self._joined(source, unit)
        return _ordered(times, rows, codes, values, list(self.variables), self.notes)

    def recordings(self, source: str, unit: TimeUnit) -> dict[str, Recording]:
        """Order everything by entity and time; the pieces are spent.

        Missing values and infinities are counted over all entities together.
        """
        times, rows, codes, values, entities = self._joined(source, unit)
        names = list(self.variables)
        by_entity = {}
        for entity, code in sorted(self.entities.items()):
            of_entity = entities == code
            kept = of_entity[rows]
            renumber = np.cumsum(of_entity) - 1
            by_entity[entity] = _ordered(
                times[of_entity], renumber[rows[kept]], codes[kept], values[kept], names, self.notes
            )
        return by_entity

    def _joined(self, source: str, unit: TimeUnit) -> tuple[NDArray[Any], ...]:
        pieces, self._pieces = self._pieces, []
        if not sum(len(piece.values) for piece in pieces):
            n_rows = sum(len(piece.times) for piece in pieces)
            dropped = (
                f"{self.notes.missing:,} values are missing and {self.notes.infinities:,} infinite"
            )
            raise ReadError(
                f"{source} holds no observation: {n_rows:,} rows"
                + (f", in which {dropped}" if n_rows else " below its header")
                + "; give at least one row with a time and a finite value"
            )
        starts = np.cumsum([0] + [len(piece.times) for piece in pieces[:-1]])
        times = settled([piece.times for piece in pieces], unit)
        rows = np.concatenate(
            [piece.rows + start for piece, start in zip(pieces, starts, strict=True)]
        )
        codes = np.concatenate([piece.codes for piece in pieces])
        values = np.concatenate([piece.values for piece in pieces])
        entities = np.concatenate(
            [
                np.zeros(len(piece.times), np.int32) if piece.entities is None else piece.entities
                for piece in pieces
            ]
        )
        return times, rows, codes, values, entities


def observed(values: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.float32], Notes]:
    """Tell which values are finite as float32, and count those that are not.

    Those that are finite but beyond float32 count as infinite; :func:`beyond` tells which.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = values.astype(np.float32)
    finite = np.isfinite(narrow)
    n_dropped = finite.size - int(np.count_nonzero(finite))
    n_missing = int(np.count_nonzero(np.isnan(narrow))) if n_dropped else 0
    return finite, narrow, Notes(missing=n_missing, infinities=n_dropped - n_missing)


def beyond(values: NDArray[np.float64], finite: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell which values were finite before they became float32."""
    return np.isfinite(values) & ~finite


def _ordered(
    times: NDArray[Any],
    rows: NDArray[Any],
    codes: NDArray[np.int32],
    values: NDArray[np.float32],
    names: list[str],
    notes: Notes,
) -> Recording:
    """Give every distinct time one row, in order."""
    if len(times) > 1 and (times[1:] < times[:-1]).any():
        row_times, row_of = np.unique(times, return_inverse=True)
        row_of = row_of.astype(np.int32, copy=False)
    else:
        is_new = np.ones(len(times), bool)
        is_new[1:] = times[1:] != times[:-1]
        row_times, row_of = times[is_new], np.cumsum(is_new, dtype=np.int32) - np.int32(1)
    recording = Recording.from_observations(row_times, row_of[rows], codes, values, names)
    return replace(recording, notes=notes + recording.notes)
