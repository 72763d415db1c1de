"""Gathering: long and wide tables, batch by batch -> one recording, or one per entity.

In: tables and the parts of their columns. Out: recordings in canonical order; null and NaN count as
not observed, and notes count what was dropped. There is no Python loop over values.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smkc.errors import ReadError
from smkc.recording.columns import Where, numbers, plain, texts
from smkc.recording.identity import canonical, identifier
from smkc.recording.layout import LongParts, WideParts
from smkc.recording.notes import Notes
from smkc.recording.recording import Recording
from smkc.recording.stamps import TimeUnit, column_times, settled
from smkc.recording.tables import Table, place

BATCH_ROWS = 2**18  # of long tables
BATCH_CELLS = 2**22  # of wide tables
MIN_BATCH_ROWS = 64  # with very many columns, each batch has a cost per column


@dataclass(frozen=True, kw_only=True)
class Piece:
    """The observations of one batch."""

    times: NDArray[Any]  # (R,) the time of each row of the batch
    rows: NDArray[np.integer[Any]]  # (N,) the row of the batch that each observation came from
    codes: NDArray[np.int32]  # (N,) the variable, as an index into the gathering's names
    values: NDArray[np.float32]  # (N,) finite
    entities: NDArray[np.int32] | None  # (R,) the entity of each row, if there are several
    notes: Notes  # what was dropped


class Gathering:
    """The pieces read so far, and the names that their codes stand for."""

    def __init__(self) -> None:
        self.variables: dict[str, int] = {}
        self.entities: dict[str, int] = {}
        self.notes = Notes()
        self.pieces: list[Piece] = []
        self.times: NDArray[Any] = np.empty(0)  # of all rows read; set by recordings()

    def code(self, variable: str) -> int:
        """Return the code of a variable; a new variable gets a new code."""
        return self.variables.setdefault(variable, len(self.variables))

    def entity_codes(self, column: pa.Array, where: Where) -> NDArray[np.int32]:
        """Return the code of each row's entity; a new entity gets a new code."""
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
        """Add one more piece."""
        self.pieces.append(piece)
        self.notes += piece.notes

    def ignore(self, columns: tuple[str, ...]) -> None:
        """Record in the notes that columns were left out."""
        self.notes += Notes(ignored=columns)

    def recordings(self, source: str, unit: TimeUnit, by_entity: bool) -> dict[str, Recording]:
        """Return everything in order of time, by entity or all under ``""``; drop the pieces.

        Missing and infinite values are counted over all entities together.
        """
        times, rows, codes, values, entities = self._joined(source, unit)
        self.times = times
        names = list(self.variables)
        if not by_entity:
            return {"": ordered(times, rows, codes, values, names, self.notes)}
        found = {}
        for entity, code in sorted(self.entities.items()):
            of_entity = entities == code
            kept = of_entity[rows]
            renumber = np.cumsum(of_entity) - 1
            found[entity] = ordered(
                times[of_entity], renumber[rows[kept]], codes[kept], values[kept], names, self.notes
            )
        return found

    def _joined(self, source: str, unit: TimeUnit) -> tuple[NDArray[Any], ...]:
        pieces, self.pieces = self.pieces, []
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


def ordered(
    times: NDArray[Any],
    rows: NDArray[Any],
    codes: NDArray[np.int32],
    values: NDArray[np.float32],
    names: Sequence[str],
    notes: Notes,
) -> Recording:
    """Build a recording with one row per distinct time, in order.

    ``rows`` (N,) is the index into ``times`` of each observation.
    """
    if len(times) > 1 and (times[1:] < times[:-1]).any():
        row_times, row_of = np.unique(times, return_inverse=True)
        row_of = row_of.astype(np.int32, copy=False)
    else:
        is_new = np.ones(len(times), bool)
        is_new[1:] = times[1:] != times[:-1]
        row_times, row_of = times[is_new], np.cumsum(is_new, dtype=np.int32) - np.int32(1)
    return Recording.from_observations(row_times, row_of[rows], codes, values, names, notes)


# From a batch and the number of its first row: values, and the codes of their variables, which
# can be broadcast to the shape of the values.
Cells = Callable[[pa.RecordBatch, int], tuple[NDArray[np.float64], NDArray[np.int32]]]


