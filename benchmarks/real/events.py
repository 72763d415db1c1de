"""Events: how many are found at an allowed rate of false alarms, and how soon.

In: the truth about each time step of one recording and its score, higher = more anomalous. Out: the
events found at a threshold, and metrics over steps. A step without a score (NaN) ranks as the least
anomalous, for every method; such steps are counted.
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

# An alarm that continues counts as another false alarm after this many normal steps, or after a
# tenth of the recording's normal steps if that is less.
HOLD = 100


@dataclass(frozen=True, kw_only=True)
class Detection:
    """Events found at the lowest threshold within the allowed false alarms.

    Parameters
    ----------
    threshold
        steps with at least this score are alarms; infinite if every threshold has too many false
        alarms.
    recall
        share of events with an alarm.
    delay
        median, over the events found, of the steps from an event's start to its first alarm; NaN
        if none is found.
    n_events, n_found
        number of events, and of events with an alarm.
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
        as in :mod:`benchmarks.metrics`, for steps instead of windows.
    n_unscored
        steps without a score.
    """

    auprc: float
    auroc: float
    n_unscored: int


def event_bounds(is_anomalous: ArrayLike) -> NDArray[np.int64]:
    """Return (E, 2) the first step of each event, a run of anomalous steps, and the step after it.

    Examples
    --------
    >>> event_bounds([0, 1, 1, 0, 1]).tolist()
    [[1, 3], [4, 5]]
    """
    steps = np.asarray(is_anomalous).astype(np.int8)
    change = np.diff(steps, prepend=np.int8(0), append=np.int8(0))
    return np.stack([np.flatnonzero(change == 1), np.flatnonzero(change == -1)], axis=1)


def filled_scores(scores: ArrayLike) -> tuple[NDArray[np.float64], int]:
    """Return the scores with minus infinity in place of NaN, and the number of NaN.

    Examples
    --------
    >>> filled_scores([0.5, np.nan, 0.25])
    (array([0.5 ,  -inf, 0.25]), 1)
    """
    given = np.asarray(scores, np.float64)
    is_missing = np.isnan(given)
    return np.where(is_missing, -inf, given), int(np.count_nonzero(is_missing))


def step_metrics(is_anomalous: ArrayLike, scores: ArrayLike) -> StepMetrics:
    """Measure how well scores separate anomalous steps from normal ones.

    Parameters
    ----------
    is_anomalous
        (n,) the truth about each time step, bool or 0 and 1.
    scores
        (n,) higher = more anomalous; NaN, no score, ranks as the least anomalous.

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
    """Find the events at a given number of false alarms per 1,000 normal steps.

    Parameters
    ----------
    is_anomalous
        (n,) the truth about each time step, bool or 0 and 1.
    scores
        (n,) higher = more anomalous; NaN, no score, ranks as the least anomalous.
    false_alarms
        allowed per 1,000 normal steps. The number for the recording is rounded down, but is at
        least 1 unless this is 0.

    Notes
    -----
    False alarms are counted in runs of alarmed steps, as an operator would count them. A run that
    meets no event is one false alarm per HOLD steps, rounded up. A run that meets an event is
    correct, even if it starts early, but is also one false alarm per HOLD normal steps, rounded
    down, so that an alarm that never ends is penalised. The threshold is lowered from the highest
    score until the false alarms exceed the allowed number for the first time; lower thresholds are
    not considered, although runs that merge may reduce the number again. An event is found if any
    of its steps is an alarm; if an alarm is already on at its start, the delay is 0.

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
    """Return truth and scores as (n,) arrays; raise InputError if they cannot be measured."""
    return checked(is_anomalous, scores, "time step", "put them last with filled_scores")


def _allowed(false_alarms: float, n_normal: int) -> int:
    """Return the number of false alarms allowed in a recording with ``n_normal`` normal steps."""
    # Rounding errors may leave a product just below a whole number.
    whole = floor(false_alarms * n_normal / 1000 + 1e-9)
    return max(1, whole) if false_alarms > 0 else 0
