"""The likeness table: how similar each method's scores are to those of simple scores.

In: a plan whose jobs have run. Out: a table of rank correlations on the same test windows. A method
whose scores resemble a simple score detects little more than that score does.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.paper.main_tables import jobs_of
from benchmarks.paper.methods import METHODS
from benchmarks.paper.plan import Plan
from benchmarks.paper.scores import Job
from benchmarks.table import Cell, Row, Table

__all__ = ["likeness", "likeness_jobs", "rank_correlation"]

PROTOCOL = "holdout_C"

# The scores that others are compared with: two one-line scores and the training-free detector.
YARDSTICKS = tuple(METHODS[key] for key in ("largest-state", "largest-jump", "randproj-knn"))


def likeness_jobs(plan: Plan) -> list[Job]:
    """Return the jobs that the table reads."""
    methods = dict.fromkeys([*plan.methods, *YARDSTICKS])
    return [job for method in methods for job in jobs_of(plan, method, PROTOCOL)]


def likeness(plan: Plan) -> Table:
    """Return the table of rank correlations between each method's scores and the yardsticks'."""
    methods = plan.finished(
        list(dict.fromkeys([*plan.methods, *YARDSTICKS])), lambda m: jobs_of(plan, m, PROTOCOL)
    )
    groups = {method.key: plan.groups(jobs_of(plan, method, PROTOCOL)) for method in methods}
    rows = []
    for method in methods:
        cells = []
        for yardstick in YARDSTICKS:
            pairs = zip(groups[method.key], groups.get(yardstick.key, []), strict=False)
            found = [rank_correlation(ours.scores, theirs.scores) for ours, theirs in pairs]
            cells.append(Cell(float(np.mean(found)) if found else float("nan")))
        rows.append(Row(method.name, tuple(cells)))
    return Table(
        "likeness" if plan.world == "paper" else f"likeness-{plan.world}",
        f"Rank correlation of scores with those of three yardsticks, {PROTOCOL}",
        tuple(yardstick.name for yardstick in YARDSTICKS),
        tuple(rows),
        (
            "Spearman's rank correlation over the windows of a test set, normal ones mostly; mean "
            "over seeds and cardinalities. The paper has no such table.",
            "A network whose scores go with max |g| predicts little more than zero: its error is "
            "the state itself.",
        ),
    ).sorted_by(YARDSTICKS[0].name)


def rank_correlation(first: ArrayLike, second: ArrayLike) -> float:
    """Return Spearman's rank correlation; ties share their mean rank.

    Examples
    --------
    >>> round(rank_correlation([1, 2, 3, 4], [10, 30, 20, 40]), 3)
    0.8
    """
    return float(np.corrcoef(_ranks(first), _ranks(second))[0, 1])


def _ranks(values: ArrayLike) -> NDArray[np.float64]:
    _, which, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: NDArray[np.float64] = (last - (counts - 1) / 2)[which]
    return ranks
