"""Reports: a table -> a Markdown page and a JSON file, both with provenance.

In: a table and its provenance. Out: ``<name>.md`` and ``<name>.json``, each written atomically;
figures are written as PNG files.
"""

import json
import math
import os
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.table import Cell, Row, Table
from smkc.errors import InputError, ReadError

__all__ = [
    "MEANINGFUL",
    "Outcome",
    "grid",
    "markdown",
    "read_table",
    "save_png",
    "strict_json",
    "write_table",
    "write_whole",
]

# Differences with a smaller p-value are marked with an asterisk.
MEANINGFUL = 0.05

# With more columns than this, the other source's figures get their own table.
MOST_SIDE_BY_SIDE = 4

Format = Callable[[float], str]


@dataclass(frozen=True)
class Outcome:
    """Result of a run: tables, files written, and the number of jobs not started in time."""

    tables: list[Table]
    files: list[Path]
    n_left: int


def write_table(
    table: Table, provenance: Mapping[str, Any], folder: str | Path
) -> tuple[Path, Path]:
    """Write a table as Markdown and as JSON; return both paths.

    Parameters
    ----------
    provenance
        JSON-serializable facts, as from :func:`benchmarks.provenance.provenance`.
    folder
        created if missing; files of the same name are replaced.
    """
    page = Path(folder) / f"{table.name}.md"
    data = Path(folder) / f"{table.name}.json"
    text = strict_json({**table.as_json(), "provenance": dict(provenance)})
    write_whole(page, markdown(table, provenance))
    write_whole(data, text)
    return page, data


def read_table(path: str | Path) -> Table:
    """Read a table from the JSON that :func:`write_table` wrote."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        return Table.from_json(content)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ReadError(
            f"{path} holds no table ({type(error).__name__}: {error}); "
            "write it anew from the scores"
        ) from error


def markdown(table: Table, provenance: Mapping[str, Any]) -> str:
    """Return the page: our figures and the other source's, intervals, notes and provenance."""
    parts = [f"# {table.title}"]
    for group in table.groups:
        if group:
            parts.append(f"## {group}")
        parts.extend(_blocks(table, table.rows_of(group)))
    if any(row.p_value is not None for row in table.rows):
        parts.append(
            f"p: paired bootstrap over {table.drawn} against the row below; \\* marks "
            f"p < {MEANINGFUL:g}, a difference that other {table.drawn} would hardly undo."
        )
    if table.notes:
        parts.append("\n".join(f"- {note}" for note in table.notes))
    if provenance:
        made = [f"- {key}: {_listed(value)}" for key, value in provenance.items()]
        parts.append("\n".join(["## How it was made", "", *made]))
    return "\n\n".join(parts) + "\n"


def _blocks(table: Table, rows: Sequence[Row]) -> list[str]:
    """Return the Markdown blocks of one group: figures, the other source's figures, intervals."""
    formats = [_format([row.cells[at] for row in rows]) for at in range(len(table.columns))]
    places = [at for at in range(len(table.columns)) if _any(rows, at, "value")]
    paper = [at for at in range(len(table.columns)) if _any(rows, at, "paper")]
    beside = len(places) <= MOST_SIDE_BY_SIDE
    heads, columns = [""], [[row.name for row in rows]]
    for at in places:
        heads.append(table.columns[at])
        columns.append([_ours(row.cells[at], formats[at]) for row in rows])
        if beside and at in paper:
            heads.append(f"{table.beside} (ours - {table.beside})")
            columns.append([_papers(row.cells[at], formats[at]) for row in rows])
    if any(row.p_value is not None for row in rows):
        heads.append("p")
        columns.append([_p_text(row.p_value) for row in rows])
    blocks = [grid(heads, columns)]
    if paper and not beside:
        known = [row for row in rows if any(row.cells[at].paper is not None for at in paper)]
        blocks.append(f"The {table.beside}'s figures, in brackets ours minus the {table.beside}'s:")
        blocks.append(_selection(table, known, paper, formats, _papers))
    within = [at for at in places if _any(rows, at, "low")]
    if within:
        blocks.append(f"Intervals (95%, {table.drawn} drawn anew):")
        blocks.append(_selection(table, rows, within, formats, _between))
    return blocks


