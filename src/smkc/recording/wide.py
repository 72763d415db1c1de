"""Wide: batches with a time column and a variable a column -> pieces of observations.

In: a table and the parts of its columns. Out: one piece a batch; what is null or NaN was not
observed.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smkc.errors import ReadError
from smkc.recording.columns import numbers, plain
from smkc.recording.gather import Gathering, Piece, beyond, observed
from smkc.recording.identity import canonical
from smkc.recording.layout import WideParts
from smkc.recording.stamps import column_times
from smkc.recording.tables import Table, place

__all__ = ["read_wide"]

BATCH_CELLS = 2**22
MIN_BATCH_ROWS = 64  # a batch of very many columns costs more in columns than in rows


def read_wide(
    table: Table, parts: WideParts, gathering: Gathering, advance: Callable[[float], None]
) -> None:
    """Add every observation of a wide table to the gathering."""
    identifiers = [canonical(name) for name in parts.variables]
    _require_distinct(table, parts, identifiers)
    codes = np.array([gathering.code(name) for name in identifiers], np.int32)
    n_variables = len(codes)
    entity_part = [] if parts.entity is None else [parts.entity]
    columns = [*parts.variables, parts.time, *entity_part]
    n_rows = max(MIN_BATCH_ROWS, BATCH_CELLS // n_variables)
    first = 0
    for batch, amount in table.batches(columns, n_rows, entity_part):
        arrays = batch.columns
        times = column_times(
            arrays[n_variables], place(table, parts.time, first), parts.time_format
        )
        cells = _cells(table, parts.variables, arrays[:n_variables], first)
        entities = None
        if parts.entity is not None:
            entities = gathering.entity_codes(
                batch.column(parts.entity), place(table, parts.entity, first)
            )
        kept, narrow, notes = observed(cells)
        if notes.infinities:
            too_large = np.flatnonzero(beyond(cells, kept).any(axis=0))
            notes = replace(notes, beyond=tuple(identifiers[at] for at in too_large))
        rows, which = np.nonzero(kept)
        gathering.add(
            Piece(
                times=times,
                rows=rows.astype(np.int32),
                codes=codes[which],
                values=narrow[kept],
                entities=entities,
                notes=notes,
            )
        )
        first += batch.num_rows
        advance(amount)


def _cells(
    table: Table, columns: Sequence[str], arrays: list[pa.Array], first: int
) -> NDArray[np.float64]:
    """(rows, variables) numbers, read in one go for all columns of one type."""
    n_rows = len(arrays[0])
    cells = np.empty((len(arrays), n_rows))
    by_type: dict[pa.DataType, list[int]] = {}
    for which, array in enumerate(arrays):
        arrays[which] = plain(array)
        by_type.setdefault(arrays[which].type, []).append(which)
    for members in by_type.values():
        joined = pa.concat_arrays([arrays[which] for which in members])

        def where(at: int, members: list[int] = members) -> str:
            return place(table, columns[members[at // n_rows]], first)(at % n_rows)

        cells[members] = numbers(joined, where).reshape(len(members), n_rows)
    return cells.T


def _require_distinct(table: Table, parts: WideParts, identifiers: list[str]) -> None:
    first: dict[str, str] = {}
    for column, name in zip(parts.variables, identifiers, strict=True):
        if name in first:
            raise ReadError(
                f"columns {first[name]!r} and {column!r} of {table.name} are the same variable "
                f"{name!r}; rename or leave out one with ignore=[...]"
            )
        first[name] = column
