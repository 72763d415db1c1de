"""The command ``smkc`` and its subcommands, a file each.

In: the process's arguments. Out: the exit code. Nothing heavy is imported before a subcommand
runs, so that ``--help`` is quick.
"""

import sys
from typing import Annotated

import typer

from smkc.cli.bench import bench
from smkc.cli.demo import demo
from smkc.cli.detect import detect
from smkc.cli.doctor import doctor
from smkc.cli.explain import explain
from smkc.cli.failure import INTERRUPTED
from smkc.cli.fit import fit
from smkc.cli.mcp import mcp
from smkc.cli.plan import plan
from smkc.cli.warmup import warmup
from smkc.cli.watch import watch
from smkc.version import VERSION

__all__ = ["app", "main"]

# For commands that take whatever words and options they are given, --help too.
ANYTHING = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}

app = typer.Typer(
    name="smkc",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)
app.command()(detect)
app.command()(fit)
app.command()(explain)
app.command()(doctor)
app.command()(watch)
app.command()(mcp)
app.command()(plan)
app.command()(warmup)
app.command(hidden=True, context_settings=ANYTHING)(bench)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        print(f"smkc {VERSION}")
        raise typer.Exit


@app.callback()
def smkc(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Find anomalies in telemetry whose variables come and go.

    New here? **smkc demo** makes up a small fleet's telemetry, finds the trouble in it and
    writes a page to look at; the first run compiles, some 15 seconds. Then try your own file:
    **smkc detect metrics.csv --report report.html**, or a live system: **smkc watch --help**
    """


def main() -> None:
    """Run the command and leave quietly when interrupted."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
