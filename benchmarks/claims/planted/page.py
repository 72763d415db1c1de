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
faults found whose alert names a changed variable as its first cause. "false alerts" are those in
the rows counted in the last column, in which nothing was planted and no event is labelled."""

HEADS = (
    *("case", "found", "wanted", "reached", "named first"),
    *("false alerts", "rows without a fault"),
)


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
    """

    name: str
    what: str
    wanted: float | None
    is_limit: bool = False


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
    ),
    "clearly wrong hour": Case(
        "of these, clearly wrong",
        "half of the planted values lie outside 99% of the reference's values at the same hour",
        None,
    ),
    "season, rows": Case("season found, without dates", SEASON_WHAT, 0.9),
    "season, dates": Case(
        "season found, 5-minute dates", "the same rows, with a date each 5 minutes apart", 0.9
    ),
    "season, four weeks": Case(
        "season found, four weeks of dates",
        "the same periods in 8,064 rows, 5 minutes apart, so that days and weeks are tried, too",
        0.9,
    ),
    "season, noise": Case(
        "season found in noise", "as without dates, without any season; fewer is better", 0.0, True
    ),
    "one vanishes": Case("one variable vanishes", VANISH_WHAT, 0.6),
    "half vanish": Case(
        "half of the variables vanish",
        "at the same places",
        1.0,
    ),
}
"""Cases of the first table, by the name that counts give; the doctor's follow by themselves."""

# Cases whose parts have a table, by its heading.
PARTS = {
    "A level wrong for the hour, by recording": ("wrong hour", "clearly wrong hour"),
    "Vanished variables, by dataset": ("one vanishes", "half vanish"),
}

# Targets for the kinds of fault that the doctor plants.
DOCTOR = "doctor, "
DOCTOR_WANTED = {"relation": 6 / 8, "frozen": 7 / 8}

DOCTOR_WHAT = """\
`smkc.diagnose` plants 8 large faults of each kind in the last 40% of a file and learns from the
rest; a wrong hour only where the detector found a season. "wanted" is for each file. Nothing is
labelled in the files of SMD and SKAB; that of LRO has labelled faults, whose alerts are counted as
false here."""


def page(content: Mapping[str, Any]) -> str:
    """Return the page for ``results/``."""
    counts = [Count(**one) for one in content["counts"]]
    # Parts without a place for a fault are in no table and no sum.
    shown = {name: [one for one in counts if one.case == name and one.of] for name in CASES}
    rows = [(CASES[name], some) for name, some in shown.items() if some]
    parts = [
        f"# {TITLE}",
        "\n".join(f"- {key}: {value}" for key, value in content["provenance"].items()),
        PREFACE,
        _table(HEADS, [(case.name, *_cells(some, case)) for case, some in rows]),
        "\n".join(f"- {case.name}: {case.what}." for case, _ in rows),
    ]
    for heading, names in PARTS.items():
        if any(shown[name] for name in names):
            parts += [f"## {heading}", _parts_table(names, shown)]
            without = [one.part for one in counts if one.case == names[0] and not one.of]
            parts += [f"No suitable place: {', '.join(without)}."] if without else []
    parts += _doctors([one for one in counts if one.case.startswith(DOCTOR)])
    if content["left_out"]:
        left_out = "\n".join(f"- {one}" for one in content["left_out"])
        parts.append(f"## Left out, because data are missing\n\n{left_out}")
    return "\n\n".join(parts) + "\n"


def _parts_table(names: Sequence[str], shown: Mapping[str, Sequence[Count]]) -> str:
    """Return the table of the parts of some cases that have their rows in common."""
    lines = []
    for first in shown[names[0]]:
        by_case = {one.case: one for name in names for one in shown[name] if one.part == first.part}
        found = [_found([by_case[name]]) if name in by_case else "" for name in names]
        lines.append((first.part, *found, _sum([first.false_alerts]), _sum([first.rows])))
    return _table(("part", *(CASES[name].name for name in names), *HEADS[-2:]), lines)


def _doctors(counts: Sequence[Count]) -> list[str]:
    """Return the paragraphs of what the doctor planted: kinds by files."""
    if not counts:
        return []
    files = list(dict.fromkeys(one.part for one in counts))
    lines = []
    for case in dict.fromkeys(one.case for one in counts):
        kind = case.removeprefix(DOCTOR)
        of_file = {one.part: one for one in counts if one.case == case}
        about = Case(kind, "", DOCTOR_WANTED.get(kind))
        wanted = [_cells([one], about)[1:3] for one in of_file.values()]
        found = [_found([of_file[file]]) if file in of_file else "" for file in files]
        reached = "" if about.wanted is None else ", ".join(reached for _, reached in wanted)
        lines.append((kind, *found, wanted[0][0], reached))
    for name, field in (("false alerts", "false_alerts"), ("rows without a fault", "rows")):
        known = {one.part: _sum([getattr(one, field)]) for one in counts}
        lines.append((name, *(known[file] for file in files), "", ""))
    table = _table(("kind", *files, "wanted", "reached"), lines)
    return ["## Planted by the doctor", DOCTOR_WHAT, table]


def _cells(counts: Sequence[Count], case: Case) -> tuple[str, ...]:
    found, of = sum(one.found for one in counts), sum(one.of for one in counts)
    wanted, reached = "", ""
    if case.wanted is not None:
        # 1e-9, because a product such as 0.6 * 5 may exceed the whole number by a rounding error.
        least = math.ceil(case.wanted * of - 1e-9)
        wanted = str(least)
        reached = "yes" if (found <= least if case.is_limit else found >= least) else "no"
    return (
        _found(counts),
        wanted,
        reached,
        _sum([one.named for one in counts]),
        _sum([one.false_alerts for one in counts]),
        _sum([one.rows for one in counts]),
    )


def _found(counts: Sequence[Count]) -> str:
    return f"{sum(one.found for one in counts)} of {sum(one.of for one in counts)}"


def _sum(values: Sequence[int | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{sum(known):,}" if known else ""


def _table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    return grid(heads, [list(column) for column in zip(*lines, strict=True)])
