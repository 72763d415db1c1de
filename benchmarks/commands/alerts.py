"""``python -m benchmarks alerts``: how many faults raise an alert, and how many alerts are false.

In: which methods and datasets. Out: files of scores and alerts, tables and a picture, and the
tables on the terminal.
"""

from pathlib import Path
from typing import Annotated

import typer

from benchmarks.commands.options import (
    HOW,
    WHAT,
    Jobs,
    StopAfter,
    command_typed,
    n_processes,
    say_what_is_left,
    show,
)
from smkc.cli.failure import explained_failures
from smkc.cli.options import Quiet

__all__ = ["alerts"]


def alerts(
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="KEYS",
            help="Rows of the tables, such as default,pca; all unless given. An unknown one lists "
            "them.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    variants: Annotated[
        str | None,
        typer.Option(
            metavar="SETTINGS",
            help="More rows: the default with other settings, such as calm_rows=10 or "
            "clip=20+calm_rows=10, or 'without seasons'; ablation leaves out each part in turn. An "
            "unknown setting or part lists them.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    datasets: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Some of asd, cloudmon, dbsherlock, jumpstarter, lro, nasa, nezha, petshop, "
            "rcd-sockshop, skab, smd, wsd, huawei-quiet, exathlon-quiet, hostwatch, shop-1, "
            "cache-1, pipeline-1, demo; all these unless given. Held back, to judge and not to "
            "choose by: shop-2, cache-2, pipeline-2.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDERS",
            help="Folders of recordings made by tools.recorder, separated by commas; these alone "
            "unless --datasets is given.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    jobs: Jobs = None,
    stop_after: StopAfter = None,
    out: Annotated[
        Path,
        typer.Option(metavar="FOLDER", help="Where results go.", rich_help_panel=HOW),
    ] = Path("alerts"),
    quiet: Quiet = False,
) -> None:
    """Count the real faults that raise an alert, false alerts and causes named (8 minutes).

    The detector at its defaults, and simple methods whose scores are calibrated for one false alert
    per 1,000 rows, watch recordings of real systems with labelled faults, two quiet recordings, the
    project's own recording (hostwatch) and the demo's fleet over 20 seeds.

    The environment variable SMKC_DATA names the folder with the datasets; a missing one is told
    with its public source. hostwatch and demo need no download. Scores and alerts are kept under
    FOLDER/scores: a run that was stopped goes on where it was, tables are made again in seconds,
    and the default is run again when the detector's code has changed. The default takes about 4
    minutes of one processor, everything about 8.

    **Examples**

    - `python -m benchmarks alerts --methods default --datasets hostwatch,demo`
    - `python -m benchmarks alerts --methods default --jobs 2 --out before`
    - `python -m benchmarks alerts --jobs 2`
    - `python -m benchmarks alerts --methods default --data shop-1,shop-2`
    - `python -m benchmarks alerts --methods default --variants ablation --out ablation`
    """
    with explained_failures(quiet):
        from benchmarks.alerts.columns import DATASETS, HELD_BACK
        from benchmarks.alerts.methods import METHODS, variant
        from benchmarks.alerts.tables import AlertPlan, headlines, run_tables
        from benchmarks.alerts.variants import variant_keys
        from benchmarks.choosing import choose
        from benchmarks.real.datasets import recording_names

        recordings = recording_names(data)
        is_only_data = bool(recordings) and datasets is None
        known = DATASETS if datasets is None else (*DATASETS, *HELD_BACK)
        chosen = [] if is_only_data else choose(datasets, known, "dataset")
        plan = AlertPlan(
            methods=[
                *(METHODS[key] for key in choose(methods, METHODS, "method")),
                *(variant(key) for key in variant_keys(variants)),
            ],
            datasets=[*chosen, *recordings],
            folder=out,
            processes=n_processes(jobs),
            stop_after=None if stop_after is None else 60 * stop_after,
        )
        outcome = run_tables(plan, command_typed())
        if not quiet:
            show(headlines(outcome.tables), outcome.files)
    say_what_is_left(outcome.n_left)
