"""Jobs of the alert benchmark: one method on one column, run once and saved to a file.

In: jobs and a folder. Out: a file of scores and alerts for every job that had none, and a file of
its measures beside it.
"""

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite, nan
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.alerts.columns import DEMO, DEMO_SEEDS, each_recording, service_of, truths
from benchmarks.alerts.measures import FoundAlert, measure
from benchmarks.alerts.methods import Method, method_of
from benchmarks.provenance import code_commit
from benchmarks.real.datasets import dataset, recording_name
from benchmarks.real.plan import Column
from benchmarks.real.scores import Scores, has_scores, read_scores, write_scores
from benchmarks.report import write_whole
from benchmarks.running import run_all
from smkc.errors import InputError, SmkcError

__all__ = ["AlertJob", "fingerprint", "job_path", "measured", "run_jobs"]

# Increase it when the same job would give other scores or alerts, for example after a change of
# loading, dates or calibration.
VERSION = 1

# Increase it when the same scores and alerts would give other measures.
MEASURES_VERSION = 2

LARGEST = float(np.finfo(np.float32).max)

Measures = Mapping[str, Mapping[str, float]]  # for each recording, figures by name


@dataclass(frozen=True)
class AlertJob:
    """One method on all recordings of a column."""

    method: str
    column: Column

    @property
    def row(self) -> Method:
        """The method."""
        return method_of(self.method)

    def __str__(self) -> str:
        return f"{self.row.name}, {self.column}"


def job_path(folder: Path, job: AlertJob) -> Path:
    """Return the path of a job's scores and alerts."""
    column = recording_name(job.column.dataset) + (
        "" if job.column.churn == "none" else f"-{job.column.churn}"
    )
    return folder / "scores" / column / f"{job.method}.parquet"


def fingerprint(job: AlertJob) -> str:
    """Return a digest of everything that determines a job's scores and alerts."""
    name = job.column.dataset
    facts: dict[str, Any] = {
        "version": VERSION,
        "method": job.row.settings(),
        "churn": job.column.churn,
        "data": DEMO_SEEDS
        if name == DEMO
        else sorted(file.sha256 for file in dataset(name).files.values()),
    }
    text = json.dumps(facts, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def run_jobs(
    jobs: Sequence[AlertJob],
    folder: Path,
    *,
    processes: int = 1,
    stop_after: float | None = None,
) -> int:
    """Run the jobs that have no scores and alerts yet; return how many were not started."""
    missing = [job for job in jobs if not has_scores(job_path(folder, job), fingerprint(job))]
    return run_all(
        missing, partial(_run_job, folder=folder), processes=processes, stop_after=stop_after
    )


def measured(job: AlertJob, folder: Path) -> Measures | None:
    """Return a job's measures, saved or computed from its file; None if it has not run."""
    path, digest = job_path(folder, job), fingerprint(job)
    beside = path.with_suffix(".json")
    key = {"version": MEASURES_VERSION, "fingerprint": digest}
    try:
        kept = json.loads(beside.read_text(encoding="utf-8"))
        if all(kept[name] == value for name, value in key.items()):
            return {
                name: {what: nan if value is None else value for what, value in figures.items()}
                for name, figures in kept["recordings"].items()
            }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass  # no saved measures, or of other scores: compute them
    scores = read_scores(path, digest)
    if scores is None:
        return None
    found = _measures(job, scores)
    told = {
        name: {what: value if isfinite(value) else None for what, value in figures.items()}
        for name, figures in found.items()
    }
    write_whole(beside, json.dumps({**key, "recordings": told}, indent=1) + "\n")
    return found


def _run_job(job: AlertJob, folder: Path) -> None:
    """Run one method on all recordings of a column; save scores and alerts, then measures."""
    started = time.process_time()
    scores, alerts = {}, {}
    for series in each_recording(job.column):
        try:
            given, found = job.row.judge(series)
        except SmkcError:
            raise
        except Exception as error:  # raised by another library
            raise InputError(f"{series.key}: {type(error).__name__}: {error}") from error
        scores[series.name] = np.clip(given, -LARGEST, LARGEST).astype(np.float32)
        alerts[series.name] = [[one.first, one.last, list(one.names)] for one in found]
    made = {
        "fingerprint": fingerprint(job),
        "commit": code_commit(),
        "cpu_seconds": round(time.process_time() - started, 3),
        "alerts": alerts,
    }
    write_scores(job_path(folder, job), Scores(scores, made))
    measured(job, folder)


def _measures(job: AlertJob, scores: Scores) -> dict[str, dict[str, float]]:
    service = service_of(job.column.dataset)
    by_name = scores.made["alerts"]
    # Naming is not measured for methods that never name a variable.
    names_any = any(names for alerts in by_name.values() for _, _, names in alerts)
    return {
        name: measure(
            truth if names_any else replace(truth, guilty=()),
            [FoundAlert(first, last, tuple(names)) for first, last, names in alerts],
            scores.of_series[name],
            service,
        )
        for name, truth in truths(job.column.dataset).items()
        if (alerts := by_name.get(name)) is not None
    }
