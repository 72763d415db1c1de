"""The plan of the real-data benchmark: its jobs, and their metrics for the tables.

In: settings, methods, datasets, seeds and conditions. Out: jobs, the important ones first, and
figures by method, dataset and condition.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.real.churn import LEVELS
from benchmarks.real.condition import Condition
from benchmarks.real.datasets import dataset, dataset_names, recording_name
from benchmarks.real.jobs import RunSettings
from benchmarks.real.measures import Measured
from benchmarks.real.methods import STAGES, Method
from benchmarks.real.scores import Job
from benchmarks.table import Cell

__all__ = [
    "DRIFTS",
    "MODES",
    "Column",
    "Figures",
    "Plan",
    "by_value",
    "mean_cell",
    "mean_name",
    "stage_of",
]

DRIFTS = {"still": False, "drift": True}
MODES = {"static": False, "prequential": True}


@dataclass(frozen=True)
class Column:
    """A column of the main table: a dataset, as recorded or under churn."""

    dataset: str
    churn: str = "none"

    def __str__(self) -> str:
        name = recording_name(self.dataset)
        return name if self.churn == "none" else f"{name}, {self.churn} churn"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Methods, datasets and conditions to run, and how to run them.

    Parameters
    ----------
    settings
        budget, folder and processes.
    methods
        rows of the tables.
    datasets
        names of datasets.
    seeds
        number of seeds of churn, drift and random methods.
    churn, drift, modes
        conditions: levels of churn, whether there is drift, whether runs are prequential.
    """

    settings: RunSettings
    methods: Sequence[Method]
    datasets: Sequence[str] = field(default_factory=dataset_names)
    seeds: int = 1
    churn: Sequence[str] = tuple(LEVELS)
    drift: Sequence[bool] = (False, True)
    modes: Sequence[bool] = (False, True)

    @property
    def columns(self) -> list[Column]:
        """Columns that the main mean is over: datasets, and under full churn those that take it.

        Datasets with ``is_beside`` are left out, unless the plan has no others.
        """
        return self._columns([name for name in self.datasets if name not in self._beside])

    @property
    def beside(self) -> list[Column]:
        """Columns that the main mean leaves out."""
        return self._columns(self._beside)

    @property
    def means(self) -> dict[str, list[Column]]:
        """Columns of every mean of the main table, by heading; the main mean is among them.

        The means are over the columns of the datasets that run unless others are named, over
        ``columns``, over these and the public ones of ``beside``, and over the project's own.
        """
        main, beside = self.columns, self.beside
        ranked = [column for column in main if dataset(column.dataset).is_ranked]
        own = [column for column in beside if dataset(column.dataset).ships]
        public = [*main, *(column for column in beside if column not in own)]
        found = {mean_name(len(one)): one for one in (ranked, main, public) if one}
        return found | ({f"{mean_name(len(own))} of our own": own} if len(own) > 1 else {})

    @property
    def _beside(self) -> list[str]:
        names = [name for name in self.datasets if dataset(name).is_beside]
        return names if len(names) < len(self.datasets) else []

    def _columns(self, names: Sequence[str]) -> list[Column]:
        levels = [churn for churn in ("none", "full") if churn in self.churn]
        return [
            Column(name, churn)
            for churn in levels
            for name in names
            if churn == "none" or dataset(name).takes_churn
        ]

    def seeds_of(self, method: Method, condition: Condition) -> int:
        """Return the number of seeds of a method under a condition; its ``seed`` is ignored."""
        budget = self.settings.budget
        n = min(self.seeds, budget.prequential_seeds) if condition.prequential else self.seeds
        if budget.holds_back and method.most_seeds is not None:
            n = min(n, method.most_seeds)
        is_chance = condition.churn != "none" or condition.drift or method.uses_seed
        return n if is_chance else 1

    def jobs(self) -> list[Job]:
        """Return all jobs, by stage and then by method; those of slow methods come last."""
        found: dict[str, list[Job]] = {stage: [] for stage in STAGES}
        for method in self.methods:
            for name in self.datasets:
                for condition in self._conditions(name):
                    stage = stage_of(condition)
                    if self._is_run(method, name, stage):
                        found[stage] += [
                            Job(
                                method=method.key,
                                dataset=name,
                                condition=replace(condition, seed=seed),
                            )
                            for seed in range(self.seeds_of(method, condition))
                        ]
        ordered = [job for stage in STAGES for job in found[stage]]
        return sorted(ordered, key=lambda job: not job.row.is_quick)

    def _conditions(self, name: str) -> list[Condition]:
        """Return the conditions of a dataset; mild churn has neither drift nor prequential runs."""
        takes_churn = dataset(name).takes_churn
        return [
            Condition(churn=churn, drift=drift, prequential=mode)
            for churn in self.churn
            for drift in self.drift
            for mode in self.modes
            if (churn == "none" or takes_churn) and (churn != "mild" or not (drift or mode))
        ]

    def _is_run(self, method: Method, name: str, stage: str) -> bool:
        if not self.settings.budget.holds_back:
            return True
        return stage in method.stages and (method.datasets is None or name in method.datasets)


class Figures:
    """The metrics of a plan's jobs, read once.

    Parameters
    ----------
    plan
        what was run.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        recorded = plan.settings.recorded()
        self.found: dict[Job, Measured] = {}
        for job in plan.jobs():
            measured = plan.settings.measured(job, recorded)
            if measured is not None:
                self.found[job] = measured

    def of_series(
        self,
        method: Method,
        dataset: str,
        condition: Condition,
        metric: str,
        seeds: int | None = None,
    ) -> NDArray[np.float64] | None:
        """Return (seeds, S) values of a metric for each recording; None if a seed has not run.

        ``seeds`` limits the number of seeds; None takes all that are planned.
        """
        n = self.plan.seeds_of(method, condition)
        rows = []
        for seed in range(n if seeds is None else min(n, seeds)):
            job = Job(method=method.key, dataset=dataset, condition=replace(condition, seed=seed))
            if job not in self.found:
                return None
            rows.append([values[metric] for values in self.found[job].of_series.values()])
        return np.array(rows, np.float64)

    def cell(
        self,
        method: Method,
        dataset: str,
        condition: Condition,
        metric: str,
        seeds: int | None = None,
    ) -> Cell:
        """Return a metric's mean over recordings and seeds, and its sd over seeds, or NaN."""
        values = self.of_series(method, dataset, condition, metric, seeds)
        if values is None or np.isnan(values).all():
            return Cell(float("nan"))
        by_seed = [float(np.nanmean(row)) for row in values if not np.isnan(row).all()]
        sd = float(np.std(by_seed, ddof=1)) if len(by_seed) > 1 else None
        return Cell(float(np.mean(by_seed)), sd)

    def has_run(self, method: Method) -> bool:
        """Tell whether any job of a method has run."""
        return any(job.method == method.key for job in self.found)


def stage_of(condition: Condition) -> str:
    """Return the stage that a condition belongs to."""
    if condition.prequential:
        return "prequential"
    if condition.drift:
        return "drift"
    return "churn" if condition.churn == "mild" else "main"


def mean_name(n: int) -> str:
    """Return the heading of a column of means."""
    return f"mean of {n}"


def mean_cell(cells: Sequence[Cell]) -> Cell:
    """Return the mean of a row's cells; NaN if one is missing."""
    return Cell(float(np.mean([cell.value for cell in cells])) if cells else float("nan"))


def by_value(values: Mapping[str, float]) -> list[str]:
    """Return the keys by descending value; those with NaN come last."""
    return sorted(values, key=lambda key: (np.isnan(values[key]), -np.nan_to_num(values[key])))
