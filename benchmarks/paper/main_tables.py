"""The main tables: average, by cardinality, by anomaly rate and by kind of anomaly.

In: a plan whose jobs have run. Out: tables, with rows sorted by AUPRC.
"""

from collections.abc import Callable

from benchmarks.bootstrap import estimate
from benchmarks.metrics import METRICS
from benchmarks.paper.methods import Method
from benchmarks.paper.plan import MAIN_RATE, Plan
from benchmarks.paper.reported import reported
from benchmarks.paper.scores import Job
from benchmarks.protocols import CARDINALITIES, RATES, Protocol, find_protocol
from benchmarks.table import Cell, Row, Table
from benchmarks.world import find_world

__all__ = ["HEADINGS", "average", "cardinality", "jobs_of", "main_jobs", "rate", "types"]

RATE_PROTOCOL = "in_dist_C"

HEADINGS = {"auprc": "AUPRC", "auroc": "AUROC", "tpr_at_1pct_fpr": "TPR at 1% FPR"}


def main_jobs(plan: Plan) -> list[Job]:
    """Return the jobs that all main tables read: every method, protocol and seed."""
    return [
        job
        for method in plan.methods
        for name in plan.protocols
        for job in jobs_of(plan, method, name)
    ]


def jobs_of(plan: Plan, method: Method, protocol: str) -> list[Job]:
    """Return one method's jobs under one protocol, one per seed."""
    rates = RATES if protocol == RATE_PROTOCOL else (MAIN_RATE,)
    return [
        Job(method=method.key, protocol=protocol, seed=seed, world=plan.world, rates=rates)
        for seed in range(plan.seeds)
    ]


def average(plan: Plan) -> Table:
    """Return the table of averages over cardinalities at the main anomaly rate."""

    def cells(method: Method, protocol: Protocol, jobs: list[Job]) -> list[Cell]:
        groups = plan.groups(jobs)
        return [
            plan.cell(groups, metric, _paper(plan, "average", method, metric, protocol.name))
            for metric in METRICS
        ]

    return _table(
        plan,
        "average",
        f"Average over the tested cardinalities, anomaly rate {MAIN_RATE:.2f}",
        tuple(HEADINGS[metric] for metric in METRICS),
        cells,
    )


def cardinality(plan: Plan) -> Table:
    """Return the table of AUPRC by cardinality."""

    def cells(method: Method, protocol: Protocol, jobs: list[Job]) -> list[Cell]:
        found = []
        for each in CARDINALITIES:
            if each not in protocol.test:
                found.append(Cell(float("nan")))
                continue
            groups = plan.groups(jobs, cardinality=each)
            paper = _paper(plan, "cardinality", method, each, protocol.name)
            found.append(plan.cell(groups, "auprc", paper))
        return found

    return _table(
        plan,
        "cardinality",
        f"AUPRC by cardinality C, anomaly rate {MAIN_RATE:.2f}",
        tuple(f"C={each}" for each in CARDINALITIES),
        cells,
    )


def rate(plan: Plan) -> Table:
    """Return the table of AUPRC by anomaly rate, averaged over cardinalities."""

    def cells(method: Method, protocol: Protocol, jobs: list[Job]) -> list[Cell]:
        return [
            plan.cell(
                plan.groups(jobs, rate=each),
                "auprc",
                _paper(plan, "rate", method, each, None),
            )
            for each in RATES
        ]

    return _table(
        plan,
        "rate",
        f"AUPRC by anomaly rate, {RATE_PROTOCOL}",
        tuple(f"{each:.2f}" for each in RATES),
        cells,
        protocols=(RATE_PROTOCOL,),
    )


def types(plan: Plan) -> Table:
    """Return the table of AUROC by kind of anomaly, each kind alone against the normal windows."""
    kinds = find_world(plan.world).kinds

    def cells(method: Method, protocol: Protocol, jobs: list[Job]) -> list[Cell]:
        return [plan.cell(plan.groups(jobs, kind=kind), "auroc") for kind in kinds]

    return _table(
        plan,
        "types",
        f"AUROC by kind of anomaly, each alone against normal windows, rate {MAIN_RATE:.2f}",
        kinds,
        cells,
        notes=(
            "0.5 is chance. The paper has no such table.",
            "Rows are in the order of their AUPRC over all kinds; p is of that, too.",
        ),
    )


def _table(
    plan: Plan,
    name: str,
    title: str,
    columns: tuple[str, ...],
    cells: Callable[[Method, Protocol, list[Job]], list[Cell]],
    *,
    protocols: tuple[str, ...] | None = None,
    notes: tuple[str, ...] = (),
) -> Table:
    """Return a table of all methods that have run, best AUPRC first within each protocol."""
    rows: list[Row] = []
    missing: list[str] = []
    for name_of_protocol in plan.protocols if protocols is None else protocols:
        protocol = find_protocol(name_of_protocol)
        jobs = {method: jobs_of(plan, method, protocol.name) for method in plan.methods}
        methods = plan.finished(plan.methods, jobs.__getitem__)
        missing += [method.name for method in plan.methods if method not in methods]
        groups = {method.name: plan.groups(jobs[method]) for method in methods}
        order = {key: -estimate(found, "auprc") for key, found in groups.items()}
        methods = sorted(methods, key=_by_name(order))
        of_protocol = [
            Row(method.name, tuple(cells(method, protocol, jobs[method])), None, protocol.name)
            for method in methods
        ]
        rows += plan.with_p_values(of_protocol, groups, "auprc")
    notes += _origins(plan, rows)
    if missing:
        notes += (f"Not run yet: {', '.join(dict.fromkeys(missing))}.",)
    heading = title if plan.world == "paper" else f"{title}, world '{plan.world}'"
    return Table(_file_name(plan, name), heading, columns, tuple(rows), notes)


def _by_name(order: dict[str, float]) -> Callable[[Method], float]:
    return lambda method: order[method.name]


def _origins(plan: Plan, rows: list[Row]) -> tuple[str, ...]:
    """Return a note on the devices and commits that the networks were trained with."""
    shown = {row.name for row in rows}
    made = [
        scores.made
        for method in plan.methods
        if method.is_trained and method.name in shown
        for name in plan.protocols
        for job in jobs_of(plan, method, name)
        if (scores := plan.settings.read(job)) is not None
    ]
    if not made:
        return ()
    devices = ", ".join(sorted({str(each["device"]) for each in made}))
    commits = ", ".join(sorted({str(each["commit"]) for each in made}))
    minutes = sum(each["fit_seconds"] for each in made) / 60
    return (
        f"Networks: {len(made)} fits on {devices}, commit {commits}, {minutes:.0f} minutes of "
        "fitting in all, several at a time.",
    )


def _paper(
    plan: Plan, table: str, method: Method, column: str | float, protocol: str | None
) -> float | None:
    """Return the paper's figure; None for other worlds, which it does not have."""
    if plan.world != "paper":
        return None
    return reported(table, method.name, column, group=protocol)


def _file_name(plan: Plan, name: str) -> str:
    return name if plan.world == "paper" else f"{name}-{plan.world}"
