"""Joining: parts of scores -> one Parquet file, in order of entity and time.

In: where each entity's parts are. Out: a file with row groups of equal size, the same bytes however
the parts were cut; written whole or not at all.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["joined", "whole_file"]

# Rows of a row group of the output.
ROW_GROUP = 2**20


def joined(
    places: Sequence[tuple[str | None, list[tuple[Path, int]]]], target: Path, has_entities: bool
) -> bool:
    """Write all parts into one file with row groups of equal size; tell whether times are dates."""
    writer: pq.ParquetWriter | None = None
    waiting: list[pa.Table] = []
    n_waiting = 0
    schema: pa.Schema | None = None
    try:
        for name, parts in places:
            for path, at in parts:
                with pq.ParquetFile(path) as file:
                    table = file.read_row_group(at)
                if has_entities:
                    names = pa.array(np.repeat([str(name)], table.num_rows))
                    table = table.add_column(0, "entity", names)
                waiting.append(table)
                n_waiting += table.num_rows
                if writer is None:
                    schema = table.schema
                    writer = pq.ParquetWriter(target, schema)
                while n_waiting >= ROW_GROUP:
                    table = pa.concat_tables(waiting)
                    writer.write_table(table.slice(0, ROW_GROUP), row_group_size=ROW_GROUP)
                    waiting, n_waiting = [table.slice(ROW_GROUP)], n_waiting - ROW_GROUP
        if writer is not None and n_waiting:
            writer.write_table(pa.concat_tables(waiting), row_group_size=ROW_GROUP)
    finally:
        if writer is not None:
            writer.close()
    return schema is not None and pa.types.is_timestamp(schema.field("time").type)


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """Yield a draft beside the target, which takes its place once it is whole."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.draft")
    try:
        yield draft
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
