"""``smkc detect``: find anomalies in a file.

In: a file, and a model, a reference file or neither. Out: alerts with their causes on the
terminal or as JSON; on request scores in a file and a report page.
"""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smkc.cli import options
from smkc.cli.failure import ALERTS_FOUND, explained_failures
from smkc.errors import SettingError

if TYPE_CHECKING:
    from smkc.base import BaseDetector
    from smkc.cli.reading import Job
    from smkc.decide import Alert, Scored

__all__ = ["detect"]


SCALE = "Large files and clusters"


class Engine(StrEnum):
    """Where the work is done."""

    local = "local"
    ray = "ray"


class Align(StrEnum):
    """How a window's score becomes a time step's."""

    sharp = "sharp"
    prompt = "prompt"


def detect(
    file: Annotated[
        Path, typer.Argument(help="CSV or Parquet, a folder or a quoted glob of them.")
    ],
    reference: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Normal data to learn from.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="A file that smkc fit wrote.")
    ] = None,
    reference_share: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Without --reference and --model: learn from this first share of the file.",
        ),
    ] = 0.3,
    kind: options.KindOfDetector = None,
    device: options.Device = None,
    window: options.Window = None,
    stride: options.Stride = None,
    false_alarm_rate: options.FalseAlarmRate = None,
    align: Annotated[
        Align | None,
        typer.Option(
            help="sharp marks the whole fault; prompt uses nothing later. [default: sharp]",
            rich_help_panel=options.DETECTOR,
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
        typer.Option(
            metavar="FILE",
            help="Write a score for each time step: NAME.parquet or NAME.csv.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.html", help="Write a page to look at.", rich_help_panel=options.OUTPUT
        ),
    ] = None,
    fail_on_alert: Annotated[
        bool,
        typer.Option(
            "--fail-on-alert",
            help="Exit with 3 if alerts are found.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = False,
    stream: Annotated[
        bool | None,
        typer.Option(
            help="Read Parquet in pieces, in bounded memory; the file must be sorted by time. "
            "[default: above 50 million observations]",
            rich_help_panel=SCALE,
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on with a run in pieces that was interrupted.",
            rich_help_panel=SCALE,
        ),
    ] = False,
    held: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Observations held back for others that come late. [default: 1000000]",
            rich_help_panel=SCALE,
        ),
    ] = None,
    engine: Annotated[
        Engine,
        typer.Option(
            help="Where the work is done; ray needs the extra ray.",
            rich_help_panel=SCALE,
        ),
    ] = Engine.local,
    ray_address: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="A Ray cluster that runs, or auto. [default: one is started here]",
            rich_help_panel=SCALE,
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Workers on Ray. [default: one per processor]",
            rich_help_panel=SCALE,
        ),
    ] = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Find anomalies in a file of telemetry, and say which variables caused them.

    Long files (time, variable, value) and wide ones (time, then a variable each) both work;
    variables may come and go. What is normal is learned from --reference, from --model, or from
    the first 30% of the file itself.

    **Examples**

    - `smkc detect metrics.csv --report report.html`
    - `smkc detect today.parquet --reference last-week.parquet --step 15s --out scores.parquet`
    - `smkc detect today.parquet --model shop.smkc --json --fail-on-alert`
    - `smkc detect year.parquet --model shop.smkc --stream --out scores.parquet`
    """
    with explained_failures(quiet or as_json):
        from smkc.cli.pieces import Asked, are_wanted, score_in_pieces
        from smkc.cli.printing import print_json
        from smkc.cli.reading import Job, read_entities, with_reference
        from smkc.cli.scores_file import check_suffix, write_scores
        from smkc.cli.settings import gather

        if report is not None:
            from smkc.plot.extra import need

            need("jinja2")  # before the work, not after it
        own = {
            "detector": kind.value if kind else None,
            "device": device,
            "window": window,
            "stride": stride,
            "false_alarm_rate": false_alarm_rate,
            "align": align.value if align else None,
        }
        settings = gather(config, setting or (), read or (), own, {"time": time, "step": step})
        _refuse_contradictions(reference, model, settings.detector)
        if out is not None:
            check_suffix(out)
        asked = Asked(
            stream=stream,
            resume=resume,
            held=held,
            engine=engine.value,
            address=ray_address,
            workers=workers,
        )
        if are_wanted(asked, file, settings.read, entity, out, report):
            assert out is not None
            has_alerts = score_in_pieces(
                asked,
                file,
                out,
                entity,
                settings.read,
                model,
                reference,
                settings.detector,
                quiet,
                as_json,
            )
            raise typer.Exit(ALERTS_FOUND if has_alerts and fail_on_alert else 0)
        watched = read_entities(file, settings.read, entity)
        if model is not None:
            jobs = [Job(entity=name, watched=recording) for name, recording in watched.items()]
        else:
            learned = read_entities(reference, settings.read, entity) if reference else None
            jobs = with_reference(watched, learned, reference, reference_share)
        results, scores = [], []
        for job in jobs:
            detector = _ready_detector(job, model, settings.detector)
            scored = detector.score(job.watched)
            alerts = scored.alerts()
            page = _page_path(report, job.entity)
            if page is not None:
                from smkc.plot import report as write_report

                subject = f"{file.name}, {job.entity}" if job.entity is not None else file.name
                write_report(page, scored, title=f"smkc: {subject}")
            if out is not None:
                scores.append(_step_scores(job, scored))
            results.append(_record(job, scored, alerts, model, page))
            if not as_json:
                _print_result(job, alerts, model, page, quiet)
        if out is not None:
            write_scores(out, scores)
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


def _ready_detector(job: "Job", model: Path | None, settings: dict[str, Any]) -> "BaseDetector":
    from smkc.loading import load, make_detector

    if model is not None:
        return load(model)
    return make_detector(settings).fit(job.reference)


def _page_path(report: Path | None, entity: str | None) -> Path | None:
    """Return where an entity's page goes: beside the name given, told apart by the entity."""
    if report is None or entity is None:
        return report
    safe = "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in entity)
    return report.with_name(f"{report.stem}-{safe}{report.suffix}")


