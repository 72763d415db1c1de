"""Row groups of Parquet files, with the statistics from their footers.

In: a file and the parts of its columns. Out: row groups, and batches of their rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from smkc.parallel import n_threads
from smkc.recording.files import ParquetTable
from smkc.recording.layout import LongParts, WideParts


@dataclass(frozen=True, kw_only=True)
class RowGroup:
    """One row group of one file, with the smallest and the largest entity and time, if known."""

    table: ParquetTable
    number: int
    n_rows: int
    size: float
    parts: LongParts | WideParts
    entities: tuple[str, str] | None
    times: tuple[float, float] | None

    @property
    def name(self) -> str:
        """Name for messages."""
        return f"{self.table.name}, row group {self.number}"

    def may_hold(self, entities: frozenset[str]) -> bool:
        """Return whether rows of any of these entities may be in the row group."""
        if self.entities is None:
            return True
        first, last = self.entities
        return any(first <= entity <= last for entity in entities)

    def batches(
        self, columns: Sequence[str], n_rows: int, encode: Sequence[str] = ()
    ) -> Iterator[tuple[pa.RecordBatch, float]]:
        """Yield batches as the whole file does."""
        # Arrow's threads would compete with the other workers on a machine.
        use_threads = n_threads() > 1
        return self.table.batches(columns, n_rows, encode, self.number, use_threads)


def row_groups(table: ParquetTable, parts: LongParts | WideParts) -> list[RowGroup]:
    """Return the row groups of a file in order."""
    with pq.ParquetFile(table.path) as file:
        metadata = file.metadata
        found = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
        return [
            RowGroup(
                table=table,
                number=at,
                n_rows=group.num_rows,
                size=table.size * group.num_rows / max(metadata.num_rows, 1),
                parts=parts,
                entities=_span(group, parts.entity, str),
                times=_span(group, parts.time, int | float),
            )
            for at, group in enumerate(found)
        ]


def _span(metadata: Any, column: str | None, kind: Any) -> tuple[Any, Any] | None:
    """Return a column's smallest and largest value from a row group's footer, if of this kind."""
    for at in range(metadata.num_columns):
        found = metadata.column(at)
        if found.path_in_schema == column and found.statistics is not None:
            told = found.statistics
            return (told.min, told.max) if told.has_min_max and isinstance(told.min, kind) else None
    return None
