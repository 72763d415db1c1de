"""Reading of a recorder's dataset, for its check and its picture.

In: a folder. Out: columns over both parts, times, labels, events and routine changes.
"""

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tools.stack.dataset import Columns

__all__ = ["Dataset", "Event", "read_dataset"]


@dataclass(frozen=True, kw_only=True)
class Event:
    """A fault from start to end, in seconds since 1970, with its causes."""

    start: int
    end: int
    variables: tuple[str, ...]
    kind: str
    service: str
    part: str = "test"


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """Both parts of a recording, one after the other."""

    times: NDArray[np.int64]  # (T,) seconds since 1970
    labels: NDArray[np.int8]  # (T,)
    in_test: NDArray[np.bool_]  # (T,)
    columns: Columns
    events: tuple[Event, ...]
    routine: tuple[tuple[int, int, str, str], ...]
    machine: dict[str, Any]
    schedule: dict[str, Any]


def read_dataset(folder: Path, series: str) -> Dataset:
    """Read a dataset."""
    tables = [pq.read_table(folder / f"{series}.{part}.parquet") for part in ("train", "test")]
    counts = [table.num_rows for table in tables]
    times = np.concatenate([table["time"].to_numpy() for table in tables])
    labels = np.concatenate([table["label"].to_numpy() for table in tables])
    columns: Columns = {}
    for table, start in zip(tables, (0, counts[0]), strict=True):
        for name in table.column_names:
            if name not in ("time", "label"):
                column = columns.setdefault(name, np.full(len(times), np.nan, np.float32))
                column[start : start + table.num_rows] = table[name].to_numpy()
    return Dataset(
        times=times,
        labels=labels,
        in_test=np.arange(len(times)) >= counts[0],
        columns=columns,
        events=tuple(
            Event(
                start=int(row["start"]),
                end=int(row["end"]),
                variables=tuple(row["variables"].split()),
                kind=row["kind"],
                service=row["service"],
                part=row["part"],
            )
            for row in _rows(folder / "events.csv")
        ),
        routine=tuple(
            (int(row["start"]), int(row["end"]), row["kind"], row["service"])
            for row in _rows(folder / "routine.csv")
        ),
        machine=json.loads((folder / "machine.json").read_text(encoding="utf-8")),
        schedule=json.loads((folder / "schedule.json").read_text(encoding="utf-8")),
    )


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
