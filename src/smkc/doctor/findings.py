"""Findings: problems stated in words, with remedies.

In: a diagnosis with the counts of the trials. Out: findings, most serious first.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from smkc.decide import Alert
from smkc.doctor.diagnosis import Diagnosis, Finding
from smkc.doctor.look import Look
from smkc.doctor.planting import KINDS
from smkc.doctor.trial import Outcome
from smkc.evidence.variables import describe_seasons
from smkc.recording.times import show_time

# False alarms are too many at TOO_MANY times the requested rate, and the verdict is no at HOPELESS
# times that rate.
TOO_MANY, HOPELESS = 3.0, 15.0

# Share of the large anomalies that must be caught: of each kind, and of the simple kinds together.
LEAST_CAUGHT = 0.5
SIMPLE_KINDS = ("spike", "level shift", "ramp", "noise")

# Scores are called reversed if more than this share of the large simple anomalies lowers them.
REVERSED = 0.6

# A finding is made if more than this share of the reference rows lies far from the others.
MANY_FAR = 0.1

# Share of the rows that must have a score.
LEAST_SCORED = 0.5

# Kinds that cannot be planted in every recording, and why.
NOT_TRIED = {
    "wrong hour": "no season was found that lasts from the reference into the held-out rows",
    "relation": "no two variables move together here",
    "frozen": "no variable changes from row to row most of the time",
}

WEIGHTS = ("no", "partly", "note")


def find(
    counted: Diagnosis,
    alerts: Sequence[Alert],
    look: Look,
    doubts: Sequence[str],
    seasons: Mapping[str, float],
) -> tuple[Finding, ...]:
    """Return problems and notes, most serious first.

    Parameters
    ----------
    counted
        the counts of all trials.
    alerts
        those in the unchanged held-out rows.
    look
        properties of the reference.
    doubts
        texts of the detector's calibration warnings.
    seasons
        period of each variable that has a season.
    """
    broken = _broken_scores(counted)
    findings = [broken] if broken else [*_alarms(counted, alerts), *_caught(counted, look)]
    findings += _notes(counted, look, doubts, seasons)
    return tuple(sorted(findings, key=lambda one: WEIGHTS.index(one.weight)))


def too_little(n_rows: int, needed: int, reason: str) -> Finding:
    """Return the finding that there are too few rows for a verdict."""
    return Finding(
        problem="too little data",
        evidence=f"{n_rows:,} rows; {reason}",
        remedy=f"give at least {needed:,} rows, better some thousand: a longer recording, or a "
        "finer --step; but a coarser one if most rows are empty",
        weight="no",
    )


def _large_simple(counted: Diagnosis) -> list[Outcome]:
    return [one for one in counted.large if one.kind in SIMPLE_KINDS]


def _broken_scores(counted: Diagnosis) -> Finding | None:
    """Return a finding if the scores are missing, constant or reversed, or nothing was planted."""
    scores = counted.scores[np.isfinite(counted.scores)]
    if len(scores) < LEAST_SCORED * len(counted.scores):
        return Finding(
            problem="hardly any scores",
            evidence=f"only {len(scores):,} of {len(counted.scores):,} held-out rows have a score; "
            "most windows are nearly empty",
            remedy="read with a coarser --step so that rows are filled, or lower least_filled",
            weight="no",
        )
    simple = _large_simple(counted)
    planted = sum(one.planted for one in simple)
    if planted == 0:
        return Finding(
            problem="nothing varies",
            evidence="no variable that is observed in the held-out rows has values that change, so "
            "no anomaly could be planted",
            remedy="check that the right columns were read as variables (--read), and that the "
            "file has observations up to its end",
            weight="no",
        )
    raised, lowered = sum(one.raised for one in simple), sum(one.lowered for one in simple)
    low, high = float(scores.min()) + 0.0, float(scores.max()) + 0.0
    if high - low <= 1e-9 * max(1.0, abs(high)) or raised + lowered == 0:
        return Finding(
            problem="constant scores",
            evidence=f"untouched rows score from {low:.4g} to {high:.4g}, and "
            f"{raised + lowered} of {planted} large planted anomalies change the score",
            remedy="check that values vary (a file of constants has no anomalies) and that "
            "numbers were read as variables; try another detector",
            weight="no",
        )
    if lowered > REVERSED * planted:
        return Finding(
            problem="reversed scores",
            evidence=f"{lowered} of {planted} large planted anomalies score lower than the same "
            "rows untouched",
            remedy="the reference probably contains more anomalies than the held-out rows: learn "
            "from a time without faults; a detector of your own must give anomalies the higher "
            "scores",
            weight="no",
        )
    return None


def _alarms(counted: Diagnosis, alerts: Sequence[Alert]) -> Iterator[Finding]:
    """Yield findings about too many false alarms, on unchanged rows and under churn."""
    rate, one = counted.false_alarm_rate, counted.untouched
    assert one is not None
    if _is_too_much(one.alarmed, one.rows, counted):
        strongest = sorted(alerts, key=lambda alert: -alert.score)[:3]
        when = ", ".join(show_time(alert.start) for alert in strongest)
        yield Finding(
            problem="false alarms on untouched rows",
            evidence=f"{one.rate:.1%} of the held-out rows alarm, in {one.episodes:,} "
            f"stretch{'es' * (one.episodes != 1)}; {rate:.1%} was requested; strongest at {when}",
            remedy="look at those times: if they were real faults, nothing is wrong; if not, learn "
            "from a longer time that contains such rows (--share 0.8, or a longer file), or "
            "request a lower false_alarm_rate",
            weight="no" if one.rate > min(0.5, HOPELESS * rate) else "partly",
        )
    for other in counted.churn:
        if _is_too_much(other.alarmed - one.alarmed, other.rows, counted):
            remedy = (
                "learn from a time that contains churn of this kind; give names of pods or hosts "
                "as labels, so that a new member is recognized by its family"
            )
            if other.kind == "missing":
                remedy = (
                    "read with a coarser --step, so that a lost sample leaves no gap; or learn "
                    "from a time with lost samples"
                )
            yield Finding(
                problem=f"false alarms under churn ({other.kind})",
                evidence=f"{other.rate:.1%} of the rows alarm, {one.rate:.1%} without churn",
                remedy=remedy,
            )


def _is_too_much(n_alarms: int, n_rows: int, counted: Diagnosis) -> bool:
    """Return whether the alarms exceed 3 times the rate by more than half an anomaly's length.

    The margin keeps one run of alarms from counting as proof.
    """
    return n_alarms > TOO_MANY * counted.false_alarm_rate * n_rows + 0.5 * counted.length


def _caught(counted: Diagnosis, look: Look) -> Iterator[Finding]:
    """Yield findings about missed kinds of anomaly and wrongly named variables."""
    simple = _large_simple(counted)
    caught, planted = sum(one.caught for one in simple), sum(one.planted for one in simple)
    if planted and caught < LEAST_CAUGHT * planted:
        yield Finding(
            problem="planted anomalies are missed",
            evidence=f"{caught} of {planted} large spikes, shifts, ramps and bursts of noise are "
            "caught",
            remedy=f"{_how_to_catch(counted, simple)}; faults in the reference also hide later "
            f"ones ({look.far:.1%} of its rows lie far from the others)",
            weight="no",
        )
    else:
        for one in counted.large:
            if one.share < LEAST_CAUGHT:
                yield Finding(
                    problem=f"{KINDS[one.kind].many} are missed",
                    evidence=f"{one.caught} of {one.planted} large ones are caught, in which "
                    f"{KINDS[one.kind].story} ({one.words})",
                    remedy=_how_to_catch(counted, [one]),
                )
    explained = sum(one.explained for one in counted.outcomes)
    named = sum(one.named for one in counted.outcomes)
    if explained and named < LEAST_CAUGHT * explained:
        yield Finding(
            problem="the wrong variable is named",
            evidence=f"a planted variable is the first cause in {named} of {explained} alerts",
            remedy="read the first three causes, not the first alone; leave out variables that "
            "are sums or copies of others",
            weight="note",
        )


def _how_to_catch(counted: Diagnosis, ones: Sequence[Outcome]) -> str:
    """Return the lowest rate that would catch enough, or else other things to try."""
    planted = sum(one.planted for one in ones)
    for at, rate in enumerate(counted.rates):
        caught = sum(one.caught_at[at] for one in ones)
        if rate > counted.false_alarm_rate and caught >= LEAST_CAUGHT * planted:
            return (
                f"false_alarm_rate={rate:g} would catch {caught} of {planted}; or keep the rate "
                "and learn from a longer time"
            )
    return (
        f"no false_alarm_rate up to {counted.rates[-1]:g} helps; a longer reference or a coarser "
        "--step, which makes slow changes stand out, might (not tried here); ignore this if such "
        "faults do not occur in your system"
    )


def _notes(
    counted: Diagnosis, look: Look, doubts: Sequence[str], seasons: Mapping[str, float]
) -> Iterator[Finding]:
    """Yield findings about an unsuitable reference, and notes."""
    if look.far > MANY_FAR:
        yield Finding(
            problem="the reference seems full of anomalies",
            evidence=f"{look.far:.0%} of its rows lie far from the others",
            remedy="what is learned as normal is not reported later: learn from a time without "
            "faults (--share, or smkc fit on another file); if these rows are a second normal "
            "state, nothing is wrong",
        )
    for doubt in doubts[:1]:
        yield Finding(
            problem="the reference is short for this false-alarm rate",
            evidence=doubt,
            remedy="give more reference data, or a higher false_alarm_rate",
        )
    if look.constant:
        names = ", ".join(look.constant[:3]) + ", ..." * (len(look.constant) > 3)
        yield Finding(
            problem="constant variables",
            evidence=f"{len(look.constant):,} never change in the reference: {names}",
            remedy="nothing was planted in them; leave them out unless any change in them is a "
            "fault",
            weight="note",
        )
    if seasons:
        yield Finding(
            problem="seasons",
            evidence=describe_seasons(seasons, counted.settings.get("time_zone", "UTC")),
            remedy="values are also compared with those usual at the same time of the season; "
            "learn from more periods if a season is missing",
            weight="note",
        )
    if look.empty > LEAST_SCORED:
        yield Finding(
            problem="most rows are empty",
            evidence=f"{look.empty:.0%} of the reference rows hold no observation",
            remedy="read with a coarser --step",
        )
    there = {one.kind for one in counted.outcomes}
    for kind, why in NOT_TRIED.items():
        if there and kind not in there:
            yield Finding(
                problem=f"{KINDS[kind].many} were not tried",
                evidence=why,
                remedy="nothing to do: an anomaly of this kind could not be seen here",
                weight="note",
            )
