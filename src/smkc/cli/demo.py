"""``smkc demo``: detection on synthetic or recorded telemetry with known incidents.

In: a seed, or a recording to replay. Out: a summary that compares alerts with the planted
incidents, a report page, and the telemetry as files for trying other commands.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smkc.cli import options
from smkc.cli.failure import explained_failures

if TYPE_CHECKING:
    from smkc.decide import Alert
    from smkc.fleet import Finding, Fleet


def demo(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder to write to.")] = Path(
        "smkc-demo"
    ),
    seed: Annotated[int, typer.Option(min=0, help="Another seed gives another fleet.")] = 0,
    replay: Annotated[
        str | None,
        typer.Option(
            metavar="DATASET",
            help="Use a recording of a real system instead: hostwatch, shop, cache or pipeline.",
        ),
    ] = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Generate the telemetry of a small fleet, find the incidents in it, and write an HTML report.

    The fleet has three services on some ten pods, with one variable per pod and metric. Routine
    changes are part of it: pods are replaced under new names, a metric is renamed, samples are
    lost. Four incidents are planted. The summary lists which were found and which were missed, the
    variable named first for each, and the false alarms, with default settings.

    The telemetry is written to the same folder, to try other commands on: reference and live, each
    as Parquet (long) and CSV (wide), and the incidents as labels.csv.

    With `--replay` the telemetry is real, recorded by Prometheus while faults were injected:
    hostwatch is a machine with a small fleet of services; shop is nginx, PostgreSQL, Redis and an
    application whose replicas are rolled out and scaled; cache is a Redis cluster whose nodes are
    replaced one by one; pipeline is RabbitMQ with producers, consumers and jobs that come and go.
    The recordings are part of a checkout of the project, in data/.

    **Examples**

    - `smkc demo`
    - `smkc demo --out /tmp/demo --seed 7`
    - `smkc demo --replay shop`
    """
    with explained_failures(quiet or as_json):
        from smkc.detector import Detector
        from smkc.fleet import hold_against, make_fleet, replay_fleet, write_fleet
        from smkc.plot import report
        from smkc.plot.page import need

        need("jinja2")  # fail before the work rather than after it
        out.mkdir(parents=True, exist_ok=True)
        fleet = make_fleet(seed) if replay is None else replay_fleet(replay)
        subject = "A small fleet's day" if replay is None else "A real system, recorded"
        data = write_fleet(fleet, out)
        scored = Detector().fit(fleet.reference).score(fleet.live)
        alerts = scored.alerts()
        finding = hold_against(alerts, fleet.incidents)
        page = report(
            out / "report.html",
            scored,
            title=f"{subject}: what smkc found",
            incidents=fleet.incidents,
            routine=fleet.routine,
        )
        if as_json:
            _print_record(fleet, alerts, finding, page, data)
        else:
            _print_summary(fleet, finding, page, data, quiet)


def _named(met: "tuple[Alert, ...]") -> str | None:
    """Return the first cause of the strongest of an incident's alerts."""
    causes = max(met, key=lambda alert: alert.score).causes if met else ()
    return causes[0].variable if causes else None


def _print_record(
    fleet: "Fleet",
    alerts: "list[Alert]",
    finding: "Finding",
    page: Path,
    data: list[Path],
) -> None:
    from smkc.cli.printing import alert_record, print_json, time_value

    incidents: list[dict[str, Any]] = [
        {
            "kind": incident.kind,
            "start": time_value(incident.start),
            "end": time_value(incident.end),
            "found": bool(met),
            "planted_in": list(incident.variables),
            "named": _named(met),
        }
        for incident, met in finding.by_incident
    ]
    print_json(
        {
            "rows": len(fleet.live),
            "variables": len(fleet.live.names),
            "incidents": incidents,
            "found": finding.n_found,
            "false_alarms": len(finding.false_alarms),
            "alerts": [alert_record(alert) for alert in alerts],
            "report": str(page),
            "data": [str(path) for path in data],
        }
    )


def _print_summary(
    fleet: "Fleet",
    finding: "Finding",
    page: Path,
    data: list[Path],
    quiet: bool,
) -> None:
    from rich.text import Text

    from smkc.cli.printing import alert_table, console, plain_table
    from smkc.plot.wording import clock

    screen = console()
    if not quiet:
        screen.print(
            f"Watched {len(fleet.live):,} rows of {len(fleet.live.names):,} variables, "
            f"having learned from the {len(fleet.reference):,} rows before.\n"
        )
    table = plain_table("planted", "when (UTC)", "verdict")
    table.add_column("most guilty", overflow="fold")
    for incident, met in finding.by_incident:
        table.add_row(
            incident.kind,
            clock(incident.start),
            Text("found", "green") if met else Text("missed", "red"),
            Text(_named(met) or ""),
        )
    screen.print(table)
    count = len(finding.false_alarms)
    hit = sum(any(map(change.meets, finding.false_alarms)) for change in fleet.routine)
    screen.print(
        f"\nFound {finding.n_found} of {len(finding.by_incident)} incidents; "
        f"{count} false alarm{'s' * (count != 1)}; "
        f"{len(fleet.routine) - hit} of {len(fleet.routine)} routine changes left alone."
    )
    if finding.false_alarms:
        screen.print("\n[bold]False alarms[/]")
        screen.print(alert_table(finding.false_alarms))
    screen.print(f"\nReport: {page}", markup=False)
    screen.print(f"Telemetry: {', '.join(path.name for path in data)}", markup=False)
