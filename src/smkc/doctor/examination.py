"""Examination: whether a detector works on a recording, tried on copies of its later rows.

In: a recording and, if wanted, a detector with its settings. Out: a :class:`Diagnosis`.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc import progress
from smkc.detector import Detector
from smkc.doctor.churning import CHURN, add_churn
from smkc.doctor.diagnosis import Diagnosis, Finding
from smkc.doctor.findings import LEAST_CAUGHT, Counted, Other, find, too_little
from smkc.doctor.held_out import HeldOut, hold_out
from smkc.doctor.look import look_at
from smkc.doctor.planting import KINDS, plant
from smkc.doctor.telling import SIZES
from smkc.doctor.trial import FalseAlarms, Fate, Judge, Outcome, choose_places, fate, over
from smkc.errors import InputError, SettingError
from smkc.paper import KnnDetector
from smkc.recording import Recording, read

__all__ = ["diagnose"]

# An anomaly lasts a hundredth of the held-out rows, within these bounds.
PART_OF_HELD_OUT = 100
LENGTHS = (8, 32)

# Anomalies fill this share of a copy at most: trouble is rare, and a detector that follows what is
# normal would get used to more of it.
FILLED_SHARE = 0.04

# Rows from one anomaly to the next, in lengths of an anomaly; and rows before the first of them.
SPACING, LEAD = 4, 3

# So many anomalies of a kind and size at least, or nothing can be said.
FEWEST_PLACES = 3

# So many rows are judged at most: the trials take that long about thirty times.
MOST_HELD_OUT = 20_000

# The first part of the reference judges its last part.
FORWARD_SHARE = 0.6

LARGE = 2


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """Where the reference ends, and where anomalies go."""

    n_reference: int
    n_held_out: int
    length: int
    n_places: int
    n_copies: int
    sizes: tuple[int, ...]


def diagnose(
    recording: Any,
    detector: Any = None,
    *,
    share: float = 0.6,
    places: int = 8,
    length: int | None = None,
    sizes: Sequence[str] = SIZES,
    seed: int = 0,
) -> Diagnosis:
    """Say whether a detector works on a recording, with anomalies planted in its later rows.

    The detector learns from the first rows and judges copies of the rest: untouched, with churn of
    each kind and no anomaly, and with anomalies of each kind in three sizes.

    Parameters
    ----------
    recording
        a recording, or anything that :func:`smkc.read` takes.
    detector
        a detector with the settings to try, fitted or not; it is left as it is. By default
        ``Detector()``.
    share
        of the rows, the first, that are learned from.
    places
        how many anomalies of each kind and size are planted.
    length
        rows an anomaly lasts; by default found from the number of rows.
    sizes
        of the anomalies, ``large`` among them: the verdict rests on those.
    seed
        of what is planted where.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> short = {"time": np.arange(60), "cpu": rng.normal(size=60)}
    >>> diagnosis = diagnose(short)
    >>> diagnosis.verdict, diagnosis.findings[0].problem
    ('no', 'too little data')
    """
    if not 0 < share < 1:
        raise SettingError(f"share={share!r}: give a share between 0 and 1, such as 0.6")
    for name, value, least in (("places", places, FEWEST_PLACES), ("length", length, 2)):
        if value is not None and (not isinstance(value, int) or value < least):
            raise SettingError(f"{name}={value!r}: give a whole number from {least} up")
    if "large" not in sizes or not set(sizes) <= set(SIZES):
        raise SettingError(f"sizes={tuple(sizes)!r}: give 'large', and others of {SIZES}")
    if not isinstance(recording, Recording):
        recording = read(recording)
    if len(recording) == 0 or recording.n_observations == 0:
        raise InputError("the recording holds no observations; give one with some hundred rows")
    mine = copy.copy(Detector() if detector is None else detector)
    if "align" in mine.get_params():
        mine.set_params(align="prompt")  # what is known when a row comes, and nothing later
    plan = _plan(len(recording), share, places, length, sizes)
    if plan.n_places < FEWEST_PLACES:
        needed = _rows_needed(share, length)
        reason = f"{needed:,} are needed to learn from some and to plant anomalies in the others"
        return _without_trials(
            recording, mine, plan, seed, too_little(len(recording), needed, reason)
        )
    try:
        return _with_trials(recording, mine, plan, seed)
    except SettingError:
        raise
    except InputError as error:
        needed = max(2 * len(recording), _rows_needed(share, length))
        finding = too_little(len(recording), needed, f"the detector says: {error}")
        return _without_trials(recording, mine, plan, seed, finding)


def _plan(
    n_rows: int, share: float, places: int, length: int | None, sizes: Sequence[str]
) -> _Plan:
    n_reference = int(share * n_rows)
    n_held_out = min(n_rows - n_reference, MOST_HELD_OUT)
    lasting = length or int(np.clip(n_held_out // PART_OF_HELD_OUT, *LENGTHS))
    n_places = min(places, (n_held_out - LEAD * lasting) // (SPACING * lasting))
    a_copy = max(1, int(FILLED_SHARE * n_held_out / lasting))
    return _Plan(
        n_reference=n_reference,
        n_held_out=n_held_out,
        length=lasting,
        n_places=n_places,
        n_copies=-(-n_places // a_copy),
        sizes=tuple(sorted(map(SIZES.index, set(sizes)))),
    )


def _rows_needed(share: float, length: int | None) -> int:
    held_out = (LEAD + SPACING * FEWEST_PLACES) * (length or LENGTHS[0])
    return int(np.ceil(held_out / (1 - share)))


def _with_trials(recording: Recording, detector: Any, plan: _Plan, seed: int) -> Diagnosis:
    reference = recording.rows(0, plan.n_reference).canonical()
    watched = recording.rows(plan.n_reference, plan.n_reference + plan.n_held_out).canonical()
    n_steps = 3 + len(CHURN) + len(plan.sizes) * len(KINDS) * plan.n_copies
    with progress.task("trying the detector", total=n_steps) as advance, progress.quiet():
        judge = Judge(detector.fit(reference))
        seasons: Mapping[str, float] = getattr(getattr(detector, "fitted_", None), "seasons", {})
        held = hold_out(reference, watched, plan.length, seasons)
        advance(1, "untouched rows")
        untouched = judge.scores(watched)
        counts = FalseAlarms.count("untouched", untouched, judge.threshold)
        found = judge.alerts(watched, explain=False)
        advance(1, "the reference itself")
        forward = _forward(reference, detector, plan.length)
        advance(1)
        churn = []
        for at, kind in enumerate(CHURN):
            changed = add_churn(held, kind, np.random.default_rng([seed, 0, at]))
            churn.append(FalseAlarms.count(kind, judge.scores(changed), judge.threshold))
            advance(1, f"churn, {kind}")
        trials = _Trials(held=held, plan=plan, seed=seed)
        outcomes: list[Outcome] = []
        for kind in KINDS:
            for size in plan.sizes:
                outcomes += trials.outcome(judge, untouched, kind, size)
                advance(plan.n_copies, kind)
        missed = [one.kind for one in outcomes if one.size == LARGE and one.share < LEAST_CAUGHT]
        other = _try_other(detector, reference, missed, trials) if missed else None
    counted = Counted(
        judge=judge,
        outcomes=outcomes,
        untouched=counts,
        churn=churn,
        scores=untouched,
        alerts=found,
        forward=forward,
        look=look_at(reference),
        length=plan.length,
        other=other,
        seasons=seasons,
    )
    n_scored = max(1, counts.rows)
    return Diagnosis(
        findings=find(counted),
        outcomes=tuple(outcomes),
        untouched=counts,
        churn=tuple(churn),
        rates=judge.rates,
        rate_alarms=tuple(
            int(over(untouched, threshold).sum()) / n_scored for threshold in judge.thresholds
        ),
        false_alarm_rate=judge.rate,
        threshold=judge.threshold,
        settings=_settings(detector),
        n_rows=len(recording),
        n_reference=plan.n_reference,
        n_variables=len(recording.names),
        length=plan.length,
        seed=seed,
        times=watched.times,
        scores=untouched,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Trials:
    """Copies of the held-out rows with anomalies in them, the same for every detector."""

    held: HeldOut
    plan: _Plan
    seed: int

    def outcome(
        self, judge: Judge, untouched: NDArray[np.float64], kind: str, size: int
    ) -> list[Outcome]:
        """Return what became of the anomalies of a kind and size; nothing if none can be planted.

        ``untouched`` are the judge's scores of the held-out rows as they are.
        """
        plan = self.plan
        alarms = over(untouched, judge.threshold)
        # The same places for every size.
        rng = np.random.default_rng([self.seed, 1, tuple(KINDS).index(kind)])
        places = choose_places(alarms, plan.n_places, plan.length, rng)
        fates: list[Fate] = []
        for first in range(plan.n_copies):
            some = places[first :: plan.n_copies]
            planted, plants = plant(self.held, kind, size, some, plan.length, rng)
            if not plants:
                continue
            # What comes after the last anomaly tells no more of them.
            planted = planted.rows(0, some[-1] + 2 * plan.length)
            scores = judge.scores(planted)
            alerts = judge.alerts(planted) if size == LARGE else None
            fates += [fate(one, judge, scores, untouched, plan.length, alerts) for one in plants]
        return [Outcome.of(kind, size, fates)] if fates else []


def _try_other(
    detector: Any, reference: Recording, kinds: Sequence[str], trials: _Trials
) -> Other | None:
    """Try the other simple detector on large anomalies that were missed; None if it cannot."""
    is_default = getattr(detector, "kind", None) == Detector.kind
    another = (KnnDetector if is_default else Detector)(false_alarm_rate=detector.false_alarm_rate)
    try:
        judge = Judge(another.fit(reference))
        untouched = judge.scores(trials.held.recording)
        found = [one for kind in kinds for one in trials.outcome(judge, untouched, kind, LARGE)]
    except InputError:
        return None  # too short for it, or a copy that ends after its last anomaly is
    return Other(
        name="smkc.paper.KnnDetector" if is_default else "smkc.Detector",
        outcomes={one.kind: one for one in found},
        untouched=FalseAlarms.count("untouched", untouched, judge.threshold),
    )


def _settings(detector: Any) -> dict[str, Any]:
    """Return a detector's settings by name, and its kind if it has one."""
    kind = {"detector": detector.kind} if hasattr(detector, "kind") else {}
    return {**kind, **detector.get_params()}


def _forward(reference: Recording, detector: Any, length: int) -> FalseAlarms | None:
    """Count alarms when the first part of the reference judges its last."""
    cut = int(FORWARD_SHARE * len(reference))
    if len(reference) - cut < 2 * length:
        return None
    try:
        judge = Judge(copy.copy(detector).fit(reference.rows(0, cut).canonical()))
        scores = judge.scores(reference.rows(cut).canonical())
    except InputError:
        return None  # too short for this detector
    return FalseAlarms.count("reference", scores, judge.threshold)


def _without_trials(
    recording: Recording, detector: Any, plan: _Plan, seed: int, finding: Finding
) -> Diagnosis:
    return Diagnosis(
        findings=(finding,),
        outcomes=(),
        untouched=None,
        churn=(),
        rates=(),
        rate_alarms=(),
        false_alarm_rate=float(detector.false_alarm_rate),
        threshold=float("nan"),
        settings=_settings(detector),
        n_rows=len(recording),
        n_reference=plan.n_reference,
        n_variables=len(recording.names),
        length=plan.length,
        seed=seed,
        times=recording.times,
        scores=np.empty(0),
    )
