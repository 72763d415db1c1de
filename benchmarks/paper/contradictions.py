"""The contradictions table: statements of the paper that this benchmark does not confirm.

In: a plan whose jobs have run. Out: a table of differences between two rows, ours and the paper's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.bootstrap import Group, estimate, paired
from benchmarks.paper.ablation import ablation_jobs, ablation_tuned_jobs
from benchmarks.paper.main_tables import jobs_of, main_jobs
from benchmarks.paper.methods import ABLATIONS, METHODS, SCALING_METHODS, TUNED_ABLATIONS, Method
from benchmarks.paper.plan import MAIN_RATE, Plan
from benchmarks.paper.reported import reported
from benchmarks.paper.scaling import scaling_jobs
from benchmarks.paper.scores import Job
from benchmarks.protocols import RATES
from benchmarks.table import Cell, Row, Table

__all__ = ["contradiction_jobs", "contradictions"]

IN_DIST, HOLDOUT = "in_dist_C", "holdout_C"
LEARNED = ("smkc-recon", "smkc-ens")
TUNED = {"smkc-recon": "smkc-recon-tuned", "smkc-ens": "smkc-ens-tuned"}
RANDPROJ = METHODS["randproj-knn"]

# Decimal digits of a difference: more than the paper's 3, few enough to hide rounding errors.
ROUNDED = 6

# Variants whose effect differs from the paper's in sign, or considerably in size.
ABLATED = (
    "log_only",
    "no_delta_only",
    "mask_random_only",
    "no_sqrt_nt_normalization",
    "lambda_linear_no_saturation",
    "cos_only",
)


@dataclass(frozen=True)
class _Scored:
    """A row's scored test sets, and the paper's figure for it."""

    groups: list[Group]
    paper: float | None


def contradiction_jobs(plan: Plan) -> list[Job]:
    """Return the jobs that the table reads."""
    jobs = main_jobs(plan) + scaling_jobs(plan)
    return jobs + ablation_jobs(plan) + ablation_tuned_jobs(plan)


def contradictions(plan: Plan) -> Table:
    """Return the table of differences whose sign or size is not the paper's."""
    rows = [
        *_learned_less_training_free(plan),
        *_representations(plan),
        *_ablations(plan),
        *_rare_anomalies(plan),
        *_few_variables(plan),
        *_statistics_by_rate(plan),
        *_low_false_alarms(plan),
    ]
    return Table(
        "contradictions",
        "Where a statement of the paper does not hold here",
        ("ours",),
        tuple(rows),
        ("Intervals of differences are over windows, the same ones for both rows.",),
    )


def _learned_less_training_free(plan: Plan) -> Iterator[Row]:
    group = "learned rows less RandProj-kNN(SMKC), AUPRC"
    for protocol in (HOLDOUT, IN_DIST):
        other = _main(plan, RANDPROJ, protocol)
        for key in LEARNED:
            ours = _main(plan, METHODS[key], protocol)
            yield from _difference(plan, f"{METHODS[key].name}, {protocol}", ours, other, group)
            tuned = METHODS[TUNED[key]]
            found = _Scored(_main(plan, tuned, protocol).groups, ours.paper)
            yield from _difference(plan, f"{tuned.name}, {protocol}", found, other, group)


def _representations(plan: Plan) -> Iterator[Row]:
    full = _scaled(plan, SCALING_METHODS["randproj-full"])
    for key in ("randproj-log3-band8", "randproj-log3-band4", "randproj-log3"):
        method = SCALING_METHODS[key]
        group = "representations less the full image, AUPRC, L = 64"
        yield from _difference(plan, method.name, _scaled(plan, method), full, group)


def _ablations(plan: Plan) -> Iterator[Row]:
    for rows, prefix, name in (
        (ABLATIONS, "ablation-paper", "SMKC-Recon(HYB)"),
        (TUNED_ABLATIONS, "ablation", "SMKC-Recon(HYB), tuned"),
    ):
        base = _ablated(plan, rows[f"{prefix}-base"])
        for variant in ABLATED:
            ours = _ablated(plan, rows[f"{prefix}-{variant}"])
            group = f"ablations of {name} less base, AUPRC"
            yield from _difference(plan, f"{variant}, {name}", ours, base, group)


