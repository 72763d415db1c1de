"""The record: ranks of the scores behind the published tables, in a few small files.

In: jobs and their scores. Out: one Parquet file per group of tables, from which the same tables can
be made again. Runs write larger score files elsewhere, which are not kept.
"""

import base64
import json
import os
import shutil
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.paper.budget import Budget
from benchmarks.paper.methods import ABLATIONS, ROWS, SCALING_METHODS, TUNED_ABLATIONS
from benchmarks.paper.scores import MAIN_RATE, Job, Scores, fingerprint
from smkc.errors import InputError, ReadError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["check_record", "file_of", "read_recorded", "write_record"]

_METADATA = b"smkc"

# Number of buckets in every table except the hash-width table.
MAIN_BUCKETS = 128

SETTING = ("protocol", "length", "buckets", "seed")

# Columns of a file that are not ranks.
ABOUT_WINDOW = (*SETTING, "rate", "cardinality", "kind")


@dataclass(frozen=True)
class _File:
    """One file: a row per test window, a column of ranks per method, and facts about each job."""

    table: "pa.Table"
    budget: str
    jobs: Mapping[str, Mapping[str, Any]]  # by the path of the score file

    def scores(self, key: str) -> Scores:
        """Return a job's scores, with ranks in place of the scores themselves."""
        import pyarrow.compute as pc

        entry = self.jobs[key]
        job = entry["job"]
        chosen = pc.is_valid(self.table[job["method"]])
        for name in SETTING:
            chosen = pc.and_(chosen, pc.equal(self.table[name], job[name]))
        rows = self.table.filter(chosen)
        return Scores(
            rows["cardinality"].to_numpy().astype(np.int8),
            rows["rate"].to_numpy().astype(np.float32),
            rows["kind"].to_numpy().astype(np.int8),
            rows[job["method"]].to_numpy().astype(np.float32),
            entry["made"],
        )


def file_of(job: Job) -> str:
    """Return the name of the file that holds a job, named after the tables that read it.

    The hash-width table reads its row m = 128 from ``main``.

    Examples
    --------
    >>> file_of(Job(method="lof", protocol="in_dist_C", seed=0, world="drift"))
    'main-drift.parquet'
    """
    if job.method in ABLATIONS | TUNED_ABLATIONS:
        name = "ablation"
    elif job.method in SCALING_METHODS:
        name = "scaling"
    else:
        name = "main" if job.buckets == MAIN_BUCKETS else "hash-width"
    return f"{name}.parquet" if job.world == "paper" else f"{name}-{job.world}.parquet"


def check_record(folder: Path) -> None:
    """Raise an error if a folder holds no record."""
    if not any(folder.glob("*.parquet")):
        raise ReadError(f"{folder} holds no recorded scores; name a folder that --record wrote")


def read_recorded(folder: Path, job: Job, expected: str) -> Scores | None:
    """Return a job's recorded ranks as its scores; None if there are none with this fingerprint.

    Every metric, interval and test of the tables depends only on the order of scores within a test
    set, so ranks give the same figures. The version of the code is recorded but not checked.
    """
    file = _opened(folder / file_of(job))
    entry = None if file is None else file.jobs.get(job.path.as_posix())
    if file is None or entry is None or entry["made"]["fingerprint"] != expected:
        return None
    return file.scores(job.path.as_posix())


def write_record(
    folder: Path, found: Mapping[Job, Scores], budget: Budget, timings: Iterable[Path] = ()
) -> list[Path]:
    """Write scores and measured times into a record; return its files.

    Scores of other jobs in the record are kept if their fingerprint is still valid. For worlds
    other than the paper's, only the main anomaly rate is recorded: no rate table is published.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in sorted({file_of(job) for job in found}):
        new = {job: _shown(job, scores) for job, scores in found.items() if file_of(job) == name}
        path = folder / name
        _write(path, _kept(path, budget, new) | new, budget)
        written.append(path)
    return written + [Path(shutil.copy(path, folder / path.name)) for path in sorted(timings)]


def _shown(job: Job, scores: Scores) -> Scores:
    """Return the scores of the windows that published tables use."""
    if job.world == "paper":
        return scores
    chosen = scores.rates == np.float32(MAIN_RATE)
    return replace(
        scores,
        cardinalities=scores.cardinalities[chosen],
        rates=scores.rates[chosen],
        kinds=scores.kinds[chosen],
        scores=scores.scores[chosen],
    )


def _kept(path: Path, budget: Budget, new: Mapping[Job, Scores]) -> dict[Job, Scores]:
    """Return a file's scores of jobs that are not replaced and whose fingerprint is valid."""
    file = _opened(path)
    if file is None:
        return {}
    if file.budget != budget.name:
        raise InputError(
            f"{path} records the budget {file.budget!r}, not {budget.name!r}; "
            "choose another folder for --record"
        )
    replaced = {job.path for job in new}
    kept = {}
    for key, entry in file.jobs.items():
        job = _job(entry)
        is_known = job.method in ROWS
        if job.path in replaced or not is_known:
            continue
        if entry["made"]["fingerprint"] == fingerprint(job, budget):
            kept[job] = file.scores(key)
    return kept


