"""Score files: one fitted method's scores of all test windows, saved before metrics are computed.

In: a job and its scores. Out: one Parquet file per job, which is read again unless the job's
settings or the code have changed.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.paper.budget import Budget
from benchmarks.paper.methods import ROWS, Method
from benchmarks.world import find_world

__all__ = ["MAIN_RATE", "Job", "Scores", "fingerprint", "read_scores", "write_scores"]

# The anomaly rate of every table except the rate table.
MAIN_RATE = 0.10

# Increase it whenever a change of the generator, a method or a definition changes scores.
VERSION = 1

_METADATA = b"smkc"


@dataclass(frozen=True, kw_only=True)
class Job:
    """One method, fitted once, on all its test sets.

    Parameters
    ----------
    method, protocol, world
        their keys.
    seed
        seed of the windows and of the method.
    length, buckets
        L and m.
    rates
        anomaly rates of the test sets.
    """

    method: str
    protocol: str
    seed: int
    world: str = "paper"
    length: int = 32
    buckets: int = 128
    rates: tuple[float, ...] = (MAIN_RATE,)

    @property
    def row(self) -> Method:
        """The method, as an object."""
        return ROWS[self.method]

    @property
    def path(self) -> Path:
        """Path of its score file, relative to the folder of a budget's scores."""
        setting = f"{self.world}-{self.protocol}-L{self.length}-m{self.buckets}"
        return Path(setting, self.method, f"seed{self.seed}.parquet")

    def __str__(self) -> str:
        return f"{self.row.name}, {self.protocol}, seed {self.seed}"


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of N test windows: (N,) cardinality, rate, kind and score, and their provenance."""

    cardinalities: NDArray[np.int8]
    rates: NDArray[np.float32]
    kinds: NDArray[np.int8]
    scores: NDArray[np.float32]
    made: Mapping[str, Any]

    def test_set(
        self, cardinality: int, rate: float
    ) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """Return (B,) kinds and (B,) scores of one test set."""
        chosen = (self.cardinalities == cardinality) & (self.rates == np.float32(rate))
        return self.kinds[chosen], self.scores[chosen]


def fingerprint(job: Job, budget: Budget) -> str:
    """Return a digest of a job's settings, without the code and the device.

    The digest of the code is stored separately, in a score file's field ``code``.
    """
    facts: dict[str, Any] = {
        "version": VERSION,
        "job": asdict(job),
        "world": asdict(find_world(job.world)),
        "sizes": asdict(budget.sizes),
    }
    if job.row.is_trained:
        facts["training"] = [budget.epochs, budget.patience, budget.batch_size]
    text = json.dumps(facts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def write_scores(path: Path, scores: Scores) -> None:
    """Write a score file atomically."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(
        {
            "cardinality": scores.cardinalities,
            "rate": scores.rates,
            "kind": scores.kinds,
            "score": scores.scores,
        }
    ).replace_schema_metadata({_METADATA: json.dumps(dict(scores.made), sort_keys=True)})
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    pq.write_table(table, unfinished, compression="zstd", compression_level=19)
    unfinished.replace(path)


def read_scores(path: Path, expected: str, code: str | None = None) -> Scores | None:
    """Return the scores in a file; None if it is missing, damaged or has another fingerprint.

    Also return None if the file was made by code other than ``code``, unless ``code`` is None.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
        made = json.loads(table.schema.metadata[_METADATA])
        if made["fingerprint"] != expected or code not in (None, made.get("code")):
            return None
        return Scores(
            table["cardinality"].to_numpy().astype(np.int8, copy=False),
            table["rate"].to_numpy().astype(np.float32, copy=False),
            table["kind"].to_numpy().astype(np.int8, copy=False),
            table["score"].to_numpy().astype(np.float32, copy=False),
            made,
        )
    except (FileNotFoundError, KeyError, TypeError, ValueError, pa.ArrowException):
        return None  # missing or damaged: the job is run again
