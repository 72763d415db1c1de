"""``python -m benchmarks``: the command line of the benchmarks.

In: the benchmark to run, and its options. Out: files of scores, tables and pictures, and the tables
on the terminal.
"""

import sys

import typer

from benchmarks.commands.alerts import alerts
from benchmarks.commands.causes import causes
from benchmarks.commands.paper import paper
from benchmarks.commands.real import real
from benchmarks.commands.speed import speed
from smkc.cli.failure import INTERRUPTED

__all__ = ["app", "main"]

app = typer.Typer(
    name="python -m benchmarks",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(alerts)
app.command()(causes)
app.command()(real)
app.command()(paper)
app.command()(speed)


@app.callback()
def benchmarks() -> None:
    """Measure smkc beside other methods. Run this in a checkout of the project.

    New here? **python -m benchmarks alerts --methods default --datasets hostwatch,demo** needs no
    download and shows one small table.

    Install what the other methods need with *pip install -e ".[deep,plot]" --group benchmarks*.
    The commands **alerts**, **causes** and **real** read public datasets from the folder that the
    environment variable SMKC_DATA names; a missing dataset is named with its source. A run that
    was stopped continues when the same command is given again.

    Tables that were made so far are in results/. Measurements of single claims are modules: see
    *python -m benchmarks.claims.false_alarms --help*, *default_alarms*, *planted_causes* and
    *following*.
    """


def main() -> None:
    """Run the command line; exit without a traceback when interrupted."""
    try:
        app(prog_name="python -m benchmarks")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
