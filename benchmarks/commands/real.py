"""``python -m benchmarks real``: recordings of real systems with known faults, churn and drift.

In: which methods, datasets and conditions, and a budget. Out: files of scores, tables and pictures,
and the tables on the terminal.
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

__all__ = ["real"]

# What --datasets takes beside names of datasets.
ALL_LABELLED = "labelled"


def real(
    budget: Annotated[
        str,
        typer.Option(
            help="smoke: seconds, one short recording a dataset, figures mean nothing. full: all "
            "recordings, dear methods under fewer conditions. thorough: everything.",
            rich_help_panel=WHAT,
        ),
    ] = "full",
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="KEYS",
            help="Rows of the tables, such as windowed-knn,pca; all unless given. An unknown one "
            "lists them.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    datasets: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Some of smd, asd, skab, nezha, lro, petshop, nasa, cloudmon, hostwatch; all "
            "these unless given. More, if named: dbsherlock, jumpstarter, wsd, rcd-sockshop, and "
            "beside the main mean nab, wsn and recordings of our own: shop-1, shop-2, cache-1, "
            "cache-2, pipeline-1, pipeline-2. The word labelled names all of these.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    churn: Annotated[
        str | None,
        typer.Option(
            metavar="LEVELS", help="none, mild, full, or some of them.", rich_help_panel=WHAT
        ),
    ] = None,
    drift: Annotated[
        str | None,
        typer.Option(
            metavar="KINDS",
            help="still: as recorded. drift: half of the recordings drift. Both unless given.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(
            metavar="MODES",
            help="static: the reference is frozen. prequential: past test rows may be learned "
            "from. Both unless given.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many draws of churn, drift and chance; the budget's unless given.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    jobs: Jobs = None,
    stop_after: StopAfter = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Where results go. [default: real-BUDGET]", rich_help_panel=HOW
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Compare the scores of all methods on real recordings, with churn and drift (hours).

    The environment variable SMKC_DATA names the folder with the datasets; a missing one is told
    with its public source. Scores are kept first, under FOLDER/scores; a run that was stopped goes
    on where it was, and tables can be made again from scores in seconds.

    **Examples**

    - `python -m benchmarks real --budget smoke --out /tmp/smoke`
    - `python -m benchmarks real --methods windowed-knn,smkc-knn --datasets skab --mode static`
    - `python -m benchmarks real --datasets labelled --methods smkc-evidence,windowed-knn,pca`
    - `python -m benchmarks real --jobs 2 --stop-after 60`
    """
    with explained_failures(quiet):
        from benchmarks.choosing import choose
        from benchmarks.real.budget import find_budget
        from benchmarks.real.churn import LEVELS
        from benchmarks.real.datasets import dataset, dataset_names
        from benchmarks.real.jobs import RunSettings
        from benchmarks.real.methods import METHODS
        from benchmarks.real.plan import DRIFTS, MODES, Plan
        from benchmarks.real.tables import headlines, run_tables

        taken = find_budget(budget)
        labelled = [one for one in dataset_names(ranked=False) if dataset(one).is_labelled]
        wanted = None if datasets == ALL_LABELLED else datasets
        rows = [METHODS[key] for key in choose(methods, METHODS, "method")]
        if methods is None and taken.name == "smoke":
            rows = [method for method in rows if method.is_quick]
        plan = Plan(
            settings=RunSettings(
                budget=taken,
                folder=out or Path(f"real-{taken.name}"),
                processes=n_processes(jobs),
                stop_after=None if stop_after is None else 60 * stop_after,
            ),
            methods=rows,
            datasets=choose(wanted, dataset_names() if datasets is None else labelled, "dataset"),
            seeds=seeds or taken.seeds,
            churn=choose(churn, LEVELS, "churn"),
            drift=[DRIFTS[word] for word in choose(drift, DRIFTS, "drift")],
            modes=[MODES[word] for word in choose(mode, MODES, "mode")],
        )
        outcome = run_tables(plan, command_typed())
        if not quiet:
            show(headlines(outcome.tables), outcome.files)
    say_what_is_left(outcome.n_left)