def _step_scores(job: "Job", scored: "Scored") -> Any:
    from smkc.cli.scores_file import StepScores

    return StepScores(
        entity=job.entity,
        times=scored.times,
        scores=scored.scores,
        threshold=scored.threshold,
    )


def _record(
    job: "Job",
    scored: "Scored",
    alerts: "list[Alert]",
    model: Path | None,
    page: Path | None,
) -> dict[str, Any]:
    from smkc.cli.printing import alert_record, time_value

    return {
        "entity": job.entity,
        "rows": len(job.watched),
        "variables": len(job.watched.names),
        "start": time_value(job.watched.times[0]),
        "end": time_value(job.watched.times[-1]),
        "learned_from": str(model) if model else job.reference_from,
        "threshold": scored.threshold,
        "false_alarm_rate": scored.false_alarm_rate,
        "report": str(page) if page else None,
        "alerts": [alert_record(alert) for alert in alerts],
    }


def _print_result(
    job: "Job",
    alerts: "list[Alert]",
    model: Path | None,
    page: Path | None,
    quiet: bool,
) -> None:
    from smkc.cli.printing import MAX_PRINTED_ALERTS, alert_table, console
    from smkc.recording.visible import visible

    screen = console()
    if job.entity is not None:
        screen.print(f"\n[bold]{len(alerts)} alerts[/] in", visible(job.entity))
    if not quiet:
        screen.print(
            f"Learned from {model or job.reference_from}. Judged {len(job.watched):,} rows of "
            f"{len(job.watched.names):,} variables.",
            markup=False,
        )
    if alerts:
        screen.print(alert_table(alerts))
        if len(alerts) > MAX_PRINTED_ALERTS:
            screen.print(f"and {len(alerts) - MAX_PRINTED_ALERTS:,} more; --json lists them all")
    else:
        screen.print("No alerts: nothing was past the threshold.")
    if page is not None and not quiet:
        screen.print(f"Report: {page}", markup=False)
