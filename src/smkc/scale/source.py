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
import pyarrow.parquet as pq

from smkc.errors import ReadError
from smkc.recording.columns import kind_of, texts
from smkc.recording.files import ParquetTable, open_files
from smkc.recording.gather import BATCH_ROWS, Gathering, Piece, batch_form, read_table
from smkc.recording.layout import WideParts, Wishes, find_parts
from smkc.recording.stamps import TimeUnit, check_time_unit, column_times, settled
from smkc.recording.tables import FrameTable
from smkc.scale.groups import (
    RowGroup,
    batches_of,
    named,
    row_groups,
    told_of,
)

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
            if isinstance(asked.get(key), str):
                asked[key] = (asked[key],)
            elif asked.get(key) is not None:
                asked[key] = tuple(asked[key])
        wishes = Wishes(entity=entity, **asked)
        groups: list[RowGroup] = []
        seen: list[list[Any]] = []
        for table in open_files(path):
            if not isinstance(table, ParquetTable):
                raise ReadError(
                    f"{table.name} is CSV, which is read whole; write it as Parquet to read it in "
                    "pieces, or leave out what asks for pieces (--stream, --engine)"
                )
            place = Path(table.name).absolute()  # workers may run in another folder
            groups += row_groups(table, str(place), find_parts(table, wishes))
            status = place.stat()
            seen.append([str(place), status.st_size, status.st_mtime_ns])
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
        counts: dict[str, int] = {}
        if self.entity is None:
            return counts
        for group in self.groups:
            for first, batch in batches_of(group, [self.entity], BATCH_ROWS):
                codes, distinct = texts(batch.column(0))
                if (codes < 0).any():
                    at = first + int(np.flatnonzero(codes < 0)[0])
                    raise ReadError(
                        f"row {at} of {named(group)} names no entity in column {self.entity!r}; "
                        "give it one or leave the row out"
                    )
                for name, count in zip(
                    distinct, np.bincount(codes, minlength=len(distinct)), strict=True
                ):
                    if count:
                        counts[name] = counts.get(name, 0) + int(count)
        return dict(sorted(counts.items()))

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
            columns, n_rows, _ = batch_form(group.parts)
            found = batches_of(group, columns, n_rows)
            for number, (row, whole) in enumerate(found, start=at * BATCHES_A_GROUP):
                if number < first:
                    continue
                share += group.size * whole.num_rows / max(group.n_rows, 1)
                batch = whole if wanted is None else _of(whole, self.entity, wanted)
                if not batch.num_rows:
                    continue
                place = named(group) + (f", from its row {row:,} on" if row else "")
                read = Gathering()
                table = FrameTable(place, pa.Table.from_batches([batch]))
                try:
                    read_table(table, group.parts, read, lambda amount: None)
                except pa.ArrowException as error:
                    raise ReadError(f"{place} cannot be read: {error}") from error
                (piece,) = read.pieces
                yield Batch(
                    number=number,
                    piece=_in_unit(piece, self.unit),
                    names=tuple(read.variables),
                    entities=tuple(read.entities),
                    share=share,
                    place=place,
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
    with pq.ParquetFile(group.path) as file:
        at = file.schema_arrow.get_field_index(time)
        if kind_of(file.schema_arrow.field(at).type) == "time":
            return np.array([0, 0], "datetime64[ns]")
        told = told_of(file.metadata.row_group(group.number), time)
    if told is not None and isinstance(told.min, int | float):
        return np.array([told.min, told.max])
    spans = [
        column_times(batch.column(0), lambda at: f"row {at} of {named(group)}")
        for _, batch in batches_of(group, [time], BATCH_ROWS)
    ]
    whole = np.concatenate(spans)
    return np.array([whole.min(), whole.max()])


def _in_unit(piece: Piece, unit: TimeUnit) -> Piece:
    if not len(piece.times):
        return piece
    return replace(piece, times=settled([piece.times], unit))
