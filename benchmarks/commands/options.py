"""Options and output that several commands share.

In: nothing. Out: annotated types for typer, the command as typed, and functions that end a run.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.report import markdown
from benchmarks.table import Table

__all__ = [
    "HOW",
    "STOPPED_EARLY",
    "WHAT",
    "Jobs",
    "StopAfter",
    "command_typed",
    "n_processes",
    "say_what_is_left",
    "show",
]

WHAT = "What to run"
HOW = "How to run it"

STOPPED_EARLY = 4

Jobs = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of runs at the same time. [default: one per processor]",
        rich_help_panel=HOW,
    ),
]

StopAfter = Annotated[
    float | None,
    typer.Option(
        metavar="MINUTES",
        min=0.0,
        help="Start no further run after this time; the same command continues from there.",
        rich_help_panel=HOW,
    ),
]


def command_typed() -> str:
    """Return the command as typed, for the provenance of its results."""
    return " ".join(["python -m benchmarks", *sys.argv[1:]])


def n_processes(jobs: int | None) -> int:
    """Return the number of runs at the same time: ``jobs``, or one per available processor."""
    return jobs or len(os.sched_getaffinity(0))


def show(tables: Iterable[Table], files: Sequence[Path]) -> None:
    """Print tables, then the paths of all files that were written."""
    for table in tables:
        print(markdown(table, {}))
    for path in files:
        print(path)


def say_what_is_left(n_left: int) -> None:
    """Print a note and exit with the code STOPPED_EARLY if runs are left."""
    if n_left:
        note = f"{n_left} runs are left; give the same command again to continue."
        print(note, file=sys.stderr)
        raise typer.Exit(STOPPED_EARLY)
