"""``python -m benchmarks paper``: the tables of the SMKC paper, made again.

In: which tables, and a budget. Out: files of scores, tables and pictures, and the tables on the
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

__all__ = ["paper"]


def paper(
    table: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="average, cardinality, rate, types, likeness, hash-width, scaling, ablation, "
            "ablation-tuned, contradictions, seeds, end-to-end, diagnostic, concentration, stages, "
            "several of them separated by commas, or all.",
            rich_help_panel=WHAT,
        ),
    ] = "average",
    budget: Annotated[
        str,
        typer.Option(
            help="smoke: minutes, figures mean nothing. quick: fewer windows and epochs, for two "
            "cores. paper: the paper's sizes; wants a GPU. more-windows: ten times as many to "
            "train on.",
            rich_help_panel=WHAT,
        ),
    ] = "quick",
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="KEYS",
            help="Rows of the main tables, such as randproj-knn,gru-ae; all unless given. An "
            "unknown one lists them.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    protocols: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Protocols of the main tables: in_dist_C, holdout_C; both unless given.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="How many runs; the budget's unless given.", rich_help_panel=WHAT),
    ] = None,
    world: Annotated[
        str,
        typer.Option(
            help="The generator's variant: paper, clean-copy, noisy, ar2, structured-missingness, "
            "drift, opposite-regimes, long-segments, short-memory, dense-factors, any-composition "
            "or seen-variables.",
            rich_help_panel=WHAT,
        ),
    ] = "paper",
    device: Annotated[
        str,
        typer.Option(help="Where networks are trained: cpu or cuda.", rich_help_panel=HOW),
    ] = "cpu",
    jobs: Jobs = None,
    stop_after: StopAfter = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where results go. [default: tables-BUDGET]",
            rich_help_panel=HOW,
        ),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Also write the ranks of all scores that the tables read into this folder, in "
            "files small enough to be published.",
            rich_help_panel=HOW,
        ),
    ] = None,
    from_record: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Make the tables from what --record wrote, such as results/paper/record; nothing "
            "is run.",
            rich_help_panel=HOW,
        ),
    ] = None,
    any_code: Annotated[
        bool,
        typer.Option(
            "--any-code",
            help="Also use score files that other code made, instead of running these jobs again.",
            rich_help_panel=HOW,
        ),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Make the tables of the SMKC paper again, beside its own figures (smoke: minutes).

    Each table has our figure, the paper's, and how far apart they are.

    Scores of every method and test set are kept first, under FOLDER/scores; a run that was stopped
    goes on where it was, and tables can be made again from scores in seconds. Scores that other
    code made are not used, unless --any-code is given.

    **Examples**

    - `python -m benchmarks paper --table all --budget smoke --out /tmp/smoke`
    - `python -m benchmarks paper --table average,types --methods randproj-knn,isolation-forest`
    - `python -m benchmarks paper --table all --budget paper --device cuda --jobs 6 --stop-after 9`
    - `python -m benchmarks paper --table all --budget paper --from-record results/paper/record`
    """
    with explained_failures(quiet):
        from benchmarks.choosing import choose
        from benchmarks.paper.budget import find_budget
        from benchmarks.paper.jobs import RunSettings
        from benchmarks.paper.methods import METHODS
        from benchmarks.paper.plan import Plan
        from benchmarks.paper.tables import TABLES, run_tables
        from benchmarks.protocols import PROTOCOLS
        from benchmarks.world import find_world

        find_world(world)
        taken = find_budget(budget)
        plan = Plan(
            settings=RunSettings(
                budget=taken,
                folder=out or Path(f"tables-{taken.name}"),
                device=device,
                processes=n_processes(jobs),
                stop_after=None if stop_after is None else 60 * stop_after,
                record=from_record,
                any_code=any_code,
            ),
            methods=[METHODS[key] for key in choose(methods, METHODS, "method")],
            seeds=seeds or taken.seeds,
            world=world,
            protocols=choose(protocols, PROTOCOLS, "protocol"),
        )
        names = choose(None if table == "all" else table, TABLES, "table")
        outcome = run_tables(names, plan, command_typed(), record=record)
        if not quiet:
            show(outcome.tables, outcome.files)
    say_what_is_left(outcome.n_left)
