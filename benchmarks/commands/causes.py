"""``python -m benchmarks causes``: how well methods rank the variables responsible for faults.

In: which methods and datasets. Out: files of rankings, a table and a picture, and the table on the
terminal.
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

__all__ = ["causes"]


def causes(
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="KEYS",
            help="Rows of the table, such as default,baro; all unless given. An unknown one lists "
            "them.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    datasets: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Some of rcd-sockshop, smd, petshop, nezha, hostwatch; all unless given.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    jobs: Jobs = None,
    stop_after: StopAfter = None,
    out: Annotated[
        Path,
        typer.Option(metavar="FOLDER", help="Where results go.", rich_help_panel=HOW),
    ] = Path("causes"),
    quiet: Quiet = False,
) -> None:
    """Rank the variables to blame for real faults beside BARO and N-Sigma (3 minutes).

    The detector at its defaults, BARO and N-Sigma are told when a fault began, or a moment 60
    seconds later, and rank the variables. The table says how often a responsible variable, and
    its service, is first and among the first five.

    The environment variable SMKC_DATA names the folder with the datasets; a missing one is told
    with its public source. hostwatch needs no download. Rankings are kept under FOLDER/rankings: a
    run that was stopped goes on where it was, and the default is run again when the detector's
    code has changed.

    **Examples**

    - `python -m benchmarks causes --datasets hostwatch`
    - `python -m benchmarks causes --jobs 2 --out results/causes`
    """
    with explained_failures(quiet):
        from benchmarks.causes.cases import DATASETS
        from benchmarks.causes.methods import METHODS
        from benchmarks.causes.tables import CausePlan, run_tables
        from benchmarks.choosing import choose

        plan = CausePlan(
            methods=[METHODS[key] for key in choose(methods, METHODS, "method")],
            datasets=choose(datasets, DATASETS, "dataset"),
            folder=out,
            processes=n_processes(jobs),
            stop_after=None if stop_after is None else 60 * stop_after,
        )
        outcome = run_tables(plan, command_typed())
        if not quiet:
            show(outcome.tables, outcome.files)
    say_what_is_left(outcome.n_left)
