"""Row groups of Parquet files, with the statistics from their footers.

In: a file and the parts of its columns. Out: row groups, and batches of their rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from smkc.errors import ReadError
from smkc.parallel import n_threads
from smkc.recording.columns import kind_of
from smkc.recording.files import ParquetTable
from smkc.recording.gather import batch_form
from smkc.recording.layout import LongParts, WideParts


@dataclass(frozen=True, kw_only=True)
class RowGroup:
    """One row group of one file."""

    path: str
    number: int
    n_rows: int
    size: float
    parts: LongParts | WideParts
    encoded: tuple[str, ...]
    about: tuple[str, str] | None  # the smallest and largest entity name, if known

    def may_hold(self, entities: frozenset[str]) -> bool:
        """Return whether rows of any of these entities may be in the row group."""
        if self.about is None:
            return True
        first, last = self.about
        return any(first <= entity <= last for entity in entities)


def row_groups(table: ParquetTable, path: str, parts: LongParts | WideParts) -> list[RowGroup]:
    """Return the row groups of a file in order; ``path`` must be valid for every worker."""
    _, _, encode = batch_form(parts)
    encoded = tuple(name for name in encode if kind_of(table.schema.field(name).type) == "text")
    with pq.ParquetFile(table.name) as file:
        metadata = file.metadata
        return [
            RowGroup(
                path=path,
                number=at,
                n_rows=metadata.row_group(at).num_rows,
                size=table.size * metadata.row_group(at).num_rows / max(metadata.num_rows, 1),
                parts=parts,
                encoded=encoded,
                about=_text_span(metadata.row_group(at), parts.entity),
            )
            for at in range(metadata.num_row_groups)
        ]


def told_of(metadata: Any, column: str | None) -> Any:
    """Return the statistics of a column in a row group's footer; None without min and max."""
    for at in range(metadata.num_columns):
        found = metadata.column(at)
        if found.path_in_schema == column and found.statistics is not None:
            return found.statistics if found.statistics.has_min_max else None
    return None


def _text_span(metadata: Any, column: str | None) -> tuple[str, str] | None:
    told = told_of(metadata, column)
    return (told.min, told.max) if told is not None and isinstance(told.min, str) else None


def batches_of(
    group: RowGroup, columns: Sequence[str], n_rows: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield batches of one row group, each with the number of its first row there."""
    first = 0
    encoded = [name for name in group.encoded if name in columns]
    try:
        with pq.ParquetFile(group.path, read_dictionary=encoded, pre_buffer=False) as file:
            # Arrow's threads would compete with the other workers on a machine.
            for batch in file.iter_batches(
                n_rows,
                row_groups=[group.number],
                columns=list(columns),
                use_threads=n_threads() > 1,
            ):
                batch.validate(full=True)
                yield first, batch.select(list(columns))
                first += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        detail = str(error).strip().rstrip(".")
        raise ReadError(
            f"{named(group)} cannot be read: {detail}. Check that the file is complete and has "
            "not changed"
        ) from error


def named(group: RowGroup) -> str:
    """Return the name of a row group for messages."""
    return f"{group.path}, row group {group.number}"
