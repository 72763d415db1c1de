"""``smkc watch``: follow a live system, and say what is wrong with it.

In: a configuration, or the address of a Prometheus and a query. Out: scores, alerts with their
causes, a dashboard and an API, until it is interrupted; it goes on where it was the next time.
"""

import logging
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smkc.cli import options
from smkc.cli.doctor import DOES_NOT_WORK
from smkc.cli.failure import explained_failures
from smkc.errors import MissingExtraError, SettingError, install_command

if TYPE_CHECKING:
    from smkc.serve.config import Config

__all__ = ["watch"]

WHAT = "What to watch"
TOLD = "Who hears of it"
RUN = "How to run"

NEEDED = ("cramjam", "fastapi", "httpx", "prometheus_client", "uvicorn")

# Seconds between looks at what is new.
READY_CHECK_SECONDS = 0.2


def watch(
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            help="Everything from a file: several watches, tokens, limits, receivers.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    prometheus: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Where Prometheus is, such as http://localhost:9090.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    query: Annotated[
        str | None,
        typer.Option(
            metavar="PROMQL",
            help="Which series to follow, such as '{job=\"node\"}'.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    name: Annotated[
        str, typer.Option(help="What to call the watch.", rich_help_panel=WHAT)
    ] = "watch",
    step: Annotated[
        str | None,
        typer.Option(
            metavar="15s",
            help="From one row to the next. [default: the scrape interval]",
            rich_help_panel=WHAT,
        ),
    ] = None,
    history: Annotated[
        str | None,
        typer.Option(
            metavar="6h",
            help="How much of the past to fetch and learn from. [default: 6h]",
            rich_help_panel=WHAT,
        ),
    ] = None,
    entity: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL",
            help="Judge each value of this label by itself: namespace, say, or instance.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    false_alarms: Annotated[
        float | None,
        typer.Option(
            metavar="PER_DAY",
            help="About how many false alarms a day you can live with. [default: 1]",
            rich_help_panel=WHAT,
        ),
    ] = None,
    alertmanager: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Send alerts here, such as http://localhost:9093.",
            rich_help_panel=TOLD,
        ),
    ] = None,
    webhook: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Post alerts here as JSON.", rich_help_panel=TOLD),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where history and models are kept. [default: smkc-data]",
            rich_help_panel=RUN,
        ),
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Where dashboard and API are reached. [default: 127.0.0.1:9469]",
            rich_help_panel=RUN,
        ),
    ] = None,
    no_serve: Annotated[
        bool, typer.Option("--no-serve", help="No dashboard, no API.", rich_help_panel=RUN)
    ] = False,
    once: Annotated[
        bool,
        typer.Option(
            "--once",
            help="Learn, judge the latest rows, print the result and end.",
            rich_help_panel=RUN,
        ),
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Only read the configuration and its secrets, learn from the history of each "
            "watch, say what it would catch, and end: with 5 if that is too little.",
            rich_help_panel=RUN,
        ),
    ] = False,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="With --check: ask for one row of each watch alone.",
            rich_help_panel=RUN,
        ),
    ] = False,
    backtest: Annotated[
        str | None,
        typer.Option(
            metavar="7d",
            help="Only replay so much of Prometheus' past, list the alerts that each of several "
            "budgets of false alarms would have given, and end.",
            rich_help_panel=RUN,
        ),
    ] = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Follow a live system: point it at a Prometheus, and see what is wrong and who is to blame.

    It fetches the last hours, learns what is normal from them, and then judges every new row as it
    comes. Series may come and go: pods under new names need no new learning. What is anomalous
    becomes an alert that names its causes, on this terminal, on the dashboard, and wherever you
    have it sent.

    Ctrl-C stops it. Started again with the same folder it goes on exactly where it was, and
    fetches the rows that it missed.

    **Examples**

    - `smkc watch --prometheus http://localhost:9090 --query '{job="node"}'`
    - `smkc watch --prometheus http://localhost:9090 --query '{job="pods"}' --entity namespace`
    - `smkc watch --prometheus http://localhost:9090 --query up --once --json`
    - `smkc watch --config watch.toml --check`
    - `smkc watch --config watch.toml --backtest 7d`
    - `smkc watch --config watch.toml`
    """
    with explained_failures(quiet or as_json):
        _require_extra()
        plan = _plan(
            config,
            prometheus,
            query,
            name=name,
            data=data,
            listen=listen,
            alertmanager=alertmanager,
            webhook=webhook,
            step=step,
            history=history,
            entity=entity,
            false_alarms_per_day=false_alarms,
        )
        if as_json and not (once or check or backtest):
            raise SettingError(
                "--json prints what --once, --check or --backtest found; give one of them, or "
                "leave it out: while it runs, ask the API"
            )
        if quick and not check:
            raise SettingError("--quick shortens --check; give that too, or leave it out")
        if check:
            from smkc.cli.watch_check import check as check_plan

            if not check_plan(plan, as_json, quick=quick):
                raise typer.Exit(DOES_NOT_WORK)
            return
        if backtest is not None:
            from smkc.cli.watch_backtest import backtest as replay

            replay(plan, backtest, as_json)
            return
        with _logging(quiet or as_json):
            if once:
                _run_once(plan, quiet, as_json)
            else:
                _run(plan, quiet or as_json, serves=not no_serve)


@contextmanager
def _logging(quiet: bool) -> Iterator[None]:
    """Write to standard error meanwhile what the service logs and no problem of its health says.

    Problems are told, and told to be over, by :class:`smkc.cli.watching.Reporter`; when that is
    quiet, errors are written whatever they are.
    """
    from smkc.serve.view import is_in_health

    handler = logging.StreamHandler()
    handler.setLevel(logging.ERROR if quiet else logging.WARNING)
    form = logging.Formatter(
        "%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S"
    )
    form.converter = time.gmtime
    handler.setFormatter(form)
    if not quiet:
        handler.addFilter(lambda record: not is_in_health(record))
    logger = logging.getLogger("smkc")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _require_extra() -> None:
    missing = [package for package in NEEDED if find_spec(package) is None]
    if missing:
        raise MissingExtraError(
            f"watching needs {', '.join(missing)}, which is not installed; "
            f"install it with: {install_command('serve')}"
        )


def _plan(file: Path | None, prometheus: str | None, query: str | None, **given: Any) -> "Config":
    """Make the configuration of what was typed."""
    from smkc.serve.config import read_config, simple_config

    if file is not None:
        also = {"prometheus": prometheus, "query": query, **given}
        usual = {"name": "watch"}
        named = [key for key, value in also.items() if value not in (None, usual.get(key))]
        if named:
            option = named[0].removesuffix("_per_day").replace("_", "-")
            raise SettingError(
                f"--config names everything, and --{option} is given too; "
                "write it into the file, or leave --config out"
            )
        return read_config(file)
    if prometheus is None or query is None:
        raise SettingError(
            "say what to watch: --prometheus URL and --query PROMQL, or --config FILE.toml; "
            "smkc watch --help shows examples"
        )
    return simple_config(prometheus, query, **given)


def _run(plan: "Config", quiet: bool, serves: bool) -> None:
    """Follow until somebody ends it."""
    from smkc.cli.watching import Reporter
    from smkc.serve.api import Server, create_app
    from smkc.serve.service import Service

    service = Service(plan)
    server = Server(create_app(service), plan.listen) if serves else None
    stopping = threading.Event()
    previous = {
        number: signal.signal(number, lambda *_: stopping.set())
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        service.start()
        if server is not None:
            server.start()
        reporter = Reporter(service, quiet)
        reporter.begin(server.url if server is not None else None)
        while not stopping.wait(READY_CHECK_SECONDS):
            reporter.look()
        reporter.look()
        reporter.end()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        if server is not None:
            server.stop()
        service.stop()


def _run_once(plan: "Config", quiet: bool, as_json: bool) -> None:
    """Follow until the latest row is judged, and print what was found."""
    from smkc.cli.printing import print_json
    from smkc.cli.watching import Reporter, caught_up, summary, summary_record
    from smkc.serve.service import Service

    with Service(plan) as service:
        reporter = Reporter(service, quiet or as_json)
        while not caught_up(service):
            reporter.look(with_problems=False)  # they may pass; if not, they are the end of it
            threading.Event().wait(READY_CHECK_SECONDS)
        reporter.look()
        if as_json:
            print_json(summary_record(service))
        else:
            summary(service)
