"""The cosine diagnostic as a table: why cosine kernels alone do not detect changes in magnitude.

In: a plan; no jobs are needed, since the diagnostic takes seconds. Out: a table, and the example
for a picture.
"""

from benchmarks.paper.diagnostic import COLUMNS, Diagnosis, Diagnostic
from benchmarks.paper.plan import Plan
from benchmarks.paper.reported import reported
from benchmarks.protocols import Splits, find_protocol
from benchmarks.table import Cell, Row, Table
from benchmarks.world import find_world

__all__ = ["diagnose", "diagnostic"]

PROTOCOL = find_protocol("holdout_C")
HEADINGS = ("cosine AUROC", "cosine AUPRC", "log distance AUROC", "log distance AUPRC")


def diagnose(plan: Plan) -> Diagnosis:
    """Run the diagnostic on normal training windows of the first seed."""
    splits = Splits(seed=0, world=find_world(plan.world), sizes=plan.settings.budget.sizes)
    return Diagnostic().run(splits.train(PROTOCOL))


def diagnostic(plan: Plan) -> Table:
    """Return the table of how well the mean of each kernel detects a change in magnitude."""
    found = diagnose(plan)
    rows = tuple(
        Row(
            task,
            tuple(
                Cell(value, paper=reported("diagnostic", task, column))
                for column, value in zip(COLUMNS, values, strict=True)
            ),
        )
        for task, values in found.rows.items()
    )
    notes = (
        "The statistic is the mean over pairs of different time steps, of Cos(g) and of "
        "LogDist(g), higher = more anomalous; the paper says 'simple kernel-summary statistics' "
        "and names none.",
        "Largest change of a kernel when a segment's states are multiplied by 5: Cos(g) "
        f"{found.cosine_max_difference:.1e} (over all windows "
        f"{found.cosine_max_difference_of_all:.1e}; paper 1e-07), LogDist(g) "
        f"{found.logdist_max_difference:.2f} (paper 2.08).",
    )
    return Table(
        "diagnostic" if plan.world == "paper" else f"diagnostic-{plan.world}",
        "Cosine against log distance under changes of magnitude, balanced sets",
        HEADINGS,
        rows,
        notes,
    )
