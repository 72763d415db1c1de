"""Options that several commands share, each declared once.

In: nothing. Out: annotated types for typer.
"""

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

for_reading = partial(typer.Option, rich_help_panel="Reading the file")
for_detector = partial(typer.Option, rich_help_panel="Detector")
for_output = partial(typer.Option, rich_help_panel="Output")


# Kinds of detector: two that need no training, and three that are trained.
Kind = StrEnum("Kind", ["evidence", "knn", "recon", "prediction", "ensemble"])

File = Annotated[Path, typer.Argument(help="CSV or Parquet file, a folder, or a glob in quotes.")]
TimeColumn = Annotated[
    str | None,
    for_reading("--time", metavar="NAME", help="Column of the times. [default: found by its name]"),
]
Step = Annotated[
    str | None,
    for_reading(metavar="15s", help="Align rows to a grid of this step; gaps become empty rows."),
]
Entity = Annotated[
    str | None,
    for_reading(
        metavar="NAME",
        help="Split the file by this column, such as a host; each part is scored separately.",
    ),
]
Read = Annotated[
    list[str] | None,
    for_reading(
        "--read",
        metavar="KEY=VALUE",
        help="Any other reader setting: layout, variable, value, labels, time_unit, time_format, "
        "ignore. May be repeated.",
    ),
]
Window = Annotated[
    int | None, for_detector(help="Rows per window. [default: chosen from the reference data]")
]
Stride = Annotated[int | None, for_detector(help="Rows from one window to the next. [default: 1]")]
FalseAlarmRate = Annotated[
    float | None,
    for_detector(
        metavar="RATE", help="Accepted false alerts per normal time step. [default: 0.002]"
    ),
]
KindOfDetector = Annotated[
    Kind | None,
    for_detector(
        "--detector",
        metavar="KIND",
        help="evidence: several statistical tests per variable and per row; knn: distance to the "
        "nearest reference windows; recon, prediction, ensemble: neural networks, which train for "
        "minutes and need more data and the extra deep. [default: evidence]",
    ),
]
Device = Annotated[
    str | None,
    for_detector(
        metavar="cpu|cuda", help="Where knn and the neural networks compute. [default: cpu]"
    ),
]
Config = Annotated[
    Path | None,
    for_detector(
        metavar="FILE.toml",
        help="Read settings from a file, from its tables [detector], [identity] and [read].",
    ),
]
Set = Annotated[
    list[str] | None,
    for_detector(
        "--set",
        metavar="KEY=VALUE",
        help="Any detector setting, such as neighbours=10, epochs=20 or learn.width=64; overrides "
        "--config. May be repeated.",
    ),
]
Page = Annotated[
    Path | None, for_output(metavar="FILE.html", help="Write the results as an HTML page.")
]
Quiet = Annotated[bool, for_output("--quiet", "-q", help="Print no progress and no notes.")]
Json = Annotated[
    bool, for_output("--json", help="Print JSON to standard output, and nothing else.")
]
