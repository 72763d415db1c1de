"""``smkc doctor``: check whether smkc works on a file, and what to change if it does not.

In: a file. Out: a verdict with its reasons and remedies, on the terminal or as JSON; optionally a
page.
"""

from typing import Annotated

import typer

from smkc.cli import options
from smkc.cli.failure import explained_failures

DOES_NOT_WORK = 5  # exit code for the verdict no

COLOURS = {"yes": "bold green", "partly": "bold yellow", "no": "bold red"}


def doctor(
    file: options.File,
    share: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Learn from this share of the file, from its start; test the rest.",
        ),
    ] = 0.6,
    places: Annotated[
        int, typer.Option(help="Number of anomalies of each kind and size; more take longer.")
    ] = 8,
    length: Annotated[
        int | None,
        typer.Option(
            help="Rows that an anomaly lasts. [default: 1/100 of the tested rows, 8 to 32]"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed that chooses the places and variables.")] = 0,
    kind: options.KindOfDetector = None,
    window: options.Window = None,
    false_alarm_rate: options.FalseAlarmRate = None,
    config: options.Config = None,
    setting: options.Set = None,
    time: options.TimeColumn = None,
    step: options.Step = None,
    read: options.Read = None,
    out: options.Page = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Test whether smkc works on a file of yours, and say what to change if it does not.

    It learns from the first part of the file and plants anomalies of eight kinds in copies of the
    rest. It counts how many are detected, how soon, and how often the right variable is named. In
    other copies, variables come and go without any anomaly: every alarm there is a false alarm. No
    labels are needed.

    The exit code is 0 for the verdicts yes and partly, 5 for no, 2 if the file cannot be used.

    **Examples**

    - `smkc doctor metrics.csv`
    - `smkc doctor last-week.parquet --step 1min --out doctor.html`
    - `smkc doctor metrics.csv --detector knn --window 64 --json`
    """
    with explained_failures(quiet or as_json):
        from smkc.cli.printing import console, print_json
        from smkc.cli.reading import read_file
        from smkc.cli.settings import gather
        from smkc.doctor import diagnose
        from smkc.loading import make_detector

        if out is not None:
            from smkc.plot.page import need

            need("jinja2")  # fail before the work rather than after it
        own = {
            "detector": kind,
            "window": window,
            "false_alarm_rate": false_alarm_rate,
        }
        settings = gather(config, setting or (), read or (), own, {"time": time, "step": step})
        recording = read_file(file, settings.read)
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
                screen.print(f"\n{diagnosis.details()}", markup=False, soft_wrap=True)
            if out is not None and not quiet:
                screen.print(f"\nPage: {out}", markup=False)
    if diagnosis.verdict == "no":
        raise typer.Exit(DOES_NOT_WORK)
