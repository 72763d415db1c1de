"""``python -m benchmarks speed``: time smkc beside a plain NumPy implementation of the paper.

In: which part of the table. Out: one line per measurement on the terminal, and files where asked;
the exit code is 1 when a target is missed.
"""

from dataclasses import replace
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.commands.options import command_typed
from smkc.cli.failure import explained_failures

__all__ = ["speed"]


class Part(StrEnum):
    """Parts of the table, each measured by a module of :mod:`benchmarks.speed`."""

    windows = "windows"
    growing = "growing"
    process = "process"
    evidence_windows = "evidence-windows"
    evidence_rows = "evidence-rows"
    evidence_growing = "evidence-growing"


def speed(
    only: Annotated[
        list[Part] | None,
        typer.Option(help="Measure one part of the table; may be repeated. [default: all]"),
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the lines as JSON.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the table as Markdown.")
    ] = None,
) -> None:
    """Time smkc beside a plain NumPy implementation of the paper (minutes).

    Run it on an otherwise idle machine: lines measured while other processes were busy are marked.
    The exit code is 1 when a target is missed.

    Other measurements are modules with a command line each: `python -m
    benchmarks.speed.serve_load`, `scale_pieces`, `scale_ray`, and on a GPU `gpu_windows` and
    `gpu_neighbours`.

    **Examples**

    - `python -m benchmarks speed --only growing`
    - `python -m benchmarks speed --only evidence-rows --only evidence-growing --out default.md`
    - `python -m benchmarks speed --out results/speed.md`
    """
    with explained_failures():
        from benchmarks.provenance import circumstances
        from benchmarks.speed import report
        from benchmarks.speed.timing import Neighbours

        where = circumstances(command_typed())
        for key, value in where.items():
            print(f"{key}: {value}")
        lines = []
        neighbours = Neighbours()
        for part in only or Part:
            for measured in import_module(f"benchmarks.speed.{part.name}").lines():
                line = replace(measured, others=neighbours.look())
                lines.append(line)
                print("  ".join(cell for cell in report.cells(line) if cell), flush=True)
        for path, text in ((json, report.as_json), (out, report.markdown)):
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text(lines, where), encoding="utf-8")
    missed = [line.work for line in lines if line.passed is False]
    print(f"{len(missed)} of {len(lines)} targets missed" if missed else "all targets met")
    if missed:
        raise typer.Exit(1)
