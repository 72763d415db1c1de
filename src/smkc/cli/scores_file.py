"""Scores into a file: a row a time step, as Parquet or CSV.

In: times and scores by entity. Out: a file with time, score, anomalous and, if split, entity.
"""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError

__all__ = ["StepScores", "check_suffix", "write_scores"]


@dataclass(frozen=True, kw_only=True)
class StepScores:
    """(T,) times and scores of one entity, and the threshold above which they are anomalous."""

    entity: str | None
    times: NDArray[Any]
    scores: NDArray[np.float64]
    threshold: float


def check_suffix(path: Path) -> None:
    """Refuse a file name that does not say Parquet or CSV, before any work is done."""
    if path.suffix.lower() not in (".parquet", ".csv"):
        raise InputError(f"--out {path}: call it NAME.parquet or NAME.csv")


def write_scores(path: Path, parts: Sequence[StepScores]) -> None:
    """Write the whole file or nothing."""
    import pyarrow
    from pyarrow import csv, parquet

    check_suffix(path)
    columns: dict[str, Any] = {}
    if any(part.entity is not None for part in parts):
        lengths = [len(part.times) for part in parts]
        columns["entity"] = np.repeat([str(part.entity) for part in parts], lengths)
    scores = np.concatenate([part.scores for part in parts])
    columns["time"] = np.concatenate([part.times for part in parts])
    columns["score"] = pyarrow.array(scores, mask=np.isnan(scores))
    with np.errstate(invalid="ignore"):
        columns["anomalous"] = np.concatenate(
            [(part.scores > part.threshold).astype(np.int8) for part in parts]
        )
    table = pyarrow.table(columns)
    if columns["time"].dtype.kind == "M":
        at = table.schema.get_field_index("time")
        stamps = table["time"].cast(pyarrow.timestamp("ns", tz="UTC"))
        table = table.set_column(at, "time", stamps)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=".scores-", suffix=path.suffix)
    os.close(handle)
    try:
        write = parquet.write_table if path.suffix.lower() == ".parquet" else csv.write_csv
        write(table, draft)
        os.chmod(draft, 0o644)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise
