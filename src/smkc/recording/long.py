"""Long: batches of (time, variable, value, labels) rows -> pieces of observations.

In: a table and the parts of its columns. Out: one piece a batch; no loop over observations.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smkc.errors import ReadError
from smkc.recording.columns import numbers, texts
from smkc.recording.gather import Gathering, Piece, beyond, observed
from smkc.recording.identity import identifier
from smkc.recording.layout import LongParts
from smkc.recording.stamps import column_times
from smkc.recording.tables import Table, place

__all__ = ["read_long"]

BATCH_ROWS = 2**18


def read_long(
    table: Table, parts: LongParts, gathering: Gathering, advance: Callable[[float], None]
) -> None:
    """Add every observation of a long table to the gathering."""
    text_parts = [parts.variable, *parts.labels]
    entity_part = [] if parts.entity is None else [parts.entity]
    columns = [parts.time, parts.value, *text_parts, *entity_part]
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

    first = 0
    for batch, amount in table.batches(columns, BATCH_ROWS, text_parts + entity_part):
        times = column_times(batch.column(0), place(table, parts.time, first), parts.time_format)
        values = numbers(batch.column(1), place(table, parts.value, first))
        codes = _codes([batch.column(2 + at) for at in range(len(text_parts))], code)
        unnamed = np.flatnonzero((codes < 0) & ~np.isnan(values))
        if len(unnamed):
            where = place(table, parts.variable, first)
            raise ReadError(
                f"{where(int(unnamed[0]))} is empty but the row has a value; "
                "give it a variable or leave the row out"
            )
        entities = None
        if parts.entity is not None:
            entities = gathering.entity_codes(
                batch.column(parts.entity), place(table, parts.entity, first)
            )
        kept, narrow, notes = observed(values)
        if notes.infinities:
            names = list(gathering.variables)
            too_large = np.unique(codes[beyond(values, kept)])
            notes = replace(notes, beyond=tuple(names[code] for code in too_large if code >= 0))
        gathering.add(
            Piece(
                times=times,
                rows=np.flatnonzero(kept).astype(np.int32),
                codes=codes[kept],
                values=narrow[kept],
                entities=entities,
                notes=notes,
            )
        )
        first += batch.num_rows
        advance(amount)


def _codes(
    columns: Sequence[pa.Array], code: Callable[[tuple[str | None, ...]], int]
) -> NDArray[np.int32]:
    """(n,) the variable's code of each row, by its combination of texts; -1 for none."""
    parts = [texts(column) for column in columns]
    combined = parts[0][0]
    for found, distinct in parts[1:]:
        # Renumbered from 0 each time, the combinations stay below rows x distinct texts.
        _, compact = np.unique(combined, return_inverse=True)
        combined = compact * (len(distinct) + 1) + found
    _, firsts, inverse = np.unique(combined, return_index=True, return_inverse=True)
    codes = [
        code(tuple(distinct[found[at]] if found[at] >= 0 else None for found, distinct in parts))
        for at in firsts
    ]
    return np.array(codes, np.int32)[inverse]
