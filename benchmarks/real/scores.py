"""Score files: one method's scores of every test row of a dataset under one condition.

In: a job and its scores. Out: one Parquet file per job, written before any metric is computed, and
used again until anything that determines the scores changes.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.real.budget import Budget
from benchmarks.real.condition import PARTS, Condition
from benchmarks.real.datasets import Dataset, dataset
from benchmarks.real.methods import METHODS, Method

__all__ = ["Job", "Scores", "fingerprint", "has_scores", "read_scores", "write_scores"]

# Increase it when the same job would give other scores, for example after a change of churn, drift
# or loading.
VERSION = 1

_METADATA = b"smkc"


@dataclass(frozen=True, kw_only=True)
class Job:
    """One method on all recordings of a dataset under one condition.

    Parameters
    ----------
    method, dataset
        key of the method, and name of the dataset.
    condition
        churn, drift and mode; its seed is also the method's seed.
    """

    method: str
    dataset: str
    condition: Condition

    @property
    def row(self) -> Method:
        """The method."""
        return METHODS[self.method]

    @property
    def about(self) -> Dataset:
        """The dataset."""
        return dataset(self.dataset)

    @property
    def path(self) -> Path:
        """Path of its scores, relative to the folder of a budget's scores."""
        return Path(str(self.condition), self.dataset, f"{self.method}.parquet")

    def __str__(self) -> str:
        return f"{self.row.name}, {self.dataset}, {self.condition}"


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of a dataset: (T,) per recording, by name, and how they were made."""

    of_series: Mapping[str, NDArray[np.float32]]
    made: Mapping[str, Any]


def fingerprint(job: Job, budget: Budget) -> str:
    """Return a digest of everything that determines a job's scores."""
    facts: dict[str, Any] = {
        "version": VERSION,
        "method": job.row.settings(job.condition.seed),
        "condition": asdict(job.condition),
        "parts": PARTS if job.condition.prequential else None,
        "files": sorted(file.sha256 for file in job.about.files.values()),
        "cut": [budget.most_series, budget.reference_rows, budget.test_rows],
    }
    text = json.dumps(facts, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def write_scores(path: Path, scores: Scores) -> None:
    """Write a score file atomically."""
    lengths = [len(values) for values in scores.of_series.values()]
    names = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    table = pa.table(
        {
            "series": pa.DictionaryArray.from_arrays(
                pa.array(names), pa.array(list(scores.of_series), pa.string())
            ),
            "row": np.concatenate([np.arange(n, dtype=np.int32) for n in lengths]),
            "score": np.concatenate(list(scores.of_series.values())).astype(np.float32),
        }
    ).replace_schema_metadata({_METADATA: json.dumps(dict(scores.made), sort_keys=True)})
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        pq.write_table(table, unfinished, compression="zstd", compression_level=9)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def has_scores(path: Path, expected: str) -> bool:
    """Tell whether a score file exists and has this fingerprint."""
    try:
        metadata = pq.read_metadata(path).metadata
        return bool(json.loads(metadata[_METADATA])["fingerprint"] == expected)
    except (OSError, KeyError, TypeError, ValueError, pa.ArrowException):
        return False


def read_scores(path: Path, expected: str) -> Scores | None:
    """Return a job's scores; None if there are none with this fingerprint."""
    if not has_scores(path, expected):
        return None
    try:
        table = pq.read_table(path)
    except (OSError, ValueError, pa.ArrowException):
        return None
    made = json.loads(table.schema.metadata[_METADATA])
    series = table["series"].combine_chunks().dictionary_decode().to_numpy(zero_copy_only=False)
    scores = table["score"].to_numpy()
    starts = np.flatnonzero(np.append(True, series[1:] != series[:-1]))
    return Scores(
        {
            str(series[first]): part
            for first, part in zip(starts, np.split(scores, starts[1:]), strict=True)
        },
        made,
    )
