"""Diagnosis: what was tried on a recording, what came of it, and what to change.

In: counts from the trials. Out: a verdict, findings with their remedies, a table, JSON's terms.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.doctor.telling import SIZES, details
from smkc.doctor.trial import FalseAlarms, Outcome
from smkc.recording.times import show_time

__all__ = ["Diagnosis", "Finding"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something that stands in the way, or that is worth knowing.

    Parameters
    ----------
    problem
        in a few words.
    evidence
        the figures that show it.
    remedy
        what to change.
    weight
        ``no``: it does not work; ``partly``: it works less well for it; ``note``: worth knowing.
    """

    problem: str
    evidence: str
    remedy: str
    weight: str = "partly"


@dataclass(frozen=True, kw_only=True, eq=False)
class Diagnosis:
    """Whether a detector works on a recording, as far as planted anomalies can tell.

    Parameters
    ----------
    findings
        what stands in the way, gravest first.
    outcomes
        what became of the planted anomalies, by kind and size.
    untouched, churn
        false alarms on the held-out rows as they are, and with churn of each kind.
    rates, rate_alarms
        false-alarm rates that were tried, and the share of untouched rows that alarm at each.
    false_alarm_rate, threshold
        as the detector was set.
    settings
        the detector's settings by name.
    n_rows, n_reference, n_variables
        rows in all, rows learned from, variables seen.
    length
        rows that a planted anomaly lasts.
    times, scores
        (T,) of the held-out rows as they are.
    """

    findings: tuple[Finding, ...]
    outcomes: tuple[Outcome, ...]
    untouched: FalseAlarms | None
    churn: tuple[FalseAlarms, ...]
    rates: tuple[float, ...]
    rate_alarms: tuple[float, ...]
    false_alarm_rate: float
    threshold: float
    settings: dict[str, Any]
    n_rows: int
    n_reference: int
    n_variables: int
    length: int
    seed: int
    times: NDArray[Any]
    scores: NDArray[np.float64]

    @property
    def verdict(self) -> str:
        """``yes``, ``partly`` or ``no``: as bad as the gravest finding."""
        weights = {one.weight for one in self.findings}
        return "no" if "no" in weights else "partly" if "partly" in weights else "yes"

    @property
    def large(self) -> tuple[Outcome, ...]:
        """What became of the large anomalies."""
        return tuple(one for one in self.outcomes if one.size == 2)

    def caught_share(self, size: int, rate_at: int | None = None) -> float:
        """Share of the anomalies of one size that is caught, all kinds together."""
        ones = [one for one in self.outcomes if one.size == size]
        caught = sum(one.caught if rate_at is None else one.caught_at[rate_at] for one in ones)
        planted = sum(one.planted for one in ones)
        return caught / planted if planted else math.nan

    def lasting(self, rows: float) -> str:
        """Say how long so many rows last, such as '6 rows (1.5 min)'."""
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
        """The answer in one or two sentences."""
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
            f"{self.false_alarm_rate:.1%} was asked for."
        )

    # ------------------------------------------------------------------ leaving

    def table(self) -> str:
        """Return all of it as text for a terminal."""
        return f"{self.summary}\n\n{details(self)}"

    def __str__(self) -> str:
        return self.table()

    def to_dict(self) -> dict[str, Any]:
        """Return all but the scores in JSON's terms."""
        return {
            "verdict": self.verdict,
            "summary": self.summary,
            "findings": [
                {
                    "problem": one.problem,
                    "evidence": one.evidence,
                    "remedy": one.remedy,
                    "weight": one.weight,
                }
                for one in self.findings
            ],
            "anomalies": [_outcome_record(one, self.rates) for one in self.outcomes],
            "false_alarms": [
                {
                    "kind": one.kind,
                    "rows": one.rows,
                    "alarmed": one.alarmed,
                    "episodes": one.episodes,
                    "rate": _number(one.rate),
                }
                for one in ([self.untouched] if self.untouched else []) + list(self.churn)
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


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | dict | None) else str(value)
