"""The command ``smkc`` and its subcommands, one file per subcommand.

In: the arguments of the process. Out: the exit code. Large modules are imported only when a
subcommand runs, so that ``--help`` is fast.
"""

import sys
from typing import Annotated

import typer

from smkc.cli.demo import demo
from smkc.cli.detect import detect
from smkc.cli.doctor import doctor
from smkc.cli.explain import explain
from smkc.cli.failure import INTERRUPTED
from smkc.cli.fit import fit
from smkc.cli.mcp import mcp
from smkc.cli.warmup import warmup
from smkc.cli.watch import watch
from smkc.version import VERSION

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
app.command()(warmup)


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

    New here? **smkc demo** generates the telemetry of a small fleet, finds the incidents in it and
    writes an HTML report; the first run compiles for about 15 seconds. Then try your own file with
    **smkc detect metrics.csv --report report.html**, or a live system: **smkc watch --help**
    """


def main() -> None:
    """Run the command; exit with 130 and without a traceback when interrupted."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
