"""``smkc watch``: follow a live system and report anomalies.

In: a configuration, or the address of a Prometheus server and a query. Out: scores, alerts with
their causes, a dashboard and an API, until it is interrupted; the next start resumes from there.
"""

import logging
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smkc.cli import options
from smkc.cli.doctor import DOES_NOT_WORK
from smkc.cli.failure import explained_failures
from smkc.errors import SettingError, install_command, optional_module

if TYPE_CHECKING:
    from smkc.serve.config import Config

for_source = partial(typer.Option, rich_help_panel="What to watch")
for_receivers = partial(typer.Option, rich_help_panel="Receivers of alerts")
for_running = partial(typer.Option, rich_help_panel="How to run")

# Packages of the extra serve.
NEEDED = ("cramjam", "fastapi", "httpx", "prometheus_client", "uvicorn")

# Seconds between polls of the service.
READY_CHECK_SECONDS = 0.2


def watch(
    config: Annotated[
        Path | None,
        for_source(
            metavar="FILE.toml",
            help="Read everything from a file: several watches, tokens, limits, receivers.",
        ),
    ] = None,
    prometheus: Annotated[
        str | None,
        for_source(metavar="URL", help="Address of Prometheus, such as http://localhost:9090."),
    ] = None,
    query: Annotated[
        str | None,
        for_source(
            metavar="PROMQL", help="Query for the series to follow, such as '{job=\"node\"}'."
        ),
    ] = None,
    name: Annotated[str, for_source(help="Name of the watch.")] = "watch",
    step: Annotated[
        str | None,
        for_source(
            metavar="15s", help="Time from one row to the next. [default: the scrape interval]"
        ),
    ] = None,
    history: Annotated[
        str | None,
        for_source(
            metavar="6h",
            help="Past to fetch and learn from. [default: up to 7d, 20,000 rows and 10 million "
            "values, at least 6h]",
        ),
    ] = None,
    entity: Annotated[
        str | None,
        for_source(
            metavar="LABEL",
            help="Score each value of this label separately, such as namespace or instance.",
        ),
    ] = None,
    false_alarms: Annotated[
        float | None,
        for_source(metavar="PER_DAY", help="Accepted number of false alarms per day. [default: 1]"),
    ] = None,
    alertmanager: Annotated[
        str | None,
        for_receivers(
            metavar="URL",
            help="Send alerts to this Alertmanager, such as http://localhost:9093.",
        ),
    ] = None,
    webhook: Annotated[
        str | None, for_receivers(metavar="URL", help="Post alerts to this address as JSON.")
    ] = None,
    data: Annotated[
        Path | None,
        for_running(metavar="FOLDER", help="Folder for history and models. [default: smkc-data]"),
    ] = None,
    listen: Annotated[
        str | None,
        for_running(
            metavar="HOST:PORT",
            help="Address of the dashboard and the API. [default: 127.0.0.1:9469]",
        ),
    ] = None,
    shard: Annotated[
        str | None,
        for_running(
            metavar="2/4",
            help="Follow a part of the entities, here the second of four, with data in a folder of "
            "its own; start one process for each part. --data and --listen may then be given "
            "beside --config. --check and --backtest look at all parts.",
        ),
    ] = None,
    check: Annotated[
        bool,
        for_running(
            "--check",
            help="Check the configuration and its secrets, test on the history of each watch which "
            "anomalies it would detect, and exit; the exit code is 5 if they are too few.",
        ),
    ] = False,
    quick: Annotated[
        bool,
        for_running("--quick", help="With --check: query only the latest row of each watch."),
    ] = False,
    backtest: Annotated[
        str | None,
        for_running(
            metavar="7d",
            help="Replay this much of the past from Prometheus, list the alerts for several values "
            "of --false-alarms, and exit.",
        ),
    ] = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Follow a live system through Prometheus, and raise alerts that name their causes.

    It fetches the last hours, learns from them what is normal, and then scores every new row.
    Series may come and go: pods under new names need no new model. Alerts are shown on this
    terminal and on the dashboard, and are sent to Alertmanager or a webhook if given.

    Ctrl-C stops it. Started again with the same folder, it continues where it stopped, and fetches
    the rows that it missed.

    **Examples**

    - `smkc watch --prometheus http://localhost:9090 --query '{job="node"}'`
    - `smkc watch --prometheus http://localhost:9090 --query '{job="pods"}' --entity namespace`
    - `smkc watch --config watch.toml --check`
    - `smkc watch --config watch.toml --backtest 7d`
    - `smkc watch --config watch.toml`
    - `smkc watch --config watch.toml --shard 2/4 --listen 127.0.0.1:9470`
    """
    with explained_failures(quiet or as_json):
        for package in NEEDED:
            optional_module(package, package, install_command("serve"))
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
            shard=shard,
        )
        if as_json and not (check or backtest):
            raise SettingError(
                "--json prints the result of --check or --backtest; give one of them, or leave it "
                "out and query the API of the running service"
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
        with _logging(quiet):
            _run(plan if shard is None else _of_shard(plan, shard), quiet)


@contextmanager
def _logging(quiet: bool) -> Iterator[None]:
    """Write log records of the service to standard error within the context.

    Records that its health reports as problems are left out, because
    :class:`smkc.cli.watching.Reporter` prints those. If ``quiet``, only errors are written, but
    none is left out.
    """
    handler = logging.StreamHandler()
    handler.setLevel(logging.ERROR if quiet else logging.WARNING)
    form = logging.Formatter(
        "%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S"
    )
    form.converter = time.gmtime
    handler.setFormatter(form)
    if not quiet:
        handler.addFilter(lambda record: not hasattr(record, "is_in_health"))
    logger = logging.getLogger("smkc")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _of_shard(plan: "Config", shard: str) -> "Config":
    from smkc.serve.config import read_shard

    return plan.of_shard(read_shard(shard))


def _plan(
    file: Path | None, prometheus: str | None, query: str | None, shard: str | None, **given: Any
) -> "Config":
    """Return the configuration from the file, or from the options."""
    from smkc.serve.config import read_config, simple_config

    if file is not None:
        own: dict[str, str] = {}
        if shard is not None:  # one file for all shards
            listen, data = given.pop("listen"), given.pop("data")
            own |= {} if listen is None else {"listen": listen}
            own |= {} if data is None else {"data": str(data.absolute())}
        also = {"prometheus": prometheus, "query": query, **given}
        usual = {"name": "watch"}
        named = [key for key, value in also.items() if value not in (None, usual.get(key))]
        if named:
            option = named[0].removesuffix("_per_day").replace("_", "-")
            raise SettingError(
                f"--config names everything, and --{option} is given too; "
                "write it into the file, or leave --config out"
            )
        return read_config(file, **own)
    if prometheus is None or query is None:
        raise SettingError(
            "say what to watch: --prometheus URL and --query PROMQL, or --config FILE.toml; "
            "smkc watch --help shows examples"
        )
    return simple_config(prometheus, query, **given)


def _run(plan: "Config", quiet: bool) -> None:
    """Follow until SIGINT or SIGTERM arrives."""
    from smkc.cli.watching import Reporter
    from smkc.serve.api import Server, create_app
    from smkc.serve.service import Service

    service = Service(plan)
    server = Server(create_app(service), plan.listen)
    stopping = threading.Event()
    previous = {
        number: signal.signal(number, lambda *_: stopping.set())
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        service.start()
        server.start()
        reporter = Reporter(service, quiet)
        reporter.begin(server.url)
        while not stopping.wait(READY_CHECK_SECONDS):
            reporter.look()
        reporter.look()
        reporter.end()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        server.stop()
        service.stop()
