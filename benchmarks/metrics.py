"""Metrics: how well scores separate anomalous windows from normal ones.

In: the truth about each window and its score, higher = more anomalous. Out: one number, higher =
better. Windows with equal scores always lie on the same side of a threshold.
"""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smkc.errors import InputError, SettingError

__all__ = ["METRICS", "TABLE_FPR", "auprc", "auroc", "checked", "tpr_at_fpr"]

# The false-positive rate at which the paper's tables give the true-positive rate.
TABLE_FPR = 0.01


def auprc(is_anomalous: ArrayLike, scores: ArrayLike) -> float:
    """Return the area under the precision-recall curve, as average precision.

    Parameters
    ----------
    is_anomalous
        (B,) the truth, bool or 0 and 1.
    scores
        (B,) higher = more anomalous; no NaN.

    Notes
    -----
    The sum, over distinct scores, of the gain in recall times the precision, without
    interpolation, as in scikit-learn's ``average_precision_score``.

    Examples
    --------
    >>> auprc([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1])
    0.8333333333333333
    """
    hits, alarms = _counts(is_anomalous, scores)
    gained = np.diff(hits, prepend=0)
    return float(np.sum(gained * (hits / (hits + alarms))) / hits[-1])


def auroc(is_anomalous: ArrayLike, scores: ArrayLike) -> float:
    """Return the area under the ROC curve.

    It is the share of (anomalous, normal) pairs in which the anomalous one scores higher; ties
    count half.

    Parameters
    ----------
    is_anomalous, scores
        (B,) as in :func:`auprc`.

    Examples
    --------
    >>> auroc([1, 0, 1, 0], [0.9, 0.8, 0.8, 0.1])
    0.875
    """
    hits, alarms = _counts(is_anomalous, scores)
    gained = np.diff(hits, prepend=0)
    below = alarms[-1] - alarms
    level = np.diff(alarms, prepend=0)
    return float(np.sum(gained * (below + 0.5 * level)) / (hits[-1] * alarms[-1]))


def tpr_at_fpr(is_anomalous: ArrayLike, scores: ArrayLike, fpr: float = TABLE_FPR) -> float:
    """Return the largest true-positive rate at a false-positive rate of at most ``fpr``.

    Parameters
    ----------
    is_anomalous, scores
        (B,) as in :func:`auprc`.
    fpr
        largest share of normal windows past the threshold, in [0, 1].

    Examples
    --------
    >>> tpr_at_fpr([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], fpr=0.01)
    0.5
    """
    if not 0 <= fpr <= 1:
        raise SettingError(f"fpr={fpr} is no rate; choose one from 0 to 1, such as {TABLE_FPR}")
    hits, alarms = _counts(is_anomalous, scores)
    # Divide rather than multiply: 7 / 100 is 0.07, 0.07 * 100 is more than 7.
    allowed = hits[alarms / alarms[-1] <= fpr]
    return float(allowed[-1] / hits[-1]) if allowed.size else 0.0


METRICS: Mapping[str, Callable[[ArrayLike, ArrayLike], float]] = {
    "auprc": auprc,
    "auroc": auroc,
    "tpr_at_1pct_fpr": partial(tpr_at_fpr, fpr=TABLE_FPR),
}


def checked(
    is_anomalous: ArrayLike,
    scores: ArrayLike,
    unit: str = "window",
    remedy: str = "a method must score every window, so mend it or leave those windows out for all "
    "methods alike",
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return truth and scores as (B,) arrays; raise InputError if they cannot be measured.

    Error messages call one entry a ``unit``, and give ``remedy`` as advice for NaN scores.
    """
    truth, given = np.asarray(is_anomalous), np.asarray(scores, np.float64)
    if truth.ndim != 1 or truth.shape != given.shape:
        raise InputError(
            f"truth of the shape {truth.shape} for scores of the shape {given.shape}; "
            f"give both as flat arrays, one entry per {unit}"
        )
    if truth.dtype != np.bool_ and not np.isin(truth, (0, 1)).all():
        raise InputError(f"the truth about a {unit} is True or False, 1 or 0; compare kinds first")
    truth = truth.astype(np.bool_)
    n_anomalous = int(np.count_nonzero(truth))
    for count, kind in ((n_anomalous, "anomalous"), (len(truth) - n_anomalous, "normal")):
        if count == 0:
            raise InputError(
                f"none of {len(truth)} {unit}s is {kind}, so that nothing can be told apart; "
                f"measure on a test set that has {unit}s of both kinds"
            )
    is_missing = np.isnan(given)
    if is_missing.any():
        raise InputError(
            f"{int(np.count_nonzero(is_missing))} of {len(given)} scores are NaN, the first at "
            f"{unit} {int(np.argmax(is_missing))}; {remedy}"
        )
    return truth, given


def _counts(
    is_anomalous: ArrayLike, scores: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (K,) counts of anomalous and normal windows at or above each distinct score.

    The K scores are in descending order.
    """
    truth, given = checked(is_anomalous, scores)
    order = np.argsort(-given, kind="stable")
    ranked = given[order]
    last = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)
    hits = np.cumsum(truth[order])[last]
    return hits, last + 1 - hits
