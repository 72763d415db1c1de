"""``smkc bench``: measure smkc and its competitors.

In: which benchmark, and what it may cost. Out: files of scores, tables and pictures, and the tables
on the terminal; or what a workload will cost.
"""

import typer

from smkc.cli.bench_alerts import alerts
from smkc.cli.bench_paper import paper
from smkc.cli.bench_real import real
from smkc.cli.bench_speed import speed

__all__ = ["bench"]

bench = typer.Typer(
    no_args_is_help=True,
    help="Measure smkc and its competitors: the paper's tables made anew, real data, alerts, and "
    "what a workload costs.",
)


@bench.callback()
def _measure() -> None:
    """Measure smkc and its competitors."""


bench.command()(alerts)
bench.command()(paper)
bench.command()(real)
bench.command()(speed)
