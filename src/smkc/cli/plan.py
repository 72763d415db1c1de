"""``smkc plan``: what a workload will cost.

In: a sentence such as "1e6 series, 15 s, 30 days". Out: processor hours, memory and machines on the
terminal, by coefficients that were measured, or the same as JSON.
"""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from smkc.cli.failure import explained_failures

__all__ = ["plan"]


def plan(
    workload: Annotated[
        str,
        typer.Argument(
            metavar="TEXT",
            help="How many series, how far apart their rows are, and for how long. Further parts: "
            "40 variables (scored together), evidence or knn, 64 rows (a window), 4096 references, "
            "20000 reference-rows (to learn from), 16 cores, 64 GB (of a machine).",
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what a workload will cost: processor hours, memory and machines.

    The coefficients were measured; docs/scale.md says how, and how far predictions were from what
    whole runs took.

    **Examples**

    - `smkc plan "1e6 series, 15 s, 30 days"`
    - `smkc plan "1e5 series, 1 min, 1 year, knn, 1e6 references, 8 cores, 32 GB"`
    """
    with explained_failures():
        from smkc.plan import Workload, estimate, measured_costs

        found = estimate(Workload.parse(workload))
        if as_json:
            print(json.dumps(asdict(found), indent=1))
            return
        asked = found.workload
        about, gpu_hours = measured_costs().provenance, found.score_gpu_hours
        for name, value in (
            (
                "series",
                f"{asked.series:,} in {asked.n_recordings:,} recordings of up to "
                f"{asked.variables} variables",
            ),
            ("rows", f"{asked.n_rows:,} a recording, {asked.n_observations:,} observations in all"),
            ("detector", asked.engine),
            (
                "a row",
                f"{1e6 * found.seconds_a_row:,.1f} us of one core; live, one by one, "
                f"{1e6 * found.seconds_a_live_row:,.0f} us",
            ),
            ("an observation", f"{1e6 * found.seconds_an_observation:,.2f} us"),
            ("a series", f"{found.seconds_a_series:,.3g} s for all its rows"),
            (
                "to learn",
                f"{found.fit_core_hours:,.3g} core-hours, {asked.n_learned:,} rows a recording",
            ),
            (
                "to score it all",
                f"{found.score_core_hours:,.3g} core-hours"
                + ("" if gpu_hours is None else f", or {gpu_hours:,.3g} GPU-hours (H200)"),
            ),
            (
                "live",
                f"{found.live_cores:,.3g} cores busy, {_bytes(found.live_bytes)} of models "
                f"({_bytes(found.model_bytes)} each): {_machines(found.live_machines)}",
            ),
            (
                "from files",
                f"in a tenth of the time it took: {_machines(found.batch_machines)}; "
                f"{_bytes(found.batch_bytes)} a process",
            ),
            ("a machine", f"{asked.cores} cores, {asked.memory:g} GB"),
            ("measured", f"{about['date'][:10]}, {about['machine']}, commit {about['commit']}"),
        ):
            print(f"{name:16}{value}")


def _bytes(n: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if n >= size:
            return f"{n / size:,.3g} {unit}"
    return f"{n / 1e3:,.3g} kB"


def _machines(n: int) -> str:
    return "1 machine" if n == 1 else f"{n:,} machines"
