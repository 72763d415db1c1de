"""The result of a check: verdict, findings and counts.

In: counts from the trials. Out: a verdict, findings with their remedies, a text table, and a
dictionary for JSON.
"""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.doctor.planting import KINDS, LARGE, SIZES
from smkc.doctor.trial import FalseAlarms, Outcome
from smkc.recording.times import show_time


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A problem that was found, or a note, with its remedy.

    Parameters
    ----------
    problem
        the problem in a few words.
    evidence
        the figures that show it.
    remedy
        what to change.
    weight
        ``no``: the detector does not work; ``partly``: it works less well; ``note``: information.
    """

    problem: str
    evidence: str
    remedy: str
    weight: str = "partly"


@dataclass(frozen=True, kw_only=True, eq=False)
class Diagnosis:
    """Result of checking a detector on a recording with planted anomalies.

    Parameters
    ----------
    findings
        problems and notes, most serious first.
    outcomes
        counts of planted and caught anomalies, by kind and size; empty if there was too little
        data.
    untouched, churn
        false alarms on the unchanged held-out rows, and with churn of each kind.
    rates, rate_alarms
        false-alarm rates that were tried, and the share of unchanged rows that alarm at each.
    false_alarm_rate, threshold
        the detector's own rate, and the surprise in nats above which a row alarms at that rate.
    settings
        the detector's settings by name.
    n_rows, n_reference, n_variables
        number of all rows, of rows learned from, and of variables.
    length
        rows that a planted anomaly lasts.
    times, scores
        (T,) times and surprises of the unchanged held-out rows.
    """

    findings: tuple[Finding, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    untouched: FalseAlarms | None = None
    churn: tuple[FalseAlarms, ...] = ()
    rates: tuple[float, ...] = ()
    rate_alarms: tuple[float, ...] = ()
    false_alarm_rate: float
    threshold: float = math.nan
    settings: dict[str, Any]
    n_rows: int
    n_reference: int
    n_variables: int
    length: int
    seed: int
    times: NDArray[Any]
    scores: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    @property
    def verdict(self) -> str:
        """``yes``, ``partly`` or ``no``, given by the most serious finding."""
        weights = {one.weight for one in self.findings}
        return "no" if "no" in weights else "partly" if "partly" in weights else "yes"

    @property
    def large(self) -> tuple[Outcome, ...]:
        """Outcomes of the large anomalies."""
        return tuple(one for one in self.outcomes if one.size == LARGE)

    def caught_share(self, size: int, rate_at: int | None = None) -> float:
        """Return the share of the anomalies of one size that was caught, over all kinds.

        ``rate_at`` is an index into ``rates``; None means the detector's own rate.
        """
        ones = [one for one in self.outcomes if one.size == size]
        caught = sum(one.caught if rate_at is None else one.caught_at[rate_at] for one in ones)
        planted = sum(one.planted for one in ones)
        return caught / planted if planted else math.nan

    def lasting(self, rows: float) -> str:
        """Return a number of rows in words with its duration, such as '6 rows (1.5 min)'."""
        words = f"{rows:g} row{'s' * (rows != 1)}"
        if rows == 0 or len(self.times) < 2 or self.times.dtype.kind != "M":
            return words
        seconds = rows * float(np.median(np.diff(self.times) / np.timedelta64(1, "ms"))) / 1000
        for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
            if seconds >= size or unit == "s":
                words += f" ({seconds / size:.3g} {unit})"
                break
        return words

    @property
    def summary(self) -> str:
        """The verdict in one or two sentences."""
        if not self.outcomes or self.untouched is None:
            return f"No: {self.findings[0].problem}."
        caught = sum(one.caught for one in self.large)
        planted = sum(one.planted for one in self.large)
        delays = [one.delay for one in self.large if one.delay is not None]
        soon = f", typically after {self.lasting(float(np.median(delays)))}" if delays else ""
        lead = {"yes": "Yes: ", "partly": "Partly: "}.get(
            self.verdict, f"No: {self.findings[0].problem}. "
        )
        return (
            f"{lead}{caught} of {planted} large planted anomalies would be caught{soon}; "
            f"{self.untouched.rate:.1%} of the untouched rows alarm, where "
            f"{self.false_alarm_rate:.1%} was requested."
        )

    # ------------------------------------------------------------------ output

    def __str__(self) -> str:
        return f"{self.summary}\n\n{self.details()}"

    def details(self) -> str:
        """Return everything except the summary as text for a terminal, in paragraphs."""
        parts = []
        if self.outcomes:
            parts = [
                f"It learned from the first {self.n_reference:,} rows and scored the "
                f"{len(self.scores):,} after them, {self.n_variables:,} variables in all. "
                "Anomalies were planted in copies of those rows, each for "
                f"{self.lasting(self.length)}.",
                "Planted anomalies caught\n" + _aligned(self._outcome_rows()),
                "Rows that alarm though nothing was planted\n" + _aligned(self._alarm_rows()),
                "With another false_alarm_rate\n" + _aligned(self._rate_rows()),
            ]
        told = [
            f"{number}. {one.problem}: {one.evidence}\n   -> {one.remedy}"
            for number, one in enumerate(self.findings, start=1)
        ]
        is_all_well = all(one.weight == "note" for one in self.findings)
        title = "Notes" if is_all_well else "Problems and remedies"
        parts.append("\n".join([title, *told]) if told else "No problems were found.")
        return "\n\n".join(parts)

    def by_kind(self) -> Iterator[tuple[str, list[Outcome | None], str]]:
        """Yield each kind with its outcomes by size, and the delay of the large ones in words."""
        for kind in KINDS:
            ones = {one.size: one for one in self.outcomes if one.kind == kind}
            large = ones.get(LARGE)
            delay = "-" if large is None or large.delay is None else self.lasting(large.delay)
            yield kind, [ones.get(size) for size in range(len(SIZES))], delay

    def _outcome_rows(self) -> list[list[str]]:
        rows = [["kind", "sizes", *SIZES, "delay (large)", "right variable first"]]
        for kind, ones, delay in self.by_kind():
            cells = [f"{one.caught}/{one.planted}" if one else "-" for one in ones]
            large = ones[LARGE]
            named = f"{large.named}/{large.explained}" if large and large.explained else "-"
            rows.append([kind, KINDS[kind].size_words(0, 1, 2), *cells, delay, named])
        return rows

    def _alarm_rows(self) -> list[list[str]]:
        rows = [["churn", "rows", "stretches"]]
        for one in self.false_alarms:
            kind = "none (untouched)" if one is self.untouched else one.kind
            rows.append([kind, f"{one.rate:.2%}", str(one.episodes)])
        return rows

    def _rate_rows(self) -> list[list[str]]:
        rows = [["rate", "untouched rows that alarm", *(f"{size} caught" for size in SIZES)]]
        for at, (rate, alarms) in enumerate(zip(self.rates, self.rate_alarms, strict=True)):
            mark = " (this one)" if rate == self.false_alarm_rate else ""
            shares = [self.caught_share(size, at) for size in range(3)]
            cells = ["-" if math.isnan(share) else f"{share:.0%}" for share in shares]
            rows.append([f"{rate:g}{mark}", f"{alarms:.2%}", *cells])
        return rows

    @property
    def false_alarms(self) -> list[FalseAlarms]:
        """Those on the unchanged rows, then those with churn of each kind."""
        return [*([self.untouched] if self.untouched else []), *self.churn]

    def to_dict(self) -> dict[str, Any]:
        """Return everything except the scores as a dictionary for JSON."""
        return {
            "verdict": self.verdict,
            "summary": self.summary,
            "findings": [asdict(one) for one in self.findings],
            "anomalies": [_outcome_record(one, self.rates) for one in self.outcomes],
            "false_alarms": [
                {**asdict(one), "rate": _number(one.rate)} for one in self.false_alarms
            ],
            "rates": [
                {
                    "false_alarm_rate": rate,
                    "untouched": _number(alarms),
                    **{
                        f"caught_{name}": _number(self.caught_share(size, at))
                        for size, name in enumerate(SIZES)
                    },
                }
                for at, (rate, alarms) in enumerate(zip(self.rates, self.rate_alarms, strict=True))
            ],
            "false_alarm_rate": self.false_alarm_rate,
            "threshold": _number(self.threshold),
            "rows": self.n_rows,
            "reference_rows": self.n_reference,
            "held_out_rows": len(self.scores),
            "variables": self.n_variables,
            "planted_length_rows": self.length,
            "seed": self.seed,
            "start": show_time(self.times[0]) if len(self.times) else None,
            "end": show_time(self.times[-1]) if len(self.times) else None,
            "detector": {name: _plain(value) for name, value in self.settings.items()},
        }


def _outcome_record(one: Outcome, rates: tuple[float, ...]) -> dict[str, Any]:
    return {
        "kind": one.kind,
        "size": SIZES[one.size],
        "size_words": one.words,
        "planted": one.planted,
        "caught": one.caught,
        "caught_at": {f"{rate:g}": n for rate, n in zip(rates, one.caught_at, strict=True)},
        "delay_rows": one.delay,
        "named_first": one.named,
        "explained": one.explained,
    }


def _aligned(rows: list[list[str]]) -> str:
    """Return rows of cells as lines with aligned columns."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join(f"  {line}".rstrip() for line in lines)


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | dict | None) else str(value)
