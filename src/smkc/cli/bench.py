"""``smkc bench``: measure smkc and its competitors.

In: which benchmark, and what it may cost. Out: files of scores, tables and pictures, and the tables
on the terminal.
"""

import typer

from smkc.cli.bench_paper import paper
from smkc.cli.bench_real import real

__all__ = ["bench"]

bench = typer.Typer(
    no_args_is_help=True,
    help="Measure smkc and its competitors: the paper's tables made anew, and real data.",
)


@bench.callback()
def _measure() -> None:
    """Measure smkc and its competitors."""


bench.command()(paper)
bench.command()(real)
