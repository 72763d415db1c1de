"""Findings: what the counts mean, in words, with what to do about it.

In: what the trials counted. Out: findings, gravest first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.decide import Alert
from smkc.doctor.diagnosis import Finding
from smkc.doctor.look import Look
from smkc.doctor.planting import KINDS
from smkc.doctor.trial import FalseAlarms, Judge, Outcome
from smkc.evidence.variables import told_seasons
from smkc.recording.times import show_time

__all__ = ["Counted", "find", "too_little"]

# So many times the rate asked for is too many false alarms; and so many times, hopeless.
TOO_MANY, HOPELESS = 3.0, 15.0

# Share of the large anomalies of a kind that must be caught, and of the simple kinds together.
LEAST_CAUGHT = 0.5
SIMPLE_KINDS = ("spike", "level shift", "ramp", "noise")

# Share of the large simple anomalies that lower the score, from which scores are reversed.
REVERSED = 0.6

# Share of reference rows that stand far from the rest, from which they are no exceptions.
MANY_FAR = 0.1

# Share of the rows that must have a score.
LEAST_SCORED = 0.5

# Kinds that not every recording can show, and why it cannot.
NOT_TRIED = {
    "wrong hour": "no season was found that lasts from the reference into the held-out rows",
    "relation": "no two variables move together here",
    "frozen": "no variable changes from row to row most of the time",
}

WEIGHTS = ("no", "partly", "note")


@dataclass(frozen=True, kw_only=True, eq=False)
class Other:
    """What another detector, by its name, caught of large anomalies, by kind."""

    name: str
    outcomes: Mapping[str, Outcome]
    untouched: FalseAlarms


@dataclass(frozen=True, kw_only=True, eq=False)
class Counted:
    """All that the trials counted.

    Parameters
    ----------
    scores
        (T,) of the untouched held-out rows.
    forward
        false alarms when the first part of the reference judges its last; None if too short.
    other
        what another detector did where this one missed most; None if it was not tried.
    seasons
        period of each variable that has a season.
    """

    judge: Judge
    outcomes: Sequence[Outcome]
    untouched: FalseAlarms
    churn: Sequence[FalseAlarms]
    scores: NDArray[np.float64]
    alerts: Sequence[Alert]
    forward: FalseAlarms | None
    look: Look
    length: int
    other: Other | None
    seasons: Mapping[str, float]


def find(counted: Counted) -> tuple[Finding, ...]:
    """Return what stands in the way and what is worth knowing, gravest first."""
    broken = [*_scores(counted)]
    findings = broken or [*_alarms(counted), *_caught(counted)]
    findings += [*_reference(counted), *_notes(counted)]
    return tuple(sorted(findings, key=lambda one: WEIGHTS.index(one.weight)))


def too_little(n_rows: int, needed: int, reason: str) -> Finding:
    """Say that there are too few rows to tell."""
    return Finding(
        problem="too little data",
        evidence=f"{n_rows:,} rows; {reason}",
        remedy=f"give at least {needed:,} rows, better some thousand: a longer recording, or a "
        "finer --step; but a coarser one if most rows are empty",
        weight="no",
    )


def _large(counted: Counted, kinds: Sequence[str]) -> list[Outcome]:
    return [one for one in counted.outcomes if one.size == 2 and one.kind in kinds]


def _scores(counted: Counted) -> list[Finding]:
    """Return reasons why the scores say nothing at all."""
    scores = counted.scores[np.isfinite(counted.scores)]
    if len(scores) < LEAST_SCORED * len(counted.scores):
        return [
            Finding(
                problem="hardly any scores",
                evidence=f"only {len(scores):,} of {len(counted.scores):,} held-out rows have a "
                "score; most windows are nearly empty",
                remedy="read with a coarser --step so that rows are filled, or lower least_filled",
                weight="no",
            )
        ]
    simple = _large(counted, SIMPLE_KINDS)
    planted = sum(one.planted for one in simple)
    if planted == 0:
        return [
            Finding(
                problem="nothing varies",
                evidence="no variable that is observed in the held-out rows has values that "
                "change, so no anomaly could be planted",
                remedy="check that the right fields were read as variables (--read), and that "
                "the file does not end in silence",
                weight="no",
            )
        ]
    raised, lowered = (sum(getattr(one, way) for one in simple) for way in ("raised", "lowered"))
    low, high = float(scores.min()) + 0.0, float(scores.max()) + 0.0
    if high - low <= 1e-9 * max(1.0, abs(high)) or raised + lowered == 0:
        return [
            Finding(
                problem="constant scores",
                evidence=f"untouched rows score from {low:.4g} to {high:.4g}, and "
                f"{raised + lowered} of {planted} large planted anomalies change the score",
                remedy="check that values vary (a file of constants has no anomalies) and that "
                "numbers were read as variables; try another detector",
                weight="no",
            )
        ]
    if lowered > REVERSED * planted:
        return [
            Finding(
                problem="reversed scores",
                evidence=f"{lowered} of {planted} large planted anomalies score lower than the "
                "same rows untouched",
                remedy="the reference is probably stranger than the held-out rows: learn from a "
                "calm time; if this is a detector of your own, higher must mean stranger",
                weight="no",
            )
        ]
    return []


def _alarms(counted: Counted) -> list[Finding]:
    """Return false alarms that are too many, untouched and under churn."""
    rate, findings = counted.judge.rate, []
    one = counted.untouched
    if _is_too_much(one, rate, counted.length):
        strongest = sorted(counted.alerts, key=lambda alert: -alert.score)[:3]
        when = ", ".join(show_time(alert.start) for alert in strongest)
        findings.append(
            Finding(
                problem="false alarms on untouched rows",
                evidence=f"{one.rate:.1%} of the held-out rows alarm in {_stretches(one)}, "
                f"where {rate:.1%} was asked for; strongest at {when}",
                remedy="look at those times: if they were trouble, all is well; if not, learn "
                "from a longer time that has such rows in it (--share 0.8, or a longer file), "
                "or ask for a lower false_alarm_rate",
                weight="no" if one.rate > min(0.5, HOPELESS * rate) else "partly",
            )
        )
    for other in counted.churn:
        more = FalseAlarms(
            kind=other.kind,
            rows=other.rows,
            alarmed=max(other.alarmed - one.alarmed, 0),
            episodes=other.episodes,
        )
        if _is_too_much(more, rate, counted.length):
            findings.append(
                Finding(
                    problem=f"false alarms under churn ({other.kind})",
                    evidence=f"{other.rate:.1%} of the rows alarm, {one.rate:.1%} without churn",
                    remedy=_how_to_bear(other.kind),
                )
            )
    return findings


def _stretches(one: FalseAlarms) -> str:
    return f"{one.episodes:,} stretch{'es' * (one.episodes != 1)}"


def _how_to_bear(kind: str) -> str:
    """Say what helps against false alarms under churn."""
    if kind == "missing":
        return (
            "read with a coarser --step, so that a lost sample leaves no hole; or learn "
            "from a time with losses"
        )
    return (
        "learn from a time that has churn of this kind in it; where names tell pods or "
        "hosts, give them as labels, so that a successor is known by its family"
    )


def _is_too_much(one: FalseAlarms, rate: float, length: int) -> bool:
    """Whether alarms are more than chance makes of the rate: one stretch is no proof."""
    return one.alarmed > TOO_MANY * rate * one.rows + 0.5 * length


def _caught(counted: Counted) -> list[Finding]:
    """Return kinds of anomaly that are missed, and other shortcomings of what is caught."""
    findings = []
    simple = _large(counted, SIMPLE_KINDS)
    caught, planted = sum(one.caught for one in simple), sum(one.planted for one in simple)
    if planted and caught < LEAST_CAUGHT * planted:
        findings.append(
            Finding(
                problem="planted anomalies are missed",
                evidence=f"{caught} of {planted} large spikes, shifts, ramps and bursts of noise "
                "are caught",
                remedy=f"{_how_to_catch(counted, simple)}; trouble in the reference hides later "
                f"trouble too ({counted.look.far:.1%} of its rows stand far from the others)",
                weight="no",
            )
        )
    else:
        for one in _large(counted, tuple(KINDS)):
            if one.share < LEAST_CAUGHT:
                findings.append(
                    Finding(
                        problem=f"{KINDS[one.kind].many} are missed",
                        evidence=f"{one.caught} of {one.planted} large ones are caught, in which "
                        f"{KINDS[one.kind].story} ({one.words})",
                        remedy=_how_to_catch(counted, [one]),
                    )
                )
    explained = sum(one.explained for one in counted.outcomes)
    named = sum(one.named for one in counted.outcomes)
    if explained and named < LEAST_CAUGHT * explained:
        findings.append(
            Finding(
                problem="the wrong variable is named",
                evidence=f"a planted variable is the first cause in {named} of {explained} alerts",
                remedy="read the first three causes, not the first alone; leave out variables "
                "that are sums or copies of others",
                weight="note",
            )
        )
    return findings


def _how_to_catch(counted: Counted, ones: Sequence[Outcome]) -> str:
    """Say at which rate enough would be caught, or else what to try."""
    planted = sum(one.planted for one in ones)
    for at, rate in enumerate(counted.judge.rates):
        caught = sum(one.caught_at[at] for one in ones)
        if rate > counted.judge.rate and caught >= LEAST_CAUGHT * planted:
            return (
                f"false_alarm_rate={rate:g} would catch {caught} of {planted}; or keep the rate "
                "and learn from a longer time"
            )
    return (
        f"no false_alarm_rate up to {counted.judge.rates[-1]:g} helps{_told_other(counted, ones)}; "
        "a longer reference or a coarser --step, which makes slow changes stand out, might (not "
        "tried here); if such faults do not occur with you, let it be"
    )


def _told_other(counted: Counted, ones: Sequence[Outcome]) -> str:
    """Say how another detector did where it was tried."""
    other = counted.other
    tried = (
        [other.outcomes[one.kind] for one in ones if one.kind in other.outcomes] if other else []
    )
    if other is None or not tried:
        return ""
    caught, planted = sum(one.caught for one in tried), sum(one.planted for one in tried)
    ours = sum(one.caught for one in ones)
    if caught <= ours:
        return f", nor does {other.name} ({caught} of {planted})"
    return (
        f"; {other.name} caught {caught} of {planted}, with alarms in "
        f"{other.untouched.rate:.1%} of the untouched rows"
    )


def _reference(counted: Counted) -> list[Finding]:
    """Return doubts about what was learned from."""
    rate, forward, findings = counted.judge.rate, counted.forward, []
    look = counted.look
    alarms_at_itself = (
        forward is not None
        and _is_too_much(forward, rate, counted.length)
        and forward.rate > TOO_MANY * counted.untouched.rate
    )
    if look.far > MANY_FAR:
        findings.append(
            Finding(
                problem="the reference seems full of anomalies",
                evidence=f"{look.far:.0%} of its rows stand far from the others",
                remedy="what is learned as normal is not reported later: learn from a time "
                "without trouble (--share, or smkc fit on another file); if these rows are a "
                "second normal state, all is well",
            )
        )
    elif alarms_at_itself and forward is not None:
        findings.append(
            Finding(
                problem="the reference is not of one piece",
                evidence=f"its last rows alarm in {forward.rate:.1%} when judged by its first, "
                f"the held-out rows only in {counted.untouched.rate:.1%}",
                remedy="look for trouble in it and learn from a time without; if it merely "
                "drifts, learn from a longer time",
            )
        )
    return findings


def _notes(counted: Counted) -> list[Finding]:
    """Return what is worth knowing without standing in the way."""
    findings = [
        Finding(
            problem="the reference is short for this false-alarm rate",
            evidence=doubt,
            remedy="give more reference data, or a higher false_alarm_rate",
        )
        for doubt in counted.judge.doubts[:1]
    ]
    look = counted.look
    if look.constant:
        names = ", ".join(look.constant[:3]) + ", ..." * (len(look.constant) > 3)
        findings.append(
            Finding(
                problem="constant variables",
                evidence=f"{len(look.constant):,} never change in the reference: {names}",
                remedy="nothing was planted in them; leave them out unless any change in them "
                "is a fault",
                weight="note",
            )
        )
    if counted.seasons:
        findings.append(
            Finding(
                problem="seasons",
                evidence=told_seasons(counted.seasons),
                remedy="what is usual at that time counts beside what is usual in general; learn "
                "from more periods if a season is missing",
                weight="note",
            )
        )
    if look.empty > LEAST_SCORED:
        findings.append(
            Finding(
                problem="most rows are empty",
                evidence=f"{look.empty:.0%} of the reference rows hold no observation",
                remedy="read with a coarser --step",
            )
        )
    there = {one.kind for one in counted.outcomes}
    for kind, why in NOT_TRIED.items():
        if there and kind not in there:
            findings.append(
                Finding(
                    problem=f"{KINDS[kind].many} were not tried",
                    evidence=why,
                    remedy="nothing to do: an anomaly of this kind could not be seen here",
                    weight="note",
                )
            )
    return findings