def _write(path: Path, found: Mapping[Job, Scores], budget: Budget) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    jobs = sorted(found, key=lambda job: (_setting(job), job.method))
    by_setting: dict[tuple[Any, ...], dict[str, Scores]] = {}
    for job in jobs:
        by_setting.setdefault(_setting(job), {})[job.method] = found[job]
    tests = {setting: _same_windows(path, each) for setting, each in by_setting.items()}
    sizes = [len(test.kinds) for test in tests.values()]
    columns: dict[str, Any] = {
        name: np.repeat([setting[at] for setting in tests], sizes)
        for at, name in enumerate(SETTING)
    }
    columns["rate"] = np.concatenate([test.rates for test in tests.values()])
    columns["cardinality"] = np.concatenate([test.cardinalities for test in tests.values()])
    columns["kind"] = np.concatenate([test.kinds for test in tests.values()])
    for method in sorted({job.method for job in jobs}):
        parts = [
            pa.array(_ranks(by_setting[setting][method]))
            if method in by_setting[setting]
            else pa.nulls(size, pa.uint16())
            for setting, size in zip(tests, sizes, strict=True)
        ]
        columns[method] = pa.chunked_array(parts, pa.uint16())
    about = {
        "budget": budget.name,
        "jobs": [{"job": asdict(job), "made": dict(found[job].made)} for job in jobs],
    }
    table = pa.table(columns)
    ranked = [name for name in columns if name not in ABOUT_WINDOW]
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        # Metadata is added separately: metadata of a schema would be stored twice.
        with pq.ParquetWriter(
            unfinished,
            table.schema,
            compression="zstd",
            compression_level=19,
            store_schema=False,
            # Ranks rarely repeat, so a dictionary would not make them smaller.
            use_dictionary=list(ABOUT_WINDOW),
            column_encoding=dict.fromkeys(ranked, "BYTE_STREAM_SPLIT"),
        ) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata({_METADATA: _packed(about)})
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _packed(about: Mapping[str, Any]) -> bytes:
    """Return a mapping as JSON, compressed by zlib, in base64."""
    return base64.b64encode(zlib.compress(json.dumps(about).encode(), 9))


def _unpacked(text: bytes) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(text, validate=True)))


def _job(entry: Mapping[str, Any]) -> Job:
    return Job(**{**entry["job"], "rates": tuple(entry["job"]["rates"])})


def _setting(job: Job) -> tuple[Any, ...]:
    return tuple(getattr(job, name) for name in SETTING)


def _same_windows(path: Path, by_method: Mapping[str, Scores]) -> Scores:
    """Return the first method's scores; raise if others were scored on different windows."""
    first, *others = by_method.values()
    for scores in others:
        for name in ("cardinalities", "rates", "kinds"):
            if not np.array_equal(getattr(scores, name), getattr(first, name)):
                raise InputError(
                    f"{path}: {', '.join(by_method)} were scored on different windows; run them "
                    "again with the same code"
                )
    return first


def _ranks(scores: Scores) -> NDArray[np.uint16]:
    """(N,) rank of each score among the distinct scores of its test set, the lowest being 0."""
    if np.isnan(scores.scores).any():
        raise InputError("scores that are NaN have no rank; mend the method and run it again")
    ranks = np.empty(len(scores.scores), np.uint16)
    tests = np.stack([scores.rates, scores.cardinalities], axis=1)
    for rate, cardinality in np.unique(tests, axis=0):
        chosen = (scores.rates == rate) & (scores.cardinalities == cardinality)
        distinct, places = np.unique(scores.scores[chosen], return_inverse=True)
        if len(distinct) > np.iinfo(np.uint16).max:
            raise InputError(f"{len(distinct)} distinct scores in a test set; 65535 can be kept")
        ranks[chosen] = places
    return ranks


def _opened(path: Path) -> _File | None:
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        return None
    return _read(path, changed)


@lru_cache(maxsize=8)
def _read(path: Path, changed: int) -> _File:
    """Read a file; cached for all of its jobs until ``changed``, its time of change, differs."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
        about = _unpacked(table.schema.metadata[_METADATA])
        jobs = {_job(entry).path.as_posix(): entry for entry in about["jobs"]}
        return _File(table, about["budget"], jobs)
    except (OSError, KeyError, TypeError, ValueError, zlib.error, pa.ArrowException) as error:
        raise ReadError(
            f"{path} holds no recorded scores ({type(error).__name__}: {error}); "
            "take it from the repository again"
        ) from error
