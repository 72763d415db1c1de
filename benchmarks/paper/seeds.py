"""The table over seeds: the leading rows, each trained again on the windows of every seed.

In: a plan whose jobs have run. Out: a table with each row's difference from Deep Sets on the same
seeds, and the interval of that difference over seeds.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.bootstrap import Group, estimate
from benchmarks.libraries import library
from benchmarks.paper.methods import METHODS, Method
from benchmarks.paper.plan import MAIN_RATE, Plan
from benchmarks.paper.scores import Job
from benchmarks.table import Cell, Row, Table

__all__ = ["seeds", "seeds_jobs", "t_interval"]

PROTOCOL = "holdout_C"
YARDSTICK = METHODS["deepsets-gru"]
COMPARED = tuple(
    METHODS[key]
    for key in ("smkc-ens", "smkc-ens-tuned", "deepsets-gru", "largest-jump", "randproj-knn")
)

COLUMNS = ("AUPRC", "AUROC", "AUPRC less Deep Sets'", "seeds ahead of Deep Sets")

# Confidence level of the intervals.
LEVEL = 0.95


def seeds_jobs(plan: Plan) -> list[Job]:
    """Return the jobs that the table reads."""
    return [job for method in COMPARED for job in _jobs(plan, method)]


def seeds(plan: Plan) -> Table:
    """Return the table of the leading rows over many seeds, compared with Deep Sets per seed."""
    methods = plan.finished(COMPARED, lambda method: _jobs(plan, method))
    groups = {method.name: plan.groups(_jobs(plan, method)) for method in methods}
    by_seed = {name: _by_seed(found) for name, found in groups.items()}
    rows = []
    for method in methods:
        cells = [plan.cell(groups[method.name], metric) for metric in ("auprc", "auroc")]
        difference, ahead = Cell(float("nan")), Cell(float("nan"))
        if method != YARDSTICK and YARDSTICK.name in by_seed:
            apart = by_seed[method.name] - by_seed[YARDSTICK.name]
            low, high = t_interval(apart)
            difference = Cell(float(apart.mean()), low=low, high=high)
            ahead = Cell(float((apart > 0).sum()))
        rows.append(Row(method.name, (*cells, difference, ahead)))
    missing = [method.name for method in COMPARED if method not in methods]
    notes = [
        "Every seed draws all windows and all first weights anew.",
        "The interval of a difference is Student's, over seeds: windows and training both vary. "
        "Those of AUPRC and AUROC are over windows.",
    ]
    if missing:
        notes.append(f"Not run yet: {', '.join(missing)}.")
    return Table(
        "seeds" if plan.world == "paper" else f"seeds-{plan.world}",
        f"The leading rows over {plan.paired_seeds} seeds, {PROTOCOL}, anomaly rate "
        f"{MAIN_RATE:.2f}",
        COLUMNS,
        tuple(rows),
        tuple(notes),
    ).sorted_by("AUPRC")


def t_interval(values: NDArray[np.float64]) -> tuple[float | None, float | None]:
    """Return Student's confidence interval of a mean; (None, None) for fewer than 2 values.

    Examples
    --------
    >>> low, high = t_interval(np.array([1.0, 2.0, 3.0]))
    >>> round(low, 2), round(high, 2)
    (-0.48, 4.48)
    """
    n = len(values)
    if n < 2:
        return None, None
    quantile = library("scipy.stats", "scipy").t.ppf((1 + LEVEL) / 2, n - 1)
    half = float(quantile * np.std(values, ddof=1) / np.sqrt(n))
    mean = float(np.mean(values))
    return mean - half, mean + half


def _by_seed(groups: Sequence[Group]) -> NDArray[np.float64]:
    """(S,) AUPRC of each seed, by ascending seed."""
    return np.array(
        [
            estimate([group for group in groups if group.seed == seed], "auprc")
            for seed in sorted({group.seed for group in groups})
        ]
    )


def _jobs(plan: Plan, method: Method) -> list[Job]:
    return [
        Job(method=method.key, protocol=PROTOCOL, seed=seed, world=plan.world)
        for seed in range(plan.paired_seeds)
    ]
