"""Source: Parquet files -> pieces of observations, row group by row group, from any batch on.

In: a path, a folder or a glob, and options for reading. Out: pieces in the order of the files,
each with the names that its codes stand for; memory holds one batch.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from smkc.errors import ReadError
from smkc.recording.columns import kind_of, texts
from smkc.recording.files import ParquetTable, open_files
from smkc.recording.gather import BATCH_ROWS, Gathering, Piece, batch_form, read_table
from smkc.recording.layout import WideParts, Wishes, find_parts
from smkc.recording.reader import several
from smkc.recording.stamps import TimeUnit, check_time_unit, column_times, settled
from smkc.recording.tables import FrameTable, place
from smkc.scale.groups import RowGroup, row_groups

# The number of a batch is the number of its row group times this, plus its position in the group.
BATCHES_A_GROUP = 1_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """Some rows of the source; numbers of batches increase.

    The codes of ``piece`` index ``names``, its entities ``entities``. ``share`` is the number of
    bytes read since the previous batch, ``place`` the name of the batch in messages.
    """

    number: int
    piece: Piece
    names: tuple[str, ...]
    entities: tuple[str, ...]
    share: float
    place: str


@dataclass(frozen=True, kw_only=True)
class Source:
    """Parquet files that are read in pieces.

    Parameters
    ----------
    path
        file, folder or glob, as given.
    groups
        row groups in order: files sorted by name, and in each file its own order.
    entity
        column that names the entity of each row, if any.
    step
        grid that rows are aligned to, if any.
    unit
        unit of numbers in the time column; the same for the whole source.
    fingerprint
        hash that identifies the files and the options for reading.
    """

    path: str
    groups: tuple[RowGroup, ...] = field(repr=False)
    entity: str | None
    step: Any
    unit: TimeUnit
    fingerprint: str

    @classmethod
    def open(
        cls, path: str | Path, read: Mapping[str, Any] | None = None, entity: str | None = None
    ) -> "Source":
        """Read the files' footers and find what each column holds.

        Of the data, only samples are read, and times where a footer has no statistics. ``read``
        are keyword arguments of :func:`smkc.read`.
        """
        asked = dict(read or {})
        step, unit = asked.pop("step", None), asked.pop("time_unit", "auto")
        check_time_unit(unit)
        for key in ("labels", "ignore"):
            if asked.get(key) is not None:
                asked[key] = several(asked[key])
        wishes = Wishes(entity=entity, **asked)
        groups: list[RowGroup] = []
        seen: list[list[Any]] = []
        for table in open_files(path):
            if not isinstance(table, ParquetTable):
                raise ReadError(
                    f"{table.name} is CSV, which is read whole; write it as Parquet to read it in "
                    "pieces, or leave out what asks for pieces (--stream, --engine)"
                )
            groups += row_groups(table, find_parts(table, wishes))
            status = table.path.stat()
            seen.append([str(table.path), status.st_size, status.st_mtime_ns])
        unit = _settled_unit(groups, unit)
        text = json.dumps([seen, entity, str(step), unit, sorted(map(repr, asked.items()))])
        return cls(
            path=str(path),
            groups=tuple(groups),
            entity=entity,
            step=step,
            unit=unit,
            fingerprint=sha256(text.encode()).hexdigest(),
        )

    @property
    def size(self) -> float:
        """Bytes to read."""
        return sum(group.size for group in self.groups)

    @property
    def n_cells(self) -> int:
        """Largest possible number of observations: missing values are included."""
        return sum(
            group.n_rows * (len(group.parts.variables) if isinstance(group.parts, WideParts) else 1)
            for group in self.groups
        )

    def count_entities(self) -> dict[str, int]:
        """Return the number of rows of each entity, sorted by name; reads only that column."""
        if self.entity is None:
            return {}
        found = Gathering()
        counts = np.zeros(0, np.int64)
        for group in self.groups:
            first = 0
            for batch, _ in group.batches([self.entity], BATCH_ROWS, [self.entity]):
                codes = found.entity_codes(batch.column(0), place(group.name, self.entity, first))
                so_far, counts = counts, np.bincount(codes, minlength=len(found.entities))
                counts[: len(so_far)] += so_far
                first += batch.num_rows
        return dict(sorted(zip(found.entities, counts.tolist(), strict=True)))

    def batches(self, entities: Sequence[str] | None = None, first: int = 0) -> Iterator[Batch]:
        """Yield batches from number ``first`` on, of all entities or only of those named."""
        wanted = None if entities is None else frozenset(entities)
        share = 0.0
        for at, group in enumerate(self.groups):
            if (at + 1) * BATCHES_A_GROUP <= first:
                continue
            if wanted is not None and not group.may_hold(wanted):
                share += group.size
                continue
            row = 0
            found = group.batches(*batch_form(group.parts))
            for number, (whole, amount) in enumerate(found, start=at * BATCHES_A_GROUP):
                where = group.name + (f", from its row {row:,} on" if row else "")
                row += whole.num_rows
                if number < first:
                    continue
                share += amount
                batch = whole if wanted is None else _of(whole, self.entity, wanted)
                if not batch.num_rows:
                    continue
                read = Gathering()
                table = FrameTable(where, pa.Table.from_batches([batch]))
                try:
                    read_table(table, group.parts, read, lambda amount: None)
                except pa.ArrowException as error:
                    raise ReadError(f"{where} cannot be read: {error}") from error
                (piece,) = read.pieces
                yield Batch(
                    number=number,
                    piece=_in_unit(piece, self.unit),
                    names=tuple(read.variables),
                    entities=tuple(read.entities),
                    share=share,
                    place=where,
                )
                share = 0.0


def _of(batch: pa.RecordBatch, column: str | None, wanted: frozenset[str]) -> pa.RecordBatch:
    """Keep the rows of the wanted entities."""
    codes, distinct = texts(batch.column(column))
    is_wanted = np.array([name in wanted for name in distinct] + [False])
    kept = is_wanted[codes]
    return batch if kept.all() else batch.filter(pa.array(kept))


def _settled_unit(groups: Sequence[RowGroup], unit: TimeUnit) -> TimeUnit:
    """Return the unit of numbers in the time column, once for all pieces."""
    if unit != "auto":
        return unit
    spans = [_time_span(group) for group in groups if group.n_rows]
    if not spans or spans[0].dtype.kind == "M":
        return "step"  # dates need no unit
    span = np.concatenate(spans)
    dated = settled([span], "auto")
    finer_first: tuple[TimeUnit, ...] = ("ns", "us", "ms", "s")
    for candidate in finer_first if dated.dtype.kind == "M" else ():
        if np.array_equal(settled([span], candidate), dated):
            return candidate
    return "step"


def _time_span(group: RowGroup) -> Any:
    """Return (2,) the first and the last time of a row group, from its footer if possible."""
    time = group.parts.time
    if kind_of(group.table.schema.field(time).type) == "time":
        return np.array([0, 0], "datetime64[ns]")
    if group.times is not None:
        return np.array(group.times)
    spans = [
        column_times(batch.column(0), lambda at: f"row {at} of {group.name}")
        for batch, _ in group.batches([time], BATCH_ROWS)
    ]
    whole = np.concatenate(spans)
    return np.array([whole.min(), whole.max()])


def _in_unit(piece: Piece, unit: TimeUnit) -> Piece:
    if not len(piece.times):
        return piece
    return replace(piece, times=settled([piece.times], unit))
