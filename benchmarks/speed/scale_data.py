"""Synthetic Parquet files of any size, written in pieces, and detectors fitted to similar data.

In: sizes. Out: a file sorted by time, long or wide; a fitted detector.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from smkc.base import BaseDetector
from smkc.loading import make_detector

START = np.datetime64("2026-01-05", "ns")
STEP = np.timedelta64(15, "s")
REFERENCE_ROWS = 3_000
CELLS_A_GROUP = 4_000_000


def names_of(n_variables: int) -> list[str]:
    """Return the names of V variables."""
    return [f"v{number:05d}" for number in range(n_variables)]


def values_of(
    first: int, n_rows: int, n_variables: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """(n, V) sine waves of various periods, with noise."""
    lengths = np.linspace(20, 200, n_variables, dtype=np.float32)
    rows = np.arange(first, first + n_rows, dtype=np.float32)[:, None]
    values: NDArray[np.float32] = np.sin(rows / lengths)
    values += 0.3 * rng.standard_normal(values.shape, np.float32)
    return values


def fitted(kind: str, n_variables: int) -> BaseDetector:
    """Return a detector fitted to rows that precede those of the file."""
    rng = np.random.default_rng(1)
    values = values_of(-REFERENCE_ROWS, REFERENCE_ROWS, n_variables, rng)
    times = START + np.arange(-REFERENCE_ROWS, 0) * STEP
    columns = dict(zip(names_of(n_variables), values.T, strict=True))
    return make_detector({"detector": kind}).fit({"time": times, **columns})


def write(path: Path, form: str, n_entities: int, n_rows: int, n_variables: int) -> None:
    """Write ``n_rows`` rows of ``n_variables`` for each entity, one row group at a time."""
    rng = np.random.default_rng(2)
    a_group = max(1, CELLS_A_GROUP // (n_variables * n_entities))
    writer: pq.ParquetWriter | None = None
    for first in range(0, n_rows, a_group):
        n = min(a_group, n_rows - first)
        times = np.repeat(START + np.arange(first, first + n) * STEP, n_entities)
        values = np.repeat(values_of(first, n, n_variables, rng), n_entities, axis=0)
        values += 0.1 * rng.standard_normal(values.shape, np.float32)
        hosts = np.tile(np.arange(n_entities, dtype=np.int32), n)
        about = [f"host-{number:05d}" for number in range(n_entities)]
        table = _table(form, times, values, hosts, about)
        if writer is None:
            texts = [name for name in ("host", "variable") if name in table.column_names]
            writer = pq.ParquetWriter(path, table.schema, use_dictionary=texts)
        writer.write_table(table, row_group_size=table.num_rows)
    assert writer is not None
    writer.close()


def _table(
    form: str,
    times: NDArray[np.datetime64],
    values: NDArray[np.float32],
    hosts: NDArray[np.int32],
    about: list[str],
) -> pa.Table:
    names = names_of(values.shape[1])
    if form == "wide":
        columns = {"time": times, "host": pa.DictionaryArray.from_arrays(hosts, about)}
        if len(about) == 1:
            del columns["host"]
        return pa.table({**columns, **dict(zip(names, values.T, strict=True))})
    n_rows, n_variables = values.shape
    codes = np.tile(np.arange(n_variables, dtype=np.int32), n_rows)
    columns = {
        "time": np.repeat(times, n_variables),
        "host": pa.DictionaryArray.from_arrays(np.repeat(hosts, n_variables), about),
        "variable": pa.DictionaryArray.from_arrays(codes, names),
        "value": values.ravel(),
    }
    if len(about) == 1:
        del columns["host"]
    return pa.table(columns)
