"""``smkc doctor``: say whether this works on a file, and what to change if not.

In: a file. Out: a verdict with what it rests on and what to change, on the terminal or as JSON; on
request a page.
"""

from pathlib import Path
from typing import Annotated

import typer

from smkc.cli import options
from smkc.cli.failure import explained_failures

__all__ = ["DOES_NOT_WORK", "doctor"]

DOES_NOT_WORK = 5  # the exit code of the verdict no

COLOURS = {"yes": "bold green", "partly": "bold yellow", "no": "bold red"}


def doctor(
    file: Annotated[
        Path, typer.Argument(help="CSV or Parquet, a folder or a quoted glob of them.")
    ],
    share: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="Learn from this first share of the file, try the rest."
        ),
    ] = 0.6,
    places: Annotated[
        int, typer.Option(help="Anomalies of each kind and size to plant; more take longer.")
    ] = 8,
    length: Annotated[
        int | None,
        typer.Option(help="Rows that a planted anomaly lasts. [default: found from the file]"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of what is planted where.")] = 0,
    kind: options.KindOfDetector = None,
    window: options.Window = None,
    false_alarm_rate: options.FalseAlarmRate = None,
    config: options.Config = None,
    setting: options.Set = None,
    time: options.TimeColumn = None,
    step: options.Step = None,
    read: options.Read = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.html", help="Write a page to look at.", rich_help_panel=options.OUTPUT
        ),
    ] = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Say whether smkc works on a file of yours, and what to change if not.

    It learns from the first part of the file, plants anomalies of seven kinds in copies of the
    rest, and counts what would be caught, how soon, and whether the right variable is named. Other
    copies get churn but no anomaly: what alarms there is a false alarm. No labels are needed.

    The exit code is 0 for the verdicts yes and partly, 5 for no, 2 if the file cannot be used.

    **Examples**

    - `smkc doctor metrics.csv`
    - `smkc doctor last-week.parquet --step 1min --out doctor.html`
    - `smkc doctor metrics.csv --detector knn --window 64 --json`
    """
    with explained_failures(quiet or as_json):
        from smkc.cli.printing import console, print_json
        from smkc.cli.reading import read_entities
        from smkc.cli.settings import gather
        from smkc.doctor import diagnose
        from smkc.loading import make_detector

        if out is not None:
            from smkc.plot.extra import need

            need("jinja2")  # before the work, not after it
        own = {
            "detector": kind.value if kind else None,
            "window": window,
            "false_alarm_rate": false_alarm_rate,
        }
        settings = gather(config, setting or (), read or (), own, {"time": time, "step": step})
        recording = read_entities(file, settings.read, None)[None]
        diagnosis = diagnose(
            recording,
            make_detector(settings.detector),
            share=share,
            places=places,
            length=length,
            seed=seed,
        )
        if out is not None:
            from smkc.plot.doctor_page import doctor_page

            doctor_page(out, diagnosis, title=f"smkc doctor: {file.name}")
        if as_json:
            page = str(out) if out else None
            print_json({"file": str(file), "page": page, **diagnosis.to_dict()})
        else:
            screen = console()
            style = COLOURS[diagnosis.verdict]
            screen.print(diagnosis.summary, style=style, markup=False, soft_wrap=True)
            if not quiet:
                details = diagnosis.table().removeprefix(f"{diagnosis.summary}\n")
                screen.print(details, markup=False, soft_wrap=True)
            if out is not None and not quiet:
                screen.print(f"\nPage: {out}", markup=False)
    if diagnosis.verdict == "no":
        raise typer.Exit(DOES_NOT_WORK)
