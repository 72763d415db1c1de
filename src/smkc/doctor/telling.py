"""Telling: a diagnosis as text for a terminal.

In: a diagnosis. Out: tables of what was caught and what alarmed, and what to change.
"""

import math
from typing import TYPE_CHECKING

from smkc.doctor.planting import KINDS

if TYPE_CHECKING:
    from smkc.doctor.diagnosis import Diagnosis

__all__ = ["SIZES", "details"]

SIZES = ("small", "medium", "large")


def details(diagnosis: "Diagnosis") -> str:
    """Return all but the summary, in paragraphs."""
    parts = []
    if diagnosis.outcomes:
        parts = [
            f"It learned from the first {diagnosis.n_reference:,} rows and judged the "
            f"{len(diagnosis.scores):,} after them, {diagnosis.n_variables:,} variables in all. "
            "Anomalies were planted in copies of those rows, each for "
            f"{diagnosis.lasting(diagnosis.length)}.",
            "Planted anomalies caught\n" + _aligned(_outcome_rows(diagnosis)),
            "Rows that alarm though nothing was planted\n" + _aligned(_alarm_rows(diagnosis)),
            "With another false_alarm_rate\n" + _aligned(_rate_rows(diagnosis)),
        ]
    told = [
        f"{number}. {one.problem}: {one.evidence}\n   -> {one.remedy}"
        for number, one in enumerate(diagnosis.findings, start=1)
    ]
    is_all_well = all(one.weight == "note" for one in diagnosis.findings)
    title = "Worth knowing" if is_all_well else "What stands in the way, and what to do"
    parts.append("\n".join([title, *told]) if told else "Nothing stands in the way.")
    return "\n\n".join(parts)


def _outcome_rows(diagnosis: "Diagnosis") -> list[list[str]]:
    rows = [["kind", "sizes", *SIZES, "delay (large)", "right variable first"]]
    for kind, about in KINDS.items():
        ones = {one.size: one for one in diagnosis.outcomes if one.kind == kind}
        sizes = about.size_words(0, 1, 2)
        cells = [f"{ones[s].caught}/{ones[s].planted}" if s in ones else "-" for s in range(3)]
        large = ones.get(2)
        delay = "-" if large is None or large.delay is None else diagnosis.lasting(large.delay)
        named = f"{large.named}/{large.explained}" if large and large.explained else "-"
        rows.append([kind, sizes, *cells, delay, named])
    return rows


def _alarm_rows(diagnosis: "Diagnosis") -> list[list[str]]:
    rows = [["churn", "rows", "stretches"]]
    if diagnosis.untouched is not None:
        one = diagnosis.untouched
        rows.append(["none (untouched)", f"{one.rate:.2%}", str(one.episodes)])
    return rows + [[one.kind, f"{one.rate:.2%}", str(one.episodes)] for one in diagnosis.churn]


def _rate_rows(diagnosis: "Diagnosis") -> list[list[str]]:
    caught = [f"{size} caught" for size in SIZES]
    rows = [["rate", "untouched rows that alarm", *caught]]
    for at, (rate, alarms) in enumerate(zip(diagnosis.rates, diagnosis.rate_alarms, strict=True)):
        mark = " (this one)" if rate == diagnosis.false_alarm_rate else ""
        shares = [_share(diagnosis.caught_share(size, at)) for size in range(3)]
        rows.append([f"{rate:g}{mark}", f"{alarms:.2%}", *shares])
    return rows


def _aligned(rows: list[list[str]]) -> str:
    """Lay rows of cells out in lines; the first is the heading."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join(f"  {line}".rstrip() for line in lines)


def _share(share: float) -> str:
    return "-" if math.isnan(share) else f"{share:.0%}"
