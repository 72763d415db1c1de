"""``smkc plan``: what a workload will cost.

In: how many series, how far apart their rows are, and for how long. Out: processor hours, memory
and machines on the terminal, by measured coefficients, or the same as JSON.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from smkc.cli.failure import explained_failures

if TYPE_CHECKING:
    from smkc.scale import Estimate

__all__ = ["plan"]

DETECTOR = "Detector"
MACHINE = "Machine"


class Planned(StrEnum):
    """Detectors whose costs were measured."""

    evidence = "evidence"
    knn = "knn"


def plan(
    series: Annotated[int, typer.Option(min=1, help="Number of series in all.")],
    step: Annotated[
        str, typer.Option(metavar="15s", help="Time from one row to the next: 500ms, 15s, 1m.")
    ],
    duration: Annotated[
        str, typer.Option(metavar="30d", help="Time from the first row to the last: 6h, 30d.")
    ],
    variables: Annotated[
        int, typer.Option(min=1, help="Series that are scored together: those of one host, say.")
    ] = 40,
    detector: Annotated[
        Planned, typer.Option(help="evidence or knn.", rich_help_panel=DETECTOR)
    ] = Planned.evidence,
    window: Annotated[
        int, typer.Option(min=1, help="Rows per window, of knn.", rich_help_panel=DETECTOR)
    ] = 64,
    references: Annotated[
        int, typer.Option(min=1, help="Reference windows, of knn.", rich_help_panel=DETECTOR)
    ] = 4096,
    reference_rows: Annotated[
        int, typer.Option(min=1, help="Rows each model learns from.", rich_help_panel=DETECTOR)
    ] = 20_000,
    cores: Annotated[
        int, typer.Option(min=1, help="Cores of one machine.", rich_help_panel=MACHINE)
    ] = 16,
    memory_gb: Annotated[
        float, typer.Option(help="Memory of one machine in GB.", rich_help_panel=MACHINE)
    ] = 64.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Estimate what a workload will cost: processor hours, memory and machines.

    The coefficients were measured; docs/scale.md says how, and how far predictions were from what
    whole runs took.

    **Examples**

    - `smkc plan --series 1000000 --step 15s --duration 30d`
    - `smkc plan --series 100000 --step 1m --duration 365d --detector knn --references 1000000`
    - `smkc plan --series 5000 --step 15s --duration 7d --cores 8 --memory-gb 32 --json`
    """
    with explained_failures():
        from smkc.scale import Workload, estimate
        from smkc.serve.config import duration as milliseconds

        found = estimate(
            Workload(
                series=series,
                step_seconds=milliseconds(step) / 1000,
                duration_seconds=milliseconds(duration) / 1000,
                variables=variables,
                detector=detector.value,
                window=window,
                references=references,
                reference_rows=reference_rows,
                cores=cores,
                memory_gb=memory_gb,
            )
        )
        if as_json:
            print(json.dumps(asdict(found), indent=1))
            return
        for name, value in _lines(found):
            print(f"{name:17}{value}")


def _lines(found: "Estimate") -> Iterator[tuple[str, str]]:
    from smkc.scale import measured_costs

    asked, about = found.workload, measured_costs().provenance
    yield (
        "series",
        f"{asked.series:,} in {asked.n_recordings:,} recordings of up to {asked.variables} "
        "variables",
    )
    yield (
        "rows",
        f"{asked.n_rows:,} per recording, {asked.n_observations:,} observations in all",
    )
    yield "detector", asked.detector
    yield (
        "per row",
        f"{1e6 * found.seconds_per_row:,.1f} us of one core; live, one by one, "
        f"{1e6 * found.seconds_per_live_row:,.0f} us",
    )
    yield "per observation", f"{1e6 * found.seconds_per_observation:,.2f} us"
    yield "per series", f"{found.seconds_per_series:,.3g} s for all its rows"
    yield (
        "to learn",
        f"{found.fit_core_hours:,.3g} core-hours, {asked.sizes.reference_rows:,} rows per "
        "recording",
    )
    gpu = found.score_gpu_hours
    yield (
        "to score it all",
        f"{found.score_core_hours:,.3g} core-hours"
        + ("" if gpu is None else f", or {gpu:,.3g} GPU-hours (H200)"),
    )
    yield (
        "live",
        f"{found.live_cores:,.3g} cores busy, {_bytes(found.live_bytes)} of models "
        f"({_bytes(found.model_bytes)} each): {_machines(found.live_machines)}",
    )
    yield (
        "from files",
        f"in a tenth of the time it took: {_machines(found.batch_machines)}; "
        f"{_bytes(found.batch_bytes)} per process",
    )
    yield "per machine", f"{asked.cores} cores, {asked.memory_gb:g} GB"
    yield "measured", f"{about['date'][:10]}, {about['machine']}, commit {about['commit']}"


def _bytes(n: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if n >= size:
            return f"{n / size:,.3g} {unit}"
    return f"{n / 1e3:,.3g} kB"


def _machines(n: int) -> str:
    return "1 machine" if n == 1 else f"{n:,} machines"
