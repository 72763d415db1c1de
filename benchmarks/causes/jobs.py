"""Jobs of the cause benchmark: one method on one dataset, run once and saved to a file.

In: jobs and a folder. Out: a file per job with the top variables and services of every case, and
the shares of cases whose cause is among them.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.alerts.columns import each_recording, service_of
from benchmarks.causes.cases import DELAYS, Case, cases_of
from benchmarks.causes.methods import METHODS, rank_all, settings_of
from benchmarks.real.datasets import dataset
from benchmarks.real.plan import Column
from benchmarks.real.root_cause import chance_hit_rates, hit_rates
from benchmarks.report import strict_json, write_whole
from benchmarks.running import run_all

__all__ = ["LEVELS", "CauseJob", "Figures", "figures_of", "run_jobs"]

# Increase it when the same job would give other rankings, for example after a change of loading,
# cuts or services.
VERSION = 1

RANKS = (1, 2, 3, 4, 5)
LEVELS = ("metric", "service")

Figures = dict[str, float]  # by level and measure, such as "metric avg"


@dataclass(frozen=True)
class CauseJob:
    """One method on all recordings of a dataset."""

    method: str
    dataset: str

    def __str__(self) -> str:
        return f"{METHODS[self.method].name}, {self.dataset}"


def run_jobs(
    jobs: Sequence[CauseJob], folder: Path, *, processes: int = 1, stop_after: float | None = None
) -> int:
    """Run the jobs that have no rankings yet; return how many were not started."""
    missing = [job for job in jobs if _kept(job, folder) is None]
    return run_all(
        missing, partial(_run_job, folder=folder), processes=processes, stop_after=stop_after
    )


def figures_of(job: CauseJob, folder: Path) -> dict[int, Figures] | None:
    """Return a job's figures by delay in seconds; None if it has not run."""
    kept = _kept(job, folder)
    if kept is None:
        return None
    return {delay: _figures(kept[str(delay)]) for delay in DELAYS}


def ranked_services(names: Sequence[str], service: Callable[[str], str | None]) -> list[str]:
    """Return the services of ranked variables, each at the rank of its first variable.

    Examples
    --------
    >>> ranked_services(["web_cpu", "web_mem", "db_cpu"], lambda name: name.partition("_")[0])
    ['web', 'db']
    """
    return list(dict.fromkeys(found for name in names if (found := service(name)) is not None))


def _run_job(job: CauseJob, folder: Path) -> None:
    """Rank the variables of every case; save the top variables and services."""
    service = service_of(job.dataset)
    answers: dict[str, list[dict[str, Any]]] = {str(delay): [] for delay in DELAYS}
    for series in each_recording(Column(job.dataset)):
        cases = [(str(delay), case) for delay in DELAYS for case in cases_of(series, delay)]
        rankings = rank_all(METHODS[job.method], series, [case for _, case in cases])
        for (delay, case), names in zip(cases, rankings, strict=True):
            answers[delay].append(_answer(series.name, case, names, service))
    content = {"fingerprint": _fingerprint(job), "answers": answers}
    write_whole(_path(job, folder), strict_json(content))


def _answer(
    recording: str, case: Case, names: Sequence[str], service: Callable[[str], str | None]
) -> dict[str, Any]:
    """Return the top variables and services of one case, and the responsible ones."""
    known = case.tables.names
    return {
        "recording": recording,
        "start": case.event.start,
        "metric": list(names[: RANKS[-1]]),
        "service": ranked_services(names, service)[: RANKS[-1]],
        "guilty metric": sorted(case.event.variables),
        "guilty service": sorted(ranked_services(case.event.variables, service)),
        "n metric": len({*known, *case.event.variables}),
        "n service": len(ranked_services(known, service)),
    }


def _figures(answers: Sequence[Mapping[str, Any]]) -> Figures:
    """Return Avg@5 and top-1 at both levels, and the values expected by chance."""
    found: Figures = {"n": len(answers)}
    for level in LEVELS:
        some = [one for one in answers if one[f"guilty {level}"]]
        found |= {f"{level} {what}": nan for what in ("avg", "top", "chance avg", "chance top")}
        if some:
            guilty = [one[f"guilty {level}"] for one in some]
            hits = hit_rates([one[level] for one in some], guilty, ranks=RANKS)
            chance = chance_hit_rates([one[f"n {level}"] for one in some], guilty, ranks=RANKS)
            found[f"{level} avg"] = float(np.mean(list(hits.values())))
            found[f"{level} top"] = hits[1]
            found[f"{level} chance avg"] = float(np.mean(list(chance.values())))
            found[f"{level} chance top"] = chance[1]
    return found


def _path(job: CauseJob, folder: Path) -> Path:
    return folder / "rankings" / job.dataset / f"{job.method}.json"


def _kept(job: CauseJob, folder: Path) -> dict[str, Any] | None:
    """Return a job's answers by delay; None if there are none with its fingerprint."""
    try:
        content = json.loads(_path(job, folder).read_text(encoding="utf-8"))
        if content["fingerprint"] == _fingerprint(job):
            return dict(content["answers"])
    except (OSError, ValueError, KeyError, TypeError):
        pass  # not run yet, or the file is damaged: run it
    return None


def _fingerprint(job: CauseJob) -> str:
    """Return a digest of everything that determines a job's rankings."""
    facts = {
        "version": VERSION,
        "method": settings_of(METHODS[job.method]),
        "delays": DELAYS,
        "data": sorted(file.sha256 for file in dataset(job.dataset).files.values()),
        "service_before": dataset(job.dataset).service_before,
    }
    text = json.dumps(facts, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
