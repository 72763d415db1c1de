"""The page of planted faults: what was found beside what was wanted.

In: the content of the JSON file: counts, cases left out, and provenance. Out: Markdown.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.claims.planted.counts import Count
from benchmarks.report import grid

__all__ = ["CASES", "Case", "page"]

TITLE = "Planted faults that the default detector finds"

PREFACE = """\
`smkc.Detector()` with default settings, on faults whose size and place are known. "wanted" is the
target that was set beforehand, and "reached" says whether it is met. "named first" counts the
faults found whose alert names a changed variable as its first cause. False alerts are those of
"rows without a fault"."""

HEADS = ("found", "wanted", "reached", "named first", "false alerts", "rows without a fault")


@dataclass(frozen=True)
class Case:
    """A case of the page.

    Parameters
    ----------
    name, what
        its name in the table, and what was planted.
    wanted
        smallest share of the faults to find; None without a target.
    is_limit
        whether ``wanted`` is instead the largest share.
    parts
        heading of a further table of the case's parts; empty for none.
    """

    name: str
    what: str
    wanted: float | None
    is_limit: bool = False
    parts: str = ""


SEASON_WHAT = (
    "each of 10 periods (7 to 288 rows, two of them no whole numbers) as a wave and as one short "
    "peak, 4 variables with noise; found if every variable has a season that is a multiple of "
    "the period"
)
VANISH_WHAT = (
    "for 100 quiet rows of the live part: no labelled event and no alert is near, and each place "
    "is tried by itself. 6 places per recording, or 3 in datasets of more than 4 recordings; at "
    "most 8 recordings per dataset and 20,000 live rows per recording. Only variables of the "
    "reference that are observed in every row around the place vanish; an alert must begin while "
    "they are gone"
)

CASES: Mapping[str, Case] = {
    "counts": Case(
        "one of 160 hourly counts shifted",
        "by 8 standard deviations for 100 of 400 live rows; 6 weeks of reference, each variable "
        "with a season of its own",
        1.0,
    ),
    "gaussian": Case(
        "one of 2,000 Gaussian variables shifted",
        "by 8 standard deviations for 100 of 400 live rows; 1,000 rows of reference",
        1.0,
    ),
    "wrong hour": Case(
        "a level wrong for the hour",
        "one variable has its values of half a day away for 4 hours, planted by `smkc.doctor`; the "
        "variables are those (at most 10) whose mean deviation the medians of the hours reduce by "
        "at least 20%, whether or not the detector finds a season in them. It is found if a row of "
        "the fault, or of as many rows after it, passes the threshold and did not before",
        0.85,
        parts="A level wrong for the hour, by recording",
    ),
    "clearly wrong hour": Case(
        "of these, clearly wrong",
        "half of the planted values lie outside 99% of the reference's values at the same hour",
        None,
        parts="A level clearly wrong for the hour, by recording",
    ),
    "season, rows": Case("season found, without dates", SEASON_WHAT, 0.9),
    "season, dates": Case(
        "season found, 5-minute dates", "the same rows, with a date each 5 minutes apart", 0.9
    ),
    "season, four weeks": Case(
        "season found, four weeks of dates",
        "the same periods in 8,064 rows, 5 minutes apart. With three days of dates or more, only "
        "days and weeks are tried",
        0.9,
    ),
    "season, noise": Case(
        "season found in noise", "as without dates, without any season; fewer is better", 0.0, True
    ),
    "one vanishes": Case(
        "one variable vanishes", VANISH_WHAT, 0.6, parts="One variable vanishes, by dataset"
    ),
    "half vanish": Case(
        "half of the variables vanish",
        "at the same places",
        1.0,
        parts="Half of the variables vanish, by dataset",
    ),
}
"""Cases of the first table, by the name that counts give; the doctor's follow by themselves."""

# Targets for the kinds of fault that the doctor plants, of 8 each.
DOCTOR = "doctor, "
DOCTOR_WANTED = {"relation": 6 / 8, "frozen": 7 / 8}

DOCTOR_WHAT = (
    '8 large faults of each kind, in the last 40% of the file; "named first" counts alerts that '
    "meet a fault, found or not; false alerts are runs of unchanged rows past the threshold"
)


def page(content: Mapping[str, Any]) -> str:
    """Return the page for ``results/``."""
    counts = [Count(**one) for one in content["counts"]]
    shown = {name: [one for one in counts if one.case == name] for name in CASES}
    parts = [f"# {TITLE}"]
    parts.append("\n".join(f"- {key}: {value}" for key, value in content["provenance"].items()))
    parts.append(PREFACE)
    rows = [(CASES[name].name, some, CASES[name]) for name, some in shown.items() if some]
    parts.append(_table("case", rows))
    parts.append("\n".join(f"- {case.name}: {case.what}." for _, _, case in rows))
    for name, case in CASES.items():
        if case.parts and shown[name]:
            parts.append(f"## {case.parts}")
            own = [(one.part, [one], Case(one.part, "", None)) for one in shown[name]]
            parts.append(_table("part", own))
    parts += _doctors(counts)
    if content["left_out"]:
        left_out = "\n".join(f"- {one}" for one in content["left_out"])
        parts.append(f"## Left out, because data are missing\n\n{left_out}")
    return "\n\n".join(parts) + "\n"


def _doctors(counts: Sequence[Count]) -> list[str]:
    """Return the paragraphs of what the doctor planted, a table per file."""
    own = [one for one in counts if one.case.startswith(DOCTOR)]
    parts = [f"## Planted by the doctor\n\n{DOCTOR_WHAT}."] if own else []
    for part in dict.fromkeys(one.part for one in own):
        rows = []
        for one in own:
            kind = one.case.removeprefix(DOCTOR)
            if one.part == part:
                rows.append((kind, [one], Case(kind, "", DOCTOR_WANTED.get(kind))))
        parts += [f"### {part}", _table("kind", rows)]
    return parts


def _table(first: str, rows: Sequence[tuple[str, Sequence[Count], Case]]) -> str:
    lines = [(name, *_cells(some, case)) for name, some, case in rows]
    columns = [list(column) for column in zip(*lines, strict=True)]
    kept = [at for at in range(len(columns)) if at < 2 or any(columns[at])]
    heads = (first, *HEADS)
    return grid([heads[at] for at in kept], [columns[at] for at in kept])


def _cells(counts: Sequence[Count], case: Case) -> tuple[str, ...]:
    found, of = sum(one.found for one in counts), sum(one.of for one in counts)
    wanted, reached = "", ""
    if case.wanted is not None and of:
        # 1e-9, because a product such as 0.6 * 5 may exceed the whole number by a rounding error.
        least = math.ceil(case.wanted * of - 1e-9)
        wanted = str(least)
        reached = "yes" if (found <= least if case.is_limit else found >= least) else "no"
    return (
        f"{found} of {of}",
        wanted,
        reached,
        _sum([one.named for one in counts]),
        _sum([one.false_alerts for one in counts]),
        _sum([one.rows for one in counts]),
    )


def _sum(values: Sequence[int | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{sum(known):,}" if known else ""
