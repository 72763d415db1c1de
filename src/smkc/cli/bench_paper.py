"""``smkc bench paper``: the paper's tables, made anew.

In: which tables, and what they may cost. Out: files of scores, tables and pictures, and the tables
on the terminal.
"""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from smkc.cli import options
from smkc.cli.failure import explained_failures

__all__ = ["HOW", "STOPPED_EARLY", "WHAT", "Jobs", "StopAfter", "paper", "say_what_is_left"]

WHAT = "What to run"
HOW = "How to run it"

STOPPED_EARLY = 4

Jobs = Annotated[
    int | None,
    typer.Option(min=1, help="Runs at a time; one a processor unless given.", rich_help_panel=HOW),
]

StopAfter = Annotated[
    float | None,
    typer.Option(
        metavar="MINUTES",
        min=0.0,
        help="Start no further run after so long; the same command goes on from there.",
        rich_help_panel=HOW,
    ),
]


def say_what_is_left(n_left: int) -> None:
    """End with an exit code of its own if runs are left."""
    if n_left:
        note = f"{n_left} runs are left; give the same command again to go on."
        print(note, file=sys.stderr)
        raise typer.Exit(STOPPED_EARLY)


def paper(
    table: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="average, cardinality, rate, types, likeness, hash-width, scaling, diagnostic, "
            "several of them separated by commas, or all.",
            rich_help_panel=WHAT,
        ),
    ] = "average",
    budget: Annotated[
        str,
        typer.Option(
            help="smoke: minutes, figures mean nothing. quick: fewer windows and epochs, for two "
            "cores. paper: the paper's sizes; wants a GPU.",
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
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="How many runs; the budget's unless given.", rich_help_panel=WHAT),
    ] = None,
    world: Annotated[
        str,
        typer.Option(
            help="The generator's variant: paper, clean-copy, noisy, ar2, structured-missingness, "
            "drift or seen-variables.",
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
    quiet: options.Quiet = False,
) -> None:
    """Make the paper's tables anew: ours beside the paper's figures, and how far apart they are.

    Scores of every method and test set are kept first, under FOLDER/scores; a run that was stopped
    goes on where it was, and tables can be made again from scores in seconds.

    **Examples**

    - `smkc bench paper --table all --budget smoke --out /tmp/smoke`
    - `smkc bench paper --table average,types --methods randproj-knn,isolation-forest`
    - `smkc bench paper --table all --budget paper --device cuda --jobs 6 --stop-after 9`
    """
    with explained_failures(quiet):
        from smkc.bench.paper.budget import find_budget
        from smkc.bench.paper.jobs import RunSettings
        from smkc.bench.paper.methods import find_methods
        from smkc.bench.paper.plan import Plan
        from smkc.bench.paper.tables import find_tables, run_tables
        from smkc.bench.report import markdown
        from smkc.bench.world import find_world

        find_world(world)
        chosen = find_budget(budget)
        plan = Plan(
            settings=RunSettings(
                budget=chosen,
                folder=out or Path(f"tables-{chosen.name}"),
                device=device,
                processes=jobs or len(os.sched_getaffinity(0)),
                stop_after=None if stop_after is None else 60 * stop_after,
            ),
            methods=find_methods(methods),
            seeds=seeds or chosen.seeds,
            world=world,
        )
        names = find_tables(table)
        outcome = run_tables(names, plan, " ".join(["smkc", *sys.argv[1:]]))
        if not quiet:
            for made in outcome.tables:
                print(markdown(made, {}))
            for path in outcome.files:
                print(path)
    say_what_is_left(outcome.n_left)