def _selection(
    table: Table,
    rows: Sequence[Row],
    places: Sequence[int],
    formats: Sequence[Format],
    text: Callable[[Cell, Format], str],
) -> str:
    columns = [[text(row.cells[at], formats[at]) for row in rows] for at in places]
    heads = [table.columns[at] for at in places]
    return grid(["", *heads], [[row.name for row in rows], *columns])


def grid(heads: Sequence[str], columns: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table aligned as plain text: the first column left, the others right."""
    safe = [
        [entry.replace("|", "\\|") for entry in (head, *column)]
        for head, column in zip(heads, columns, strict=True)
    ]
    widths = [max(map(len, column)) for column in safe]
    lines = []
    for at, entries in enumerate(zip(*safe, strict=True)):
        first, *others = zip(entries, widths, strict=True)
        padded = [first[0].ljust(first[1]), *(text.rjust(width) for text, width in others)]
        lines.append(f"| {' | '.join(padded)} |")
        if at == 0:
            rules = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
            lines.append(f"| {' | '.join(rules)} |")
    return "\n".join(lines)


def _ours(cell: Cell, number: Format) -> str:
    if math.isnan(cell.value):
        return ""
    spread = "" if cell.sd is None or math.isnan(cell.sd) else f" +- {number(cell.sd)}"
    return number(cell.value) + spread


def _papers(cell: Cell, number: Format) -> str:
    if cell.paper is None:
        return ""
    if cell.difference is None:
        return number(cell.paper)
    sign = "-" if cell.difference < 0 else "+"
    return f"{number(cell.paper)} ({sign}{number(abs(cell.difference))})"


def _between(cell: Cell, number: Format) -> str:
    if cell.low is None or cell.high is None:
        return ""
    return f"{number(cell.low)} to {number(cell.high)}"


def _p_text(p_value: float | None) -> str:
    if p_value is None:
        return ""
    return f"{p_value:.3f} {'*' if p_value < MEANINGFUL else ' '}"


def _format(cells: Sequence[Cell]) -> Format:
    """Choose one number format for a column, by the sizes of its figures."""
    values = [
        abs(value)
        for cell in cells
        for value in (cell.value, cell.paper)
        if value is not None and math.isfinite(value) and value != 0
    ]
    if not values:
        return "{:.3f}".format
    smallest, largest = min(values), max(values)
    if all(value == round(value) for value in values) and largest > 1:
        return "{:.0f}".format
    if smallest < 1e-4:
        return "{:.3g}".format
    if smallest >= 10:
        return "{:.1f}".format
    return "{:.4f}".format if smallest < 0.01 else "{:.3f}".format


def _any(rows: Sequence[Row], at: int, field: str) -> bool:
    return any(_known(getattr(row.cells[at], field)) for row in rows)


def _known(value: float | None) -> bool:
    return value is not None and not math.isnan(value)


def _listed(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {entry}" for key, entry in value.items())
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def strict_json(content: Any) -> str:
    """Return standard JSON: NaN and infinity become null."""
    return json.dumps(_strict(content), indent=1, allow_nan=False) + "\n"


def _strict(content: Any) -> Any:
    """Replace NaN and infinity by None."""
    if isinstance(content, Mapping):
        return {key: _strict(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_strict(value) for value in content]
    if isinstance(content, float):
        return float(content) if math.isfinite(content) else None
    return content


def write_whole(target: Path, text: str) -> None:
    """Write a file atomically, and create its folder if missing."""
    draft = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=target.parent, prefix=".table-")
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(draft, 0o644)
        os.replace(draft, target)
    except OSError as error:
        if draft is not None:
            Path(draft).unlink(missing_ok=True)
        raise InputError(
            f"cannot write {target}: {error.strerror}; choose another place"
        ) from error


def save_png(figure: Any, path: Path) -> Path:
    """Write a matplotlib figure to a PNG file and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # names in scripts without a font
        figure.savefig(path, dpi=120)
    return path
