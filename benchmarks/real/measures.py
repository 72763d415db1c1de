"""Metrics of score files, recording by recording, saved as JSON.

In: a job and its scores. Out: every metric of every recording. Metrics need only the score files
and the labels of the dataset, so they can be computed again.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from math import isfinite, nan
from pathlib import Path
from typing import Any

from benchmarks.real.budget import Budget
from benchmarks.real.datasets import dataset
from benchmarks.real.events import detection, filled_scores, step_metrics
from benchmarks.real.load import load_series
from benchmarks.real.root_cause import chance_hit_rates, hit_rates
from benchmarks.real.scores import Job, Scores
from benchmarks.real.series import Series
from benchmarks.real.vus import DEFINITIONS, vus_pr
from benchmarks.report import write_whole

__all__ = [
    "BLAME_DATASET",
    "METRICS",
    "Measured",
    "blamed_events",
    "measure",
    "read_measured",
    "truth",
    "write_measured",
]

# Increase it when the same scores would give other metrics.
VERSION = 1

METRICS: Mapping[str, str] = {
    "vus_tsb_ad": "VUS-PR, tsb_ad",
    "vus_vldb22": "VUS-PR, vldb22",
    "auprc": "AUC-PR",
    "auroc": "AUROC",
    "recall": "event recall at one false alarm per 1,000 steps",
    "delay": "steps to detection, median of the events found",
}

# The dataset that names the responsible variables of each event, not just a pod or a node.
BLAME_DATASET = "smd"


@dataclass(frozen=True, kw_only=True, eq=False)
class Measured:
    """Metrics of one job's scores.

    Parameters
    ----------
    of_series
        metrics and counts by name, for each recording.
    hits
        for each k, the share of events with a responsible variable among the first k named, and
        the share expected by chance; None if no variables were named.
    cpu_seconds
        processor time of fitting and scoring.
    commit
        commit of the code that made the scores.
    """

    of_series: Mapping[str, Mapping[str, float]]
    hits: Mapping[str, Mapping[str, float]] | None = None
    cpu_seconds: float = nan
    commit: str = ""


def truth(name: str, budget: Budget) -> tuple[Series, ...]:
    """Return a dataset's recordings without churn or drift, shortened to a budget."""
    return _truth(name, budget)


@lru_cache(maxsize=16)
def _truth(name: str, budget: Budget) -> tuple[Series, ...]:
    about = dataset(name)
    chosen = about.series[: budget.most_series]
    return tuple(budget.shortened(load_series(about, parts.name)) for parts in chosen)


def blamed_events(series: Series) -> list[tuple[int, int, tuple[str, ...]]]:
    """Return first row, row after the last and variables of events with known variables."""
    return [
        (event.start, event.stop, event.variables) for event in series.events if event.variables
    ]


def measure(job: Job, scores: Scores, budget: Budget) -> Measured:
    """Compute every metric of a job's scores."""
    window = job.about.vus_window
    recordings = truth(job.dataset, budget)
    found: dict[str, dict[str, float]] = {}
    for series in recordings:
        given, n_unscored = filled_scores(scores.of_series[series.name])
        values: dict[str, float] = {
            f"vus_{each}": vus_pr(series.labels, given, definition=each, window=window)
            for each in DEFINITIONS
        }
        steps, events = step_metrics(series.labels, given), detection(series.labels, given)
        values |= {"auprc": steps.auprc, "auroc": steps.auroc, "recall": events.recall}
        values |= {"delay": events.delay, "n_events": events.n_events, "n_unscored": n_unscored}
        found[series.name] = values
    return Measured(
        of_series=found,
        hits=_hits(recordings, scores.made.get("named")),
        cpu_seconds=scores.made["cpu_seconds"],
        commit=scores.made["commit"],
    )


def _hits(
    recordings: Sequence[Series], named: Mapping[str, Sequence[Sequence[str]]] | None
) -> dict[str, dict[str, float]] | None:
    """Return hit rates over the events of all recordings, as measured and by chance."""
    if named is None:
        return None
    names: list[Sequence[str]] = []
    responsible: list[Sequence[str]] = []
    n_variables: list[int] = []
    for series in recordings:
        events = blamed_events(series)
        names += named[series.name]
        responsible += [variables for _, _, variables in events]
        n_variables += [len(series.test.names)] * len(events)
    if not responsible:
        return None
    ours, chance = hit_rates(names, responsible), chance_hit_rates(n_variables, responsible)
    return {
        "named": {str(k): rate for k, rate in ours.items()},
        "chance": {str(k): rate for k, rate in chance.items()},
        "events": {"n": len(responsible)},
    }


def write_measured(path: Path, measured: Measured, fingerprint: str) -> None:
    """Save metrics with the fingerprint of their scores."""
    write_whole(path, json.dumps(as_entry(measured, fingerprint)) + "\n")


def read_measured(path: Path, fingerprint: str) -> Measured | None:
    """Return a job's saved metrics; None if there are none with this fingerprint."""
    try:
        return from_entry(json.loads(path.read_text(encoding="utf-8")), fingerprint)
    except (OSError, ValueError):
        return None


def as_entry(measured: Measured, fingerprint: str) -> dict[str, Any]:
    """Return a job's metrics as data for JSON; NaN becomes None."""
    told = asdict(measured)
    told["of_series"] = {
        name: {metric: _rounded(value) for metric, value in values.items()}
        for name, values in measured.of_series.items()
    }
    return {"version": VERSION, "fingerprint": fingerprint, **told}


def from_entry(entry: Any, fingerprint: str) -> Measured | None:
    """Return the metrics that :func:`as_entry` wrote; None if the fingerprint differs."""
    try:
        if (entry["version"], entry["fingerprint"]) != (VERSION, fingerprint):
            return None
        of_series = {
            name: {metric: nan if value is None else value for metric, value in values.items()}
            for name, values in entry["of_series"].items()
        }
        rest = {key: entry[key] for key in ("hits", "cpu_seconds", "commit")}
        return Measured(of_series=of_series, **rest)
    except (AttributeError, KeyError, TypeError):
        return None


def _rounded(value: float) -> float | None:
    return round(float(value), 6) if isfinite(value) else None
