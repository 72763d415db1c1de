"""Budgets: how much of the datasets, and how many seeds, the real-data benchmark uses.

In: a budget's name. Out: its numbers, and recordings shortened to its size.
"""

from dataclasses import dataclass, replace

from benchmarks.choosing import find
from benchmarks.real.series import Event, Series

__all__ = ["BUDGETS", "Budget", "find_budget"]


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Limits on the cost of a run.

    Parameters
    ----------
    name
        name on the command line.
    seeds, prequential_seeds
        number of seeds of churn, drift and random methods; and their number in prequential runs.
    replicates
        number of bootstrap resamplings.
    holds_back
        whether expensive methods run under fewer conditions.
    most_series
        maximum number of recordings per dataset; None for all.
    reference_rows, test_rows
        number of rows kept: the last of the reference, and those of the test part around its first
        anomaly; None for all.
    """

    name: str
    seeds: int
    prequential_seeds: int
    replicates: int = 10_000
    holds_back: bool = True
    most_series: int | None = None
    reference_rows: int | None = None
    test_rows: int | None = None

    def shortened(self, series: Series) -> Series:
        """Return a recording shortened to this budget."""
        reference, test, labels = series.reference, series.test, series.labels
        if self.reference_rows is not None:
            reference = reference.rows(max(0, len(reference) - self.reference_rows)).canonical()
        first, stop = 0, len(test)
        if self.test_rows is not None:
            first = max(0, int(labels.argmax()) - self.test_rows // 2)
            stop = min(first + self.test_rows, len(test))
            while stop < len(test) and labels[first:stop].all():
                stop += 1
        events = tuple(
            replace(
                event, start=max(event.start, first) - first, stop=min(event.stop, stop) - first
            )
            for event in series.events
            if event.start < stop and event.stop > first
        )
        return replace(
            series,
            reference=reference,
            test=test.rows(first, stop).canonical(),
            labels=labels[first:stop],
            events=_sorted(events),
        )


def _sorted(events: tuple[Event, ...]) -> tuple[Event, ...]:
    return tuple(sorted(events, key=lambda event: (event.start, event.stop, event.variables)))


BUDGETS = {
    budget.name: budget
    for budget in (
        Budget(
            name="smoke",
            seeds=1,
            prequential_seeds=1,
            replicates=200,
            most_series=1,
            reference_rows=240,
            test_rows=160,
        ),
        Budget(name="full", seeds=3, prequential_seeds=1),
        Budget(name="thorough", seeds=3, prequential_seeds=3, holds_back=False),
    )
}


def find_budget(name: str) -> Budget:
    """Return a budget by name.

    Examples
    --------
    >>> find_budget("full").seeds
    3
    """
    return find(name, BUDGETS, "budget")
