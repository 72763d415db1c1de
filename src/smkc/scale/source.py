"""Source: Parquet files -> pieces of observations, row group by row group, from any place on.

In: a path, a folder or a glob, and how it is to be read. Out: pieces in the order of the files,
each with the names that its codes stand for; memory holds one batch.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from smkc.errors import ReadError, SettingError
from smkc.recording.columns import kind_of, texts
from smkc.recording.files import ParquetTable, open_files
from smkc.recording.gather import Gathering, Piece
from smkc.recording.layout import WideParts, Wishes, find_parts
from smkc.recording.long import BATCH_ROWS, read_long
from smkc.recording.stamps import TimeUnit, column_times, settled
from smkc.recording.tables import FrameTable
from smkc.recording.wide import read_wide
from smkc.scale.groups import (
    RowGroup,
    batch_rows,
    batches_of,
    columns_of,
    named,
    row_groups,
    told_of,
)

__all__ = ["Batch", "Source"]

# A batch's number is that of its row group times this, and its place there.
BATCHES_A_GROUP = 1_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """Some rows of the source.

    Parameters
    ----------
    number
        where it is in the source: higher than those of all batches before it.
    piece
        the observations; codes index ``names``, entities ``entities``.
    share
        part of :attr:`Source.size` that was read since the batch before.
    place
        what to call it in messages.
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
        file, folder or glob, as it was given.
    groups
        row groups in order: files sorted by name, and in each its own order.
    entity
        column of what each row is about, if the source is about several.
    step
        grid that rows are aligned to, if any.
    unit
        what numbers in the time column count; settled for the whole source.
    fingerprint
        tells this source, read this way, from others.
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
        """Look at the files' footers and find what each column is; no data are read yet.

        ``read`` are keyword arguments of :func:`smkc.read`.
        """
        asked = dict(read or {})
        step, unit = asked.pop("step", None), asked.pop("time_unit", "auto")
        if unit not in ("auto", "s", "ms", "us", "ns", "step"):
            raise SettingError(
                f"time_unit={unit!r} is unknown; say 'auto', 's', 'ms', 'us', 'ns' or 'step'"
            )
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
            place = Path(table.name).absolute()  # workers may stand in another folder
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
        """How much there is to read, in bytes."""
        return sum(group.size for group in self.groups)

    @property
    def n_cells(self) -> int:
        """How many observations there are at most."""
        return sum(
            group.n_rows * (len(group.parts.variables) if isinstance(group.parts, WideParts) else 1)
            for group in self.groups
        )

    def count_entities(self) -> dict[str, int]:
        """Return the rows of each entity, in order of their names; reads that column alone."""
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
        """Yield batches from number ``first`` on, of some entities only if they are named."""
        wanted = None if entities is None else frozenset(entities)
        share = 0.0
        for at, group in enumerate(self.groups):
            if (at + 1) * BATCHES_A_GROUP <= first:
                continue
            if wanted is not None and not group.may_hold(wanted):
                share += group.size
                continue
            found = batches_of(group, columns_of(group.parts), batch_rows(group.parts))
            for number, (row, whole) in enumerate(found, start=at * BATCHES_A_GROUP):
                if number < first:
                    continue
                share += group.size * whole.num_rows / max(group.n_rows, 1)
                batch = whole if wanted is None else _of(whole, self.entity, wanted)
                if not batch.num_rows:
                    continue
                place = named(group) + (f", from its row {row:,} on" if row else "")
                caught = _Caught()
                table = FrameTable(place, pa.Table.from_batches([batch]))
                try:
                    if isinstance(group.parts, WideParts):
                        read_wide(table, group.parts, caught, _nowhere)
                    else:
                        read_long(table, group.parts, caught, _nowhere)
                except pa.ArrowException as error:
                    raise ReadError(f"{place} cannot be read: {error}") from error
                (piece,) = caught.pieces
                yield Batch(
                    number=number,
                    piece=_in_unit(piece, self.unit),
                    names=tuple(caught.variables),
                    entities=tuple(caught.entities),
                    share=share,
                    place=place,
                )
                share = 0.0


class _Caught(Gathering):
    """Keeps pieces as they come, where a gathering would join them."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[Piece] = []

    def add(self, piece: Piece) -> None:
        """Take one more piece."""
        self.pieces.append(piece)


def _nowhere(amount: float) -> None:
    pass


def _of(batch: pa.RecordBatch, column: str | None, wanted: frozenset[str]) -> pa.RecordBatch:
    """Keep the rows that are about some entities."""
    codes, distinct = texts(batch.column(column))
    is_wanted = np.array([name in wanted for name in distinct] + [False])
    kept = is_wanted[codes]
    return batch if kept.all() else batch.filter(pa.array(kept))


def _settled_unit(groups: Sequence[RowGroup], unit: TimeUnit) -> TimeUnit:
    """Say what numbers in the time column count, once for all pieces."""
    if unit != "auto":
        return unit
    spans = [_time_span(group) for group in groups if group.n_rows]
    if not spans or spans[0].dtype.kind == "M":
        return "step"  # dates are what they are
    span = np.concatenate(spans)
    dated = settled([span], "auto")
    finer_first: tuple[TimeUnit, ...] = ("ns", "us", "ms", "s")
    for candidate in finer_first if dated.dtype.kind == "M" else ():
        if np.array_equal(settled([span], candidate), dated):
            return candidate
    return "step"


def _time_span(group: RowGroup) -> Any:
    """(2,) the first and the last time of a row group, from its footer if that says so."""
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
    return Piece(
        times=settled([piece.times], unit),
        rows=piece.rows,
        codes=piece.codes,
        values=piece.values,
        entities=piece.entities,
        notes=piece.notes,
    )
