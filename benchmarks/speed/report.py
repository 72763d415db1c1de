"""The table of results: lines and facts about the machine -> Markdown and JSON.

In: lines. Out: strings.
"""

import json
from collections.abc import Mapping, Sequence

from benchmarks.speed.timing import Line

# A line is marked as disturbed if other processes kept more cores busy than this.
DISTURBED = 0.1

HEADINGS = (
    "work (windows: m = 128, C = 16, L = 64 unless said)",
    "ours",
    "anchor",
    "result",
    "target",
    "",
)


def time_text(seconds: float | None) -> str:
    """Return seconds as text in a readable unit: s, ms, us or ns."""
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def cells(line: Line) -> tuple[str, ...]:
    """Return the cells of one line, in the order of HEADINGS."""
    verdict = {True: "pass", False: "FAIL", None: ""}[line.passed]
    if line.others > DISTURBED:
        verdict += f" (disturbed: others kept {line.others:.1f} cores busy)"
    return (
        line.work,
        time_text(line.ours),
        time_text(line.anchor),
        line.figure,
        line.target,
        verdict,
    )


def markdown(lines: Sequence[Line], where: Mapping[str, str]) -> str:
    """Return the Markdown page for ``results/``."""
    head = [f"- {key}: {value}" for key, value in where.items()]
    table = [HEADINGS, ("---",) * len(HEADINGS), *(cells(line) for line in lines)]
    rows = ["| " + " | ".join(row) + " |" for row in table]
    return "\n".join(["# Speed", "", *head, "", *rows, ""])


def as_json(lines: Sequence[Line], where: Mapping[str, str]) -> str:
    """Return the same content as JSON."""
    return json.dumps({**where, "lines": [line.as_dict() for line in lines]}, indent=1) + "\n"
