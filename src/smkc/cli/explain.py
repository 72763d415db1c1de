"""``smkc explain``: name the variables that made a moment anomalous.

In: a file, a model, a time. Out: causes, largest share first.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smkc.cli import options
from smkc.cli.failure import explained_failures
from smkc.errors import InputError

if TYPE_CHECKING:
    from smkc.recording import Recording


def explain(
    file: options.File,
    model: Annotated[Path, typer.Option(metavar="MODEL", help="A model that smkc fit wrote.")],
    at: Annotated[
        str,
        typer.Option(metavar="TIME", help="The time to explain, such as 2026-03-04T05:10:00."),
    ],
    until: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Explain the most anomalous moment from --at to this time."
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Number of causes to show.")] = 10,
    time: options.TimeColumn = None,
    step: options.Step = None,
    read: options.Read = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Name the variables that made a moment anomalous, and say what each of them did.

    Give the whole file, not only the part in question, because what is usual for a variable
    depends on its past. Of the windows that contain the moment, the most anomalous is explained.

    **Examples**

    - `smkc explain today.parquet --model shop.smkc --at 2026-03-04T05:10:00`
    - `smkc explain today.parquet --model shop.smkc --at 2026-03-04T05:00 --until 2026-03-04T06:00`
    """
    with explained_failures(quiet or as_json):
        from smkc.cli.printing import cause_record, cause_table, console, print_json, time_value
        from smkc.cli.reading import read_file
        from smkc.cli.settings import gather
        from smkc.loading import load

        settings = gather(None, (), read or (), None, {"time": time, "step": step})
        recording = read_file(file, settings.read)
        detector = load(model)
        start = _within(recording, at, "--at")
        end = None if until is None else _within(recording, until, "--until")
        causes = detector.explain(recording, start, end)[:top]
        if as_json:
            print_json(
                {
                    "at": time_value(start),
                    "until": None if end is None else time_value(end),
                    "causes": [cause_record(cause) for cause in causes],
                }
            )
        elif causes:
            console().print(cause_table(causes))
        else:
            console().print("No variable stands out at that time.")


def _within(recording: "Recording", time: str, option: str) -> Any:
    """Convert the text of a time to the recording's type; raise InputError if it is outside."""
    from smkc.recording.times import moment, show_time

    try:
        at = moment(time, recording.times.dtype)
    except InputError as error:
        raise InputError(f"{option}: {error}") from None
    first, last = recording.times[0], recording.times[-1]
    if not first <= at <= last:
        raise InputError(
            f"{option} {time} is outside the recording, which goes from {show_time(first)} to "
            f"{show_time(last)}; choose a time within"
        )
    return at
