"""Options that several commands share, each declared once.

In: nothing. Out: annotated types for typer.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Config",
    "Device",
    "Entity",
    "FalseAlarmRate",
    "Json",
    "Kind",
    "KindOfDetector",
    "Quiet",
    "Read",
    "Set",
    "Step",
    "Stride",
    "TimeColumn",
    "Window",
]

READING = "Reading the file"
DETECTOR = "Detector"
OUTPUT = "Output"


class Kind(StrEnum):
    """The detectors there are: two that need no training, and three that are trained."""

    evidence = "evidence"
    knn = "knn"
    recon = "recon"
    prediction = "prediction"
    ensemble = "ensemble"


TimeColumn = Annotated[
    str | None,
    typer.Option("--time", metavar="NAME", help="Where the times are.", rich_help_panel=READING),
]
Step = Annotated[
    str | None,
    typer.Option(
        metavar="15s",
        help="Align to a grid of this step; gaps become empty rows.",
        rich_help_panel=READING,
    ),
]
Entity = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Split the file by this field, a host for example; each is judged by itself.",
        rich_help_panel=READING,
    ),
]
Read = Annotated[
    list[str] | None,
    typer.Option(
        "--read",
        metavar="KEY=VALUE",
        help="Any other setting of the reader: layout, variable, value, labels, time_unit, ignore.",
        rich_help_panel=READING,
    ),
]
Window = Annotated[
    int | None,
    typer.Option(
        help="Rows a window. [default: found from the reference data]", rich_help_panel=DETECTOR
    ),
]
Stride = Annotated[
    int | None,
    typer.Option(help="Rows from one window to the next. [default: 1]", rich_help_panel=DETECTOR),
]
FalseAlarmRate = Annotated[
    float | None,
    typer.Option(
        metavar="RATE",
        help="False alerts per normal time step. [default: 0.002]",
        rich_help_panel=DETECTOR,
    ),
]
KindOfDetector = Annotated[
    Kind | None,
    typer.Option(
        "--detector",
        help="evidence asks several questions and follows what is normal; knn is the paper's, "
        "which needs no training either; the others are trained, which takes minutes, more data "
        "and the extra deep. [default: evidence]",
        rich_help_panel=DETECTOR,
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        metavar="cpu|cuda",
        help="Where knn and trained detectors do their work. [default: cpu]",
        rich_help_panel=DETECTOR,
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.toml",
        help="Settings from a file, under [detector], [identity] and [read].",
        rich_help_panel=DETECTOR,
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Any setting of the detector, such as neighbours=10, epochs=20 or learn.width=64; "
        "beats the file.",
        rich_help_panel=DETECTOR,
    ),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="No progress, no notes.", rich_help_panel=OUTPUT),
]
Json = Annotated[
    bool,
    typer.Option("--json", help="JSON on standard output, nothing else.", rich_help_panel=OUTPUT),
]
