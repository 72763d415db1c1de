"""Events: how many are found at a bearable number of false alarms, and how soon.

In: the truth about each time step of one recording and its score, higher = more anomalous. Out:
what a threshold finds, and metrics over steps. A step that got no score (NaN) counts as the least
anomalous, for every method alike, and is counted.
"""

from dataclasses import dataclass
from math import floor, inf, nan

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.metrics import auprc, auroc, checked
from benchmarks.real import _loops
from smkc.errors import SettingError

__all__ = [
    "HOLD",
    "Detection",
    "StepMetrics",
    "checked_steps",
    "detection",
    "event_bounds",
    "filled_scores",
    "step_metrics",
]

# An alarm that goes on is raised anew after so many normal steps; in a recording with fewer than
# ten times as many normal steps, after a tenth of them.
HOLD = 100


@dataclass(frozen=True, kw_only=True)
class Detection:
    """What the lowest threshold finds that keeps within the false alarms allowed.

    Parameters
    ----------
    threshold
        a step alarms if its score is at least this; infinite if no threshold keeps within them.
    recall
        share of events with an alarm.
    delay
        median, over the events found, of the steps from an event's start to its first alarm; NaN
        if none is found.
    n_events, n_found
        how many there are, and how many have an alarm.
    n_false, n_allowed
        false alarms at the threshold, and how many were allowed.
    n_unscored
        steps without a score.
    """

    threshold: float
    recall: float
    delay: float
    n_events: int
    n_found: int
    n_false: int
    n_allowed: int
    n_unscored: int


@dataclass(frozen=True, kw_only=True)
class StepMetrics:
    """Metrics over time steps, without regard to events.

    Parameters
    ----------
    auprc, auroc
        as in :mod:`benchmarks.metrics`, a step in place of a window.
    n_unscored
        steps without a score.
    """

    auprc: float
    auroc: float
    n_unscored: int


def event_bounds(is_anomalous: ArrayLike) -> NDArray[np.int64]:
    """(E, 2) first step of each event and the step after its last; events are maximal runs.

    Examples
    --------
    >>> event_bounds([0, 1, 1, 0, 1]).tolist()
    [[1, 3], [4, 5]]
    """
    steps = np.asarray(is_anomalous).astype(np.int8)
    change = np.diff(steps, prepend=np.int8(0), append=np.int8(0))
    return np.stack([np.flatnonzero(change == 1), np.flatnonzero(change == -1)], axis=1)


def filled_scores(scores: ArrayLike) -> tuple[NDArray[np.float64], int]:
    """Return the scores with minus infinity in place of NaN, and how many there were.

    Examples
    --------
    >>> filled_scores([0.5, np.nan, 0.25])
    (array([0.5 ,  -inf, 0.25]), 1)
    """
    given = np.asarray(scores, np.float64)
    is_missing = np.isnan(given)
    return np.where(is_missing, -inf, given), int(np.count_nonzero(is_missing))


def step_metrics(is_anomalous: ArrayLike, scores: ArrayLike) -> StepMetrics:
    """Measure how well scores tell anomalous steps from normal ones.

    Parameters
    ----------
    is_anomalous
        (n,) the truth about each time step, bool or 0 and 1.
    scores
        (n,) higher = more anomalous; NaN = none, the least anomalous.

    Examples
    --------
    >>> step_metrics([1, 0, 1, 0], [0.9, 0.8, np.nan, 0.1])
    StepMetrics(auprc=0.75, auroc=0.5, n_unscored=1)
    """
    filled, n_unscored = filled_scores(scores)
    truth, given = checked_steps(is_anomalous, filled)
    return StepMetrics(auprc=auprc(truth, given), auroc=auroc(truth, given), n_unscored=n_unscored)


def detection(
    is_anomalous: ArrayLike, scores: ArrayLike, *, false_alarms: float = 1.0
) -> Detection:
    """Find the events at so many false alarms per 1,000 normal steps.

    Parameters
    ----------
    is_anomalous
        (n,) the truth about each time step, bool or 0 and 1.
    scores
        (n,) higher = more anomalous; NaN = none, the least anomalous.
    false_alarms
        allowed per 1,000 normal steps, rounded down to whole ones; unless it is 0, at least one
        is allowed in a recording.

    Notes
    -----
    False alarms are counted in runs, as whoever is woken by them counts: a run of alarmed steps
    that meets no event is one false alarm for each HOLD of its steps begun. A run that meets an
    event was right to start, whether early or late, and is one false alarm for each HOLD of its
    normal steps completed: an alarm that never ends is not a good one. Thresholds are lowered
    from the highest score down until the false alarms exceed what is allowed for the first time;
    lower ones, whose runs grow together and may be fewer, are not considered. An event is found
    if any of its steps alarms; an alarm already on at its start has no delay.

    Examples
    --------
    >>> found = detection([0, 0, 1, 1, 1, 0, 0, 1], [0, 5, 1, 6, 1, 3, 0, 2], false_alarms=0)
    >>> found.threshold, found.recall, found.delay
    (6.0, 0.5, 1.0)
    """
    if not 0 <= false_alarms < inf:
        raise SettingError(
            f"false_alarms={false_alarms} is no number of false alarms per 1,000 steps; choose 0 "
            "or more, such as 1"
        )
    filled, n_unscored = filled_scores(scores)
    truth, given = checked_steps(is_anomalous, filled)
    n_normal = np.concatenate([[0], np.cumsum(~truth)])
    n_allowed = _allowed(false_alarms, int(n_normal[-1]))
    hold = max(1, min(HOLD, int(n_normal[-1]) // 10))
    order = np.argsort(-given, kind="stable")
    ranked = given[order]
    is_last = np.append(ranked[1:] != ranked[:-1], True)
    n_kept, n_false = _loops.most_alarms(order, is_last, n_normal, hold, n_allowed)
    threshold = float(ranked[n_kept - 1]) if n_kept else inf
    is_alarmed = np.zeros(len(truth), np.bool_)
    is_alarmed[order[:n_kept]] = True
    bounds = event_bounds(truth)
    delays = [
        int(np.argmax(is_alarmed[start:end]))
        for start, end in bounds
        if is_alarmed[start:end].any()
    ]
    return Detection(
        threshold=threshold,
        recall=len(delays) / len(bounds),
        delay=float(np.median(delays)) if delays else nan,
        n_events=len(bounds),
        n_found=len(delays),
        n_false=int(n_false),
        n_allowed=n_allowed,
        n_unscored=n_unscored,
    )


def checked_steps(
    is_anomalous: ArrayLike, scores: ArrayLike
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return truth and scores as (n,) arrays, or say why they cannot be measured."""
    return checked(is_anomalous, scores, "time step", "put them last with filled_scores")


def _allowed(false_alarms: float, n_normal: int) -> int:
    """Return how many false alarms a recording with so many normal steps may have."""
    # What rounding took away from a whole number is given back.
    whole = floor(false_alarms * n_normal / 1000 + 1e-9)
    return max(1, whole) if false_alarms > 0 else 0
