"""Writing of datasets: Parquet files of a recording's parts, and CSV tables of events.

In: values by variable, times, labels. Out: files in the format that the benchmarks read.
"""

import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

__all__ = ["Columns", "observed", "span_labels", "write_csv", "write_part"]

Columns = dict[str, NDArray[np.float32]]


def observed(columns: Columns, rows: NDArray[np.bool_]) -> list[str]:
    """Return the variables that are observed in at least one of the rows, sorted."""
    return [name for name in sorted(columns) if np.isfinite(columns[name][rows]).any()]


def span_labels(times: NDArray[np.int64], spans: Sequence[tuple[float, float]]) -> NDArray[np.int8]:
    """Return (T,) labels: 1 from the start of each span up to but not including its end.

    Examples
    --------
    >>> span_labels(np.arange(0, 10, 2), [(2, 6)]).tolist()
    [0, 1, 1, 0, 0]
    """
    labels = np.zeros(len(times), np.int8)
    for start, end in spans:
        labels[(times >= start) & (times < end)] = 1
    return labels


def write_part(
    path: Path,
    columns: Columns,
    times: NDArray[np.int64],
    labels: NDArray[np.int8],
    rows: NDArray[np.bool_],
    compression_level: int = 19,
) -> None:
    """Write the rows of one part with the variables observed in it; print a summary."""
    names = observed(columns, rows)
    table = {
        "time": pa.array(times[rows]),
        **{name: pa.array(columns[name][rows], pa.float32(), from_pandas=True) for name in names},
        "label": pa.array(labels[rows]),
    }
    pq.write_table(
        pa.table(table),
        path,
        compression="zstd",
        compression_level=compression_level,
        write_statistics=False,
        store_schema=False,
    )
    present = np.sum([np.isfinite(columns[name][rows]) for name in names], axis=0)
    sys.stdout.write(
        f"{path.name}: {rows.sum()} rows, {len(names)} variables, {present.min()} to "
        f"{present.max()} at a time, {labels[rows].mean():.3f} anomalous, "
        f"{path.stat().st_size:,} bytes\n"
    )


def write_csv(path: Path, heads: str, rows: list[list[Any]]) -> None:
    """Write a table as CSV; ``heads`` are the column names, separated by spaces."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(heads.split())
        writer.writerows(rows)
