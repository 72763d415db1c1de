"""``smkc detect``: find anomalies in a file.

In: a file, and optionally a model or a reference file. Out: alerts with their causes on the
terminal or as JSON; optionally a file of scores and a report page.
"""

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smkc.cli import options
from smkc.cli.failure import ALERTS_FOUND, explained_failures
from smkc.errors import InputError, SettingError

if TYPE_CHECKING:
    from smkc.cli.reading import Job
    from smkc.decide import Alert, Scored

for_scale = partial(typer.Option, rich_help_panel="Large files and clusters")


# Where the computation runs, and how scores of windows are assigned to time steps.
Engine = StrEnum("Engine", ["local", "ray"])
Align = StrEnum("Align", ["sharp", "prompt"])


def detect(
    file: options.File,
    reference: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Normal data to learn from.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="A model that smkc fit wrote.")
    ] = None,
    reference_share: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Without --reference and --model: learn from this share of the file, taken from "
            "its start.",
        ),
    ] = 0.3,
    kind: options.KindOfDetector = None,
    device: options.Device = None,
    window: options.Window = None,
    stride: options.Stride = None,
    false_alarm_rate: options.FalseAlarmRate = None,
    align: Annotated[
        Align | None,
        options.for_detector(
            help="sharp: a fault is marked from its first row to its last; prompt: the score of a "
            "row uses no later rows. [default: sharp]"
        ),
    ] = None,
    config: options.Config = None,
    setting: options.Set = None,
    time: options.TimeColumn = None,
    step: options.Step = None,
    entity: options.Entity = None,
    read: options.Read = None,
    out: Annotated[
        Path | None,
        options.for_output(
            metavar="FILE",
            help="Write the score of each time step to NAME.parquet or NAME.csv.",
        ),
    ] = None,
    report: options.Page = None,
    fail_on_alert: Annotated[
        bool, options.for_output("--fail-on-alert", help="Exit with code 3 if there are alerts.")
    ] = False,
    stream: Annotated[
        bool | None,
        for_scale(
            help="Read a Parquet file in pieces, with bounded memory; it must be sorted by time. "
            "[default: above 50 million observations]"
        ),
    ] = None,
    resume: Annotated[
        bool, for_scale("--resume", help="Continue an interrupted run that reads in pieces.")
    ] = False,
    held: Annotated[
        int | None,
        for_scale(
            metavar="N",
            help="Number of observations to hold back, so that late ones can be sorted in. "
            "[default: 1000000]",
        ),
    ] = None,
    engine: Annotated[
        Engine, for_scale(help="Compute in this process, or on a Ray cluster (extra ray).")
    ] = Engine.local,
    ray_address: Annotated[
        str | None,
        for_scale(
            metavar="HOST:PORT",
            help="Address of a running Ray cluster, or auto. [default: start one here]",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        for_scale(metavar="N", help="Number of Ray workers. [default: one per processor]"),
    ] = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Find anomalies in a file of telemetry, and name the variables that caused them.

    The file may be long (columns time, variable, value) or wide (time, then one column per
    variable); variables may come and go. What is normal is learned from --reference, from
    --model, or from the first 30% of the file itself.

    **Examples**

    - `smkc detect metrics.csv --report report.html`
    - `smkc detect today.parquet --reference last-week.parquet --step 15s --out scores.parquet`
    - `smkc detect today.parquet --model shop.smkc --json --fail-on-alert`
    - `smkc detect year.parquet --model shop.smkc --stream --out scores.parquet`
    """
    with explained_failures(quiet or as_json):
        from smkc.cli import pieces
        from smkc.cli.printing import print_json
        from smkc.cli.reading import make_jobs
        from smkc.cli.settings import gather
        from smkc.loading import load, make_detector
        from smkc.scale import RayCluster, ScaleSettings

        if report is not None:
            from smkc.plot.page import need

            need("jinja2")  # fail before the work rather than after it
        own = {
            "detector": kind,
            "device": device,
            "window": window,
            "stride": stride,
            "false_alarm_rate": false_alarm_rate,
            "align": align,
        }
        settings = gather(config, setting or (), read or (), own, {"time": time, "step": step})
        _refuse_contradictions(reference, model, settings.detector)
        if out is not None and out.suffix.lower() not in (".parquet", ".csv"):
            raise InputError(f"--out {out}: call it NAME.parquet or NAME.csv")
        if engine != "ray" and (ray_address is not None or workers is not None):
            raise SettingError("--ray-address and --workers belong to --engine ray; add it")
        asking = {
            "--stream": stream,
            "--engine ray": engine == "ray",
            "--resume": resume,
            "--held": held is not None,
        }
        read_as = settings.read
        if stream is not False and pieces.are_wanted(file, read_as, entity, asking, out, report):
            assert out is not None
            limits = ScaleSettings() if held is None else ScaleSettings(held=held)
            cluster = RayCluster(workers, ray_address) if engine == "ray" else None
            detectors = pieces.learned(model, reference, settings, entity)
            kept = {"read": read_as, "entity": entity, "settings": limits, "resume": resume}
            summary = pieces.score(file, detectors, out, cluster, **kept)
            if as_json:
                pieces.print_record(summary, file, out, model or reference)
            else:
                pieces.print_summary(summary, out, model or reference, quiet)
            raise typer.Exit(ALERTS_FOUND if summary.n_alerts and fail_on_alert else 0)
        results, tables = [], []
        for job in make_jobs(file, settings.read, entity, model, reference, reference_share):
            if model is not None:
                detector = load(model)
            else:
                detector = make_detector(settings.detector).fit(job.reference)
            scored = detector.score(job.watched)
            alerts = scored.alerts()
            page = _page_path(report, job.entity)
            if page is not None:
                from smkc.plot import report as write_report

                subject = f"{file.name}, {job.entity}" if job.entity is not None else file.name
                write_report(page, scored, title=f"smkc: {subject}")
            if out is not None:
                tables.append(_score_table(job, scored))
            results.append(_record(job, scored, alerts, page))
            if not as_json:
                _print_result(job, scored, alerts, page, quiet)
        if out is not None:
            _write_tables(out, tables)
            if not as_json and not quiet:
                typer.echo(f"Scores: {out}")
        if as_json:
            print_json({"file": str(file), "scores": str(out) if out else None, "results": results})
    if fail_on_alert and any(result["alerts"] for result in results):
        raise typer.Exit(ALERTS_FOUND)


def _refuse_contradictions(
    reference: Path | None, model: Path | None, detector_settings: dict[str, Any]
) -> None:
    if model is None:
        return
    if reference is not None:
        raise SettingError("--model has learned already; leave out either --model or --reference")
    if detector_settings:
        raise SettingError(
            f"--model carries its own settings; leave out {', '.join(detector_settings)}, "
            "or fit a new model with them"
        )


def _page_path(report: Path | None, entity: str | None) -> Path | None:
    """Return the path of an entity's page: the given path with the entity added to its name."""
    if report is None or entity is None:
        return report
    safe = "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in entity)
    return report.with_name(f"{report.stem}-{safe}{report.suffix}")


def _score_table(job: "Job", scored: "Scored") -> Any:
    """Return an Arrow table with one row per time step."""
    import pyarrow

    from smkc.scale.work import score_table

    table = score_table(scored.times, scored.scores, scored.threshold)
    if job.entity is None:
        return table
    return table.add_column(0, "entity", pyarrow.array([job.entity] * table.num_rows, "string"))


def _write_tables(out: Path, tables: list[Any]) -> None:
    import pyarrow
    from pyarrow import csv, parquet

    from smkc.scale.work import whole_file

    write = parquet.write_table if out.suffix.lower() == ".parquet" else csv.write_csv
    with whole_file(out) as draft:
        write(pyarrow.concat_tables(tables), draft)


def _record(
    job: "Job", scored: "Scored", alerts: "list[Alert]", page: Path | None
) -> dict[str, Any]:
    from smkc.cli.printing import alert_record, time_value

    return {
        "entity": job.entity,
        "rows": len(job.watched),
        "variables": len(job.watched.names),
        "start": time_value(job.watched.times[0]),
        "end": time_value(job.watched.times[-1]),
        "learned_from": job.learned_from,
        "notes": list(scored.notes),
        "threshold": scored.threshold,
        "false_alarm_rate": scored.false_alarm_rate,
        "report": str(page) if page else None,
        "alerts": [alert_record(alert) for alert in alerts],
        "new_normals": [
            {
                "variable": one.variable,
                "since": time_value(one.since),
                "before": one.before,
                "now": one.now,
            }
            for one in scored.new_normals
        ],
    }


def _print_result(
    job: "Job", scored: "Scored", alerts: "list[Alert]", page: Path | None, quiet: bool
) -> None:
    from smkc.cli.printing import MAX_PRINTED_ALERTS, alert_table, console
    from smkc.recording.visible import visible

    screen = console()
    if job.entity is not None:
        screen.print(f"\n[bold]{len(alerts)} alerts[/] in", visible(job.entity))
    if not quiet:
        screen.print(
            f"Learned from {job.learned_from}. Judged {len(job.watched):,} rows of "
            f"{len(job.watched.names):,} variables.",
            markup=False,
        )
        for note in scored.notes:
            screen.print(f"Note: {note}", markup=False)
    if alerts:
        screen.print(alert_table(alerts))
        if len(alerts) > MAX_PRINTED_ALERTS:
            screen.print(f"and {len(alerts) - MAX_PRINTED_ALERTS:,} more; --json lists them all")
    else:
        screen.print("No alerts: nothing was past the threshold.")
    told = [visible(f"{one}") for one in scored.new_normals]
    for line in told[:MAX_PRINTED_ALERTS]:
        screen.print(line, markup=False)
    if len(told) > MAX_PRINTED_ALERTS:
        screen.print(f"and {len(told) - MAX_PRINTED_ALERTS:,} more; --json lists them all")
    if page is not None and not quiet:
        screen.print(f"Report: {page}", markup=False)