def _rare_anomalies(plan: Plan) -> Iterator[Row]:
    rate = min(RATES)
    for key in ("smkc-ens", "smkc-ens-tuned"):
        ours = _main(plan, METHODS[key], IN_DIST, rate=rate)
        paper = reported("rate", METHODS["smkc-ens"].name, rate)
        for other in ("deepsets-gru", "set-transformer-gru", "pad-mask-gru-ae", "largest-jump"):
            name = f"{METHODS[key].name} less {METHODS[other].name}"
            theirs = _main(plan, METHODS[other], IN_DIST, rate=rate)
            group = f"anomaly rate {rate:.2f}, in_dist_C, AUPRC"
            yield from _difference(plan, name, _Scored(ours.groups, paper), theirs, group)


def _few_variables(plan: Plan) -> Iterator[Row]:
    few = {method: _main(plan, method, IN_DIST, cardinality=1) for method in plan.methods}
    for method, ours in few.items():
        group = "C = 1, in_dist_C, AUPRC less the paper's"
        yield from _less_paper(method.name, ours, "auprc", group)
    for method, ours in few.items():
        every = _main(plan, method, IN_DIST)
        if ours.groups and ours.paper is not None and every.paper is not None:
            apart = estimate(ours.groups, "auprc") - estimate(every.groups, "auprc")
            cell = Cell(round(apart, ROUNDED), paper=round(ours.paper - every.paper, 4))
            group = "C = 1 less the mean over all C, in_dist_C, AUPRC"
            yield Row(method.name, (cell,), group=group)


def _statistics_by_rate(plan: Plan) -> Iterator[Row]:
    for rate in RATES:
        ours = _main(plan, METHODS["statspool-knn"], IN_DIST, rate=rate)
        group = "StatsPool-kNN, in_dist_C, AUPRC less the paper's"
        yield from _less_paper(f"rate {rate:.2f}", ours, "auprc", group)


def _low_false_alarms(plan: Plan) -> Iterator[Row]:
    for protocol in (HOLDOUT, IN_DIST):
        for method in plan.methods:
            metric = "tpr_at_1pct_fpr"
            paper = reported("average", method.name, metric, group=protocol)
            ours = _Scored(_main(plan, method, protocol).groups, paper)
            group = "TPR at 1% FPR less the paper's"
            yield from _less_paper(f"{method.name}, {protocol}", ours, metric, group)


def _difference(plan: Plan, name: str, ours: _Scored, other: _Scored, group: str) -> Iterator[Row]:
    if not ours.groups or not other.groups:
        return
    test = paired(ours.groups, other.groups, "auprc", n=plan.settings.budget.replicates)
    paper = None
    if ours.paper is not None and other.paper is not None:
        paper = round(ours.paper - other.paper, 4)
    cell = Cell(test.difference, low=test.low, high=test.high, paper=paper)
    yield Row(name, (cell,), group=group)


def _less_paper(name: str, ours: _Scored, metric: str, group: str) -> Iterator[Row]:
    if ours.groups and ours.paper is not None:
        apart = round(estimate(ours.groups, metric) - ours.paper, ROUNDED)
        yield Row(name, (Cell(apart),), group=group)


def _main(
    plan: Plan,
    method: Method,
    protocol: str,
    *,
    rate: float | None = None,
    cardinality: int | None = None,
) -> _Scored:
    jobs = jobs_of(plan, method, protocol)
    at = MAIN_RATE if rate is None else rate
    groups = _groups(plan, jobs, rate=at, cardinality=cardinality)
    if rate is not None:
        return _Scored(groups, reported("rate", method.name, rate))
    if cardinality is not None:
        return _Scored(groups, reported("cardinality", method.name, cardinality, group=protocol))
    return _Scored(groups, reported("average", method.name, "auprc", group=protocol))


def _scaled(plan: Plan, method: Method) -> _Scored:
    jobs = [job for job in scaling_jobs(plan) if job.method == method.key]
    return _Scored(_groups(plan, jobs), reported("scaling", method.name, "auprc"))


def _ablated(plan: Plan, method: Method) -> _Scored:
    every = ablation_jobs(plan) + ablation_tuned_jobs(plan)
    jobs = [job for job in every if job.method == method.key]
    return _Scored(_groups(plan, jobs), reported("ablation", method.name, "auprc"))


def _groups(
    plan: Plan, jobs: Sequence[Job], rate: float = MAIN_RATE, cardinality: int | None = None
) -> list[Group]:
    """Return the scored test sets; an empty list if any job has not run."""
    if any(plan.settings.read(job) is None for job in jobs):
        return []
    return plan.groups(jobs, rate=rate, cardinality=cardinality)