def batch_form(parts: LongParts | WideParts) -> tuple[list[str], int, list[str]]:
    """Return the columns to read, the rows per batch, and the columns to encode as dictionaries."""
    entity = [] if parts.entity is None else [parts.entity]
    if isinstance(parts, WideParts):
        n_rows = max(MIN_BATCH_ROWS, BATCH_CELLS // len(parts.variables))
        return [parts.time, *parts.variables, *entity], n_rows, entity
    texts_read = [parts.variable, *parts.labels, *entity]
    return [parts.time, parts.value, *texts_read], BATCH_ROWS, texts_read


def read_table(
    table: Table,
    parts: LongParts | WideParts,
    gathering: Gathering,
    advance: Callable[[float], None],
) -> None:
    """Add every observation of a table to the gathering."""
    if isinstance(parts, WideParts):
        cells_of: Cells = _wide(table, parts, gathering)
    else:
        cells_of = _long(table, parts, gathering)
    first = 0
    for batch, amount in table.batches(*batch_form(parts)):
        times = column_times(
            batch.column(0), place(table.name, parts.time, first), parts.time_format
        )
        values, codes = cells_of(batch, first)
        entities = None
        if parts.entity is not None:
            entities = gathering.entity_codes(
                batch.column(parts.entity), place(table.name, parts.entity, first)
            )
        with np.errstate(over="ignore", invalid="ignore"):
            narrow = values.astype(np.float32)
        kept = np.isfinite(narrow)
        codes = np.broadcast_to(codes, kept.shape)
        gathering.add(
            Piece(
                times=times,
                rows=np.nonzero(kept)[0].astype(np.int32),
                codes=codes[kept],
                values=narrow[kept],
                entities=entities,
                notes=_notes(values, narrow, kept, codes, gathering),
            )
        )
        first += batch.num_rows
        advance(amount)


def _notes(
    values: NDArray[np.float64],
    narrow: NDArray[np.float32],
    kept: NDArray[np.bool_],
    codes: NDArray[np.int32],
    gathering: Gathering,
) -> Notes:
    """Count missing and infinite values; finite ones beyond float32 count as infinite."""
    n_dropped = kept.size - int(np.count_nonzero(kept))
    if not n_dropped:
        return Notes()
    n_missing = int(np.count_nonzero(np.isnan(narrow)))
    notes = Notes(missing=n_missing, infinities=n_dropped - n_missing)
    if not notes.infinities:
        return notes
    names = list(gathering.variables)
    too_large = np.unique(codes[np.isfinite(values) & ~kept])
    return replace(notes, beyond=tuple(names[code] for code in too_large))


def _long(table: Table, parts: LongParts, gathering: Gathering) -> Cells:
    """Return a function that reads (n,) values of a long table and the codes of their variables."""
    code_of: dict[tuple[str | None, ...], int] = {}

    def code(key: tuple[str | None, ...]) -> int:
        found = code_of.get(key)
        if found is None:
            name, *values = key
            labels = {
                label: value
                for label, value in zip(parts.labels, values, strict=True)
                if value is not None
            }
            found = -1 if name is None else gathering.code(identifier(name, labels))
            code_of[key] = found
        return found

    def cells(batch: pa.RecordBatch, first: int) -> Any:
        values = numbers(batch.column(parts.value), place(table.name, parts.value, first))
        columns = [batch.column(name) for name in (parts.variable, *parts.labels)]
        codes = _combined_codes(columns, code)
        unnamed = np.flatnonzero((codes < 0) & ~np.isnan(values))
        if len(unnamed):
            where = place(table.name, parts.variable, first)
            raise ReadError(
                f"{where(int(unnamed[0]))} is empty but the row has a value; "
                "give it a variable or leave the row out"
            )
        return values, codes

    return cells


def _combined_codes(
    columns: Sequence[pa.Array], code: Callable[[tuple[str | None, ...]], int]
) -> NDArray[np.int32]:
    """Return (n,) the code of each row's variable, by its combination of texts; -1 for none."""
    parts = [texts(column) for column in columns]
    combined = parts[0][0]
    for found, distinct in parts[1:]:
        # Renumber from 0 each time, so that combinations stay below rows x distinct texts.
        _, compact = np.unique(combined, return_inverse=True)
        combined = compact * (len(distinct) + 1) + found
    _, firsts, inverse = np.unique(combined, return_index=True, return_inverse=True)
    codes = [
        code(tuple(distinct[found[at]] if found[at] >= 0 else None for found, distinct in parts))
        for at in firsts
    ]
    return np.array(codes, np.int32)[inverse]


def _wide(table: Table, parts: WideParts, gathering: Gathering) -> Cells:
    """Return a function that reads (n, V) values of a wide table; codes are (V,)."""
    column_of: dict[str, str] = {}
    for column in parts.variables:
        name = canonical(column)
        if name in column_of:
            raise ReadError(
                f"columns {column_of[name]!r} and {column!r} of {table.name} are the same "
                f"variable {name!r}; rename or leave out one with ignore=[...]"
            )
        column_of[name] = column
    codes = np.array([gathering.code(name) for name in column_of], np.int32)

    def cells(batch: pa.RecordBatch, first: int) -> Any:
        n_rows = batch.num_rows
        values = np.empty((len(codes), n_rows))
        arrays = [plain(array) for array in batch.columns[1 : 1 + len(codes)]]
        by_type: dict[pa.DataType, list[int]] = {}
        for which, array in enumerate(arrays):
            by_type.setdefault(array.type, []).append(which)
        for members in by_type.values():  # columns of one type are converted together

            def where(at: int, members: list[int] = members) -> str:
                return place(table.name, parts.variables[members[at // n_rows]], first)(at % n_rows)

            joined = pa.concat_arrays([arrays[which] for which in members])
            values[members] = numbers(joined, where).reshape(len(members), n_rows)
        return values.T, codes

    return cells
