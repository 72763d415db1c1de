"""``smkc explain``: which variables made a moment strange.

In: a file, a model, a time. Out: causes, most guilty first.
"""

from pathlib import Path
from typing import Annotated

import typer

from smkc.cli import options
from smkc.cli.failure import explained_failures

__all__ = ["explain"]


def explain(
    file: Annotated[Path, typer.Argument(help="CSV or Parquet, or a folder of them.")],
    model: Annotated[Path, typer.Option(metavar="MODEL", help="A file that smkc fit wrote.")],
    at: Annotated[
        str,
        typer.Option(metavar="TIME", help="A time as in the file, such as 2026-03-04T05:10:00."),
    ],
    until: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Explain the strangest moment from --at to this time."),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many causes to show.")] = 10,
    time: options.TimeColumn = None,
    step: options.Step = None,
    read: options.Read = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Say which variables made a moment strange, and in what way.

    Give the whole file, not only the part in question: what is usual for a variable depends on
    its past. The window explained is the strangest one that holds the moment.

    **Examples**

    - `smkc explain today.parquet --model shop.smkc --at 2026-03-04T05:10:00`
    - `smkc explain today.parquet --model shop.smkc --at 2026-03-04T05:00 --until 2026-03-04T06:00`
    """
    with explained_failures(quiet or as_json):
        from smkc.cli.printing import (
            cause_record,
            cause_table,
            console,
            print_json,
            time_value,
        )
        from smkc.cli.reading import read_entities, require_within
        from smkc.cli.settings import gather
        from smkc.loading import load

        settings = gather(None, (), read or (), None, {"time": time, "step": step})
        recording = read_entities(file, settings.read, None)[None]
        detector = load(model)
        start = require_within(recording, at, "--at")
        end = None if until is None else require_within(recording, until, "--until")
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
            console().print(cause_table(causes, top))
        else:
            console().print("No variable stands out at that time.")
