"""The ablation tables: SMKC-Recon with one part removed or changed, at a reduced budget.

In: a plan whose jobs have run. Out: one table for the method as the paper describes it and one for
the tuned method. The best variant comes first; each has its paired difference from the variant
``base``.
"""

from collections.abc import Mapping
from dataclasses import replace

from benchmarks.bootstrap import paired
from benchmarks.paper.methods import ABLATIONS, TUNED_ABLATIONS, Method
from benchmarks.paper.plan import MAIN_RATE, Plan
from benchmarks.paper.reported import reported
from benchmarks.paper.scores import Job
from benchmarks.table import Cell, Row, Table

__all__ = ["ablation", "ablation_jobs", "ablation_tuned", "ablation_tuned_jobs"]

PROTOCOL = "holdout_C"
BASE = "base"

COLUMNS = ("AUPRC", "AUROC", "AUPRC less base's")


def ablation_jobs(plan: Plan) -> list[Job]:
    """Return the jobs that the table of the paper's method reads."""
    return [job for method in ABLATIONS.values() for job in _jobs(plan, method)]


def ablation_tuned_jobs(plan: Plan) -> list[Job]:
    """Return the jobs that the table of the tuned method reads."""
    return [job for method in TUNED_ABLATIONS.values() for job in _jobs(plan, method)]


def ablation(plan: Plan) -> Table:
    """Return the table of AUPRC and AUROC by variant, with differences from ``base``."""
    return _table(plan, ABLATIONS, "ablation", "SMKC-Recon(HYB)")


def ablation_tuned(plan: Plan) -> Table:
    """Return the same table for the tuned method."""
    return _table(plan, TUNED_ABLATIONS, "ablation-tuned", "SMKC-Recon(HYB), tuned")


def _table(plan: Plan, variants: Mapping[str, Method], name: str, ablated: str) -> Table:
    methods = plan.finished(list(variants.values()), lambda method: _jobs(plan, method))
    groups = {method.name: plan.groups(_jobs(plan, method)) for method in methods}
    base = groups.get(BASE)
    rows = []
    for method in methods:
        cells = [
            plan.cell(groups[method.name], metric, _paper(plan, method.name, metric))
            for metric in ("auprc", "auroc")
        ]
        difference = Cell(float("nan"))
        if base is not None:
            n = plan.settings.budget.replicates
            test = paired(groups[method.name], base, "auprc", n=n)
            paper = _paper_difference(plan, method)
            difference = Cell(test.difference, low=test.low, high=test.high, paper=paper)
        rows.append(Row(method.name, (*cells, difference)))
    missing = [method.name for method in variants.values() if method not in methods]
    notes = [
        f"Variants are {ablated} with a smaller network and a quarter of the epochs, as the "
        "paper's are at what it calls a reduced budget: compare them with base, not with other "
        "tables.",
        "The interval of a difference is over windows, the same ones for both.",
    ]
    if missing:
        notes.append(f"Not run yet: {', '.join(missing)}.")
    table = Table(
        name if plan.world == "paper" else f"{name}-{plan.world}",
        f"Ablations of {ablated}, {PROTOCOL}, anomaly rate {MAIN_RATE:.2f}",
        COLUMNS,
        tuple(rows),
        tuple(notes),
    ).sorted_by("AUPRC")
    return replace(table, rows=tuple(plan.with_p_values(table.rows, groups, "auprc")))


def _jobs(plan: Plan, method: Method) -> list[Job]:
    return [
        Job(method=method.key, protocol=PROTOCOL, seed=seed, world=plan.world)
        for seed in range(plan.seeds)
    ]


def _paper(plan: Plan, variant: str, metric: str) -> float | None:
    return reported("ablation", variant, metric) if plan.world == "paper" else None


def _paper_difference(plan: Plan, method: Method) -> float | None:
    ours, base = _paper(plan, method.name, "auprc"), _paper(plan, BASE, "auprc")
    return None if ours is None or base is None else round(ours - base, 4)
