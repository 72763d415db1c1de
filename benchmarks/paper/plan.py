"""The plan: the settings of a run, and access to its scores in the form that tables need.

In: settings, methods, seeds and a world. Out: groups of scored windows, and cells of tables.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from benchmarks.bootstrap import Group, estimate, interval, paired
from benchmarks.paper.jobs import RunSettings
from benchmarks.paper.methods import Method
from benchmarks.paper.scores import MAIN_RATE, Job
from benchmarks.protocols import PROTOCOLS, find_protocol
from benchmarks.table import Cell, Row
from benchmarks.windows import NORMAL
from benchmarks.world import find_world

__all__ = ["MAIN_RATE", "Plan"]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to run and how.

    Parameters
    ----------
    settings
        budget, folder, device and processes.
    methods
        rows of the main tables.
    seeds
        number of seeds; the hash-width table, the scaling table and the table over seeds have
        their own numbers in some budgets.
    world
        name of the generator's variant.
    protocols
        protocols of the main tables.
    """

    settings: RunSettings
    methods: Sequence[Method]
    seeds: int
    world: str = "paper"
    protocols: Sequence[str] = tuple(PROTOCOLS)

    @property
    def hash_width_seeds(self) -> int:
        """Number of seeds of the hash-width table."""
        return self._or_asked(self.settings.budget.hash_width_seeds)

    @property
    def scaling_seeds(self) -> int:
        """Number of seeds of the scaling table."""
        return self._or_asked(self.settings.budget.scaling_seeds)

    @property
    def paired_seeds(self) -> int:
        """Number of seeds of the table over seeds."""
        return self._or_asked(self.settings.budget.paired_seeds)

    def _or_asked(self, seeds: int) -> int:
        """Return a table's own number of seeds, unless the plan overrides the budget's number."""
        return seeds if self.seeds == self.settings.budget.seeds else self.seeds

    def finished(
        self, methods: Sequence[Method], jobs: Callable[[Method], list[Job]]
    ) -> list[Method]:
        """Return the methods for which every job has scores."""
        return [
            method
            for method in methods
            if all(self.settings.read(job) is not None for job in jobs(method))
        ]

    def groups(
        self,
        jobs: Sequence[Job],
        *,
        rate: float = MAIN_RATE,
        cardinality: int | None = None,
        kind: str | None = None,
    ) -> list[Group]:
        """Return the scored test sets of one method's jobs, one per seed and cardinality.

        With a ``kind``, anomalies of the other kinds are left out. Test sets without anomalies are
        left out.
        """
        found = []
        for job in jobs:
            scores = self.settings.read(job)
            assert scores is not None, f"{job} was not run"
            tested = find_protocol(job.protocol).test
            for each in tested if cardinality is None else [cardinality]:
                kinds, values = scores.test_set(each, rate)
                if kind is not None:
                    which = find_world(self.world).kinds.index(kind)
                    kept = (kinds == NORMAL) | (kinds == which)
                    kinds, values = kinds[kept], values[kept]
                if (kinds != NORMAL).any():
                    found.append(Group(job.seed, each, kinds != NORMAL, values))
        return found

    def cell(self, groups: Sequence[Group], metric: str, paper: float | None = None) -> Cell:
        """Return a metric's mean and sd over seeds, and its interval over windows."""
        if not groups:
            return Cell(float("nan"), paper=paper)
        by_seed = [
            estimate([group for group in groups if group.seed == seed], metric)
            for seed in sorted({group.seed for group in groups})
        ]
        low, high = interval(groups, metric, n=self.settings.budget.replicates)
        sd = float(np.std(by_seed, ddof=1)) if len(by_seed) > 1 else None
        return Cell(estimate(groups, metric), sd, low, high, paper)

    def with_p_values(
        self, rows: Sequence[Row], groups: dict[str, list[Group]], metric: str
    ) -> list[Row]:
        """Return the rows, each with the p-value of the paired test against the row below it."""
        tested = []
        n = self.settings.budget.replicates
        for row, below in pairwise(rows):
            test = paired(groups[row.name], groups[below.name], metric, n=n)
            tested.append(replace(row, p_value=test.p_value))
        return [*tested, *rows[-1:]]
