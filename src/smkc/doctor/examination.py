"""The check itself: a detector tried on changed copies of a recording's later rows.

In: a recording and, optionally, a detector. Out: a :class:`Diagnosis`.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc import progress
from smkc.detector import Detector
from smkc.doctor.churning import CHURN, add_churn
from smkc.doctor.diagnosis import Diagnosis
from smkc.doctor.findings import find, too_little
from smkc.doctor.held_out import HeldOut, hold_out
from smkc.doctor.look import look_at
from smkc.doctor.planting import KINDS, LARGE, SIZES, plant
from smkc.doctor.trial import FalseAlarms, Fate, Judge, Outcome, choose_places, fate, over
from smkc.errors import InputError, SettingError
from smkc.recording import Recording, read

# A planted anomaly lasts 1/100 of the held-out rows, within these bounds.
PART_OF_HELD_OUT = 100
LENGTHS = (8, 32)

# Largest share of a copy's rows that anomalies fill. A detector that keeps learning would adapt to
# more of them, and real faults are rare.
FILLED_SHARE = 0.04

# Distance from one anomaly to the next, and rows before the first, as multiples of its length.
SPACING, LEAD = 4, 3

# Smallest number of anomalies of a kind and size from which a verdict is drawn.
FEWEST_PLACES = 3

# Largest number of rows judged; the trials judge them about 30 times.
MOST_HELD_OUT = 20_000


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """Numbers of rows, anomalies and copies for the trials.

    ``n_copies`` is the number of copies over which the ``n_places`` anomalies of a kind and size
    are distributed; ``sizes`` are indices into ``SIZES``.
    """

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
    """Check whether a detector works on a recording, with anomalies planted in its later rows.

    The detector learns from the first rows and judges copies of the rest: unchanged, with churn of
    each kind but no anomaly, and with anomalies of each kind in up to three sizes.

    Parameters
    ----------
    recording
        a recording, or anything that :func:`smkc.read` takes.
    detector
        a detector with the settings to try, fitted or not; it is not changed. By default
        ``Detector()``.
    share
        share of the rows to learn from, taken from the start.
    places
        largest number of anomalies of each kind and size; fewer are planted in a short recording.
    length
        rows that an anomaly lasts; by default 1/100 of the held-out rows, from 8 to 32.
    sizes
        sizes of the anomalies; must include ``large``, on which the verdict is based.
    seed
        seed of the generator that chooses places, variables and changes.

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
        mine.set_params(align="prompt")  # judge each row without the rows after it
    plan = _plan(len(recording), share, places, length, sizes)
    if plan.n_places < FEWEST_PLACES:
        needed = _rows_needed(share, length)
        reason = f"{needed:,} are needed to learn from some and to plant anomalies in the others"
    else:
        try:
            return _with_trials(recording, mine, plan, seed)
        except SettingError:
            raise
        except InputError as error:
            needed = max(2 * len(recording), _rows_needed(share, length))
            reason = f"the detector says: {error}"
    return Diagnosis(
        findings=(too_little(len(recording), needed, reason),),
        false_alarm_rate=float(mine.false_alarm_rate),
        times=recording.times,
        **_about(recording, mine, plan, seed),
    )


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
    n_steps = 2 + len(CHURN) + len(plan.sizes) * len(KINDS) * plan.n_copies
    with progress.task("trying the detector", total=n_steps) as advance, progress.quiet():
        judge = Judge(detector.fit(reference))
        seasons: Mapping[str, float] = getattr(getattr(detector, "fitted_", None), "seasons", {})
        held = hold_out(reference, watched, plan.length, seasons)
        advance(1, "untouched rows")
        untouched = judge.scores(watched)
        counts = FalseAlarms.count("untouched", untouched, judge.threshold)
        found = judge.alerts(watched, explain=False)
        advance(1)
        churn = []
        for at, kind in enumerate(CHURN):
            changed = add_churn(held, kind, np.random.default_rng([seed, 0, at]))
            churn.append(FalseAlarms.count(kind, judge.scores(changed), judge.threshold))
            advance(1, f"churn, {kind}")
        outcomes: list[Outcome] = []
        for kind in KINDS:
            for size in plan.sizes:
                outcomes += _outcome(held, plan, seed, judge, untouched, kind, size)
                advance(plan.n_copies, kind)
    n_scored = max(1, counts.rows)
    counted = Diagnosis(
        outcomes=tuple(outcomes),
        untouched=counts,
        churn=tuple(churn),
        rates=judge.rates,
        rate_alarms=tuple(
            int(over(untouched, threshold).sum()) / n_scored for threshold in judge.thresholds
        ),
        false_alarm_rate=judge.rate,
        threshold=judge.threshold,
        times=watched.times,
        scores=untouched,
        **_about(recording, detector, plan, seed),
    )
    findings = find(counted, found, look_at(reference), judge.doubts, seasons)
    return replace(counted, findings=findings)


def _outcome(
    held: HeldOut,
    plan: _Plan,
    seed: int,
    judge: Judge,
    untouched: NDArray[np.float64],
    kind: str,
    size: int,
) -> list[Outcome]:
    """Return the outcome for one kind and size, or an empty list if none can be planted.

    ``untouched`` is (T,), the judge's scores of the unchanged held-out rows.
    """
    alarms = over(untouched, judge.threshold)
    # The seed does not depend on the size, so every size has the same places.
    rng = np.random.default_rng([seed, 1, tuple(KINDS).index(kind)])
    places = choose_places(alarms, plan.n_places, plan.length, rng)
    fates: list[Fate] = []
    for first in range(plan.n_copies):
        some = places[first :: plan.n_copies]
        planted, plants = plant(held, kind, size, some, plan.length, rng)
        if not plants:
            continue
        # Rows after the last anomaly do not affect the counts.
        planted = planted.rows(0, some[-1] + 2 * plan.length)
        scores = judge.scores(planted)
        alerts = judge.alerts(planted) if size == LARGE else None
        fates += [fate(one, judge, scores, untouched, plan.length, alerts) for one in plants]
    return [Outcome.of(kind, size, fates)] if fates else []


def _about(recording: Recording, detector: Any, plan: _Plan, seed: int) -> dict[str, Any]:
    """Return the fields of a diagnosis that do not depend on the trials."""
    kind = {"detector": detector.kind} if hasattr(detector, "kind") else {}
    return {
        "settings": {**kind, **detector.get_params()},
        "n_rows": len(recording),
        "n_reference": plan.n_reference,
        "n_variables": len(recording.names),
        "length": plan.length,
        "seed": seed,
    }
