"""The scaling table: RandProj-kNN with every representation, and the cost of each.

In: a plan whose jobs have run, and measured times. Out: a table.
"""

from dataclasses import replace

from benchmarks.paper.methods import SCALING_METHODS, Method
from benchmarks.paper.plan import Plan
from benchmarks.paper.reported import reported
from benchmarks.paper.scores import Job
from benchmarks.paper.timing import LENGTH, PROTOCOL, read_timings
from benchmarks.table import Cell, Row, Table
from smkc.paper.kernel import CHANNELS, Representation

__all__ = ["relative_cost", "scaling", "scaling_jobs"]

STATE_WIDTH = 256  # d = 2m, with m = 128

COLUMNS = (
    "AUPRC",
    "AUROC",
    "CPU s",
    "CPU MB",
    "GPU s",
    "GPU MB",
    "relative cost",
    "feature dimension",
)


def scaling_jobs(plan: Plan) -> list[Job]:
    """Return the jobs that the table reads."""
    return [job for method in SCALING_METHODS.values() for job in _jobs(plan, method)]


def scaling(plan: Plan) -> Table:
    """Return the table of metrics, time, memory, analytic cost and dimension by representation."""
    on_cpu, cpu = read_timings(plan.settings, "cpu")
    on_gpu, gpu = read_timings(plan.settings, "cuda")
    rows, groups = [], {}
    nothing = float("nan")
    for method in plan.finished(list(SCALING_METHODS.values()), lambda m: _jobs(plan, m)):
        groups[method.name] = plan.groups(_jobs(plan, method))
        representation = Representation.parse(method.representation)
        cells = [
            plan.cell(groups[method.name], metric, _paper(plan, method, metric))
            for metric in ("auprc", "auroc")
        ]
        for timings, seconds, memory in (
            (on_cpu, None, None),
            (on_gpu, _paper(plan, method, "time_s"), _paper(plan, method, "peak_mb")),
        ):
            timing = timings.get(method.key)
            cells.append(Cell(timing.seconds if timing else nothing, paper=seconds))
            cells.append(Cell(timing.peak_mb if timing else nothing, paper=memory))
        cost = relative_cost(representation, LENGTH)
        cells.append(Cell(cost, paper=_paper(plan, method, "relative_cost")))
        dimension = representation.n_features(LENGTH, STATE_WIDTH)
        cells.append(Cell(dimension, paper=_paper(plan, method, "feature_dim")))
        rows.append(Row(method.name, tuple(cells)))
    notes = [
        "Relative cost is multiply-adds of pairwise comparisons over those of the full image; as "
        "in the paper, a sequence counts as one pass over its states.",
        "The paper does not name its GPU; it times and measures what it calls total time and peak "
        "allocated GPU memory.",
    ]
    for name, made in (("CPU", cpu), ("GPU", gpu)):
        if made:
            device = made["machine"] if name == "CPU" else made["device"]
            notes.append(
                f"{name}: {device}, from {made['windows']} windows to scores, median of 5, commit "
                f"{made['commit']}, {made['date'][:10]}; memory is the peak that was allocated."
            )
        else:
            notes.append(f"{name}: not measured yet.")
    table = Table(
        "scaling" if plan.world == "paper" else f"scaling-{plan.world}",
        f"RandProj-kNN by representation, holdout_C, L = {LENGTH}, m = 128, "
        f"{plan.scaling_seeds} seeds",
        COLUMNS,
        tuple(rows),
        tuple(notes),
    ).sorted_by("AUPRC")
    return replace(table, rows=tuple(plan.with_p_values(table.rows, groups, "auprc")))


def relative_cost(representation: Representation, length: int, width: int = STATE_WIDTH) -> float:
    """Return the analytic cost of a representation, relative to the full image.

    Notes
    -----
    Paper, section 3.3: K L^2 d for an image, K L w d for bands, K L r d for anchors.

    Examples
    --------
    >>> relative_cost(Representation.parse("log3 band(8)"), 64)
    0.0625
    """
    steps = representation.down or length
    full = len(CHANNELS) * length**2 * width
    if representation.layout == "seq":
        return length * width / full
    compared = {"image": steps, "band": representation.size, "anchor": representation.size}
    numbers = representation.proj or width
    pairs = steps * compared[representation.layout]
    return len(representation.channels) * pairs * numbers / full


def _jobs(plan: Plan, method: Method) -> list[Job]:
    return [
        Job(
            method=method.key,
            protocol=PROTOCOL.name,
            seed=seed,
            world=plan.world,
            length=LENGTH,
        )
        for seed in range(plan.scaling_seeds)
    ]


def _paper(plan: Plan, method: Method, column: str) -> float | None:
    return reported("scaling", method.name, column) if plan.world == "paper" else None
