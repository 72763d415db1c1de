"""Jitted loops of the metrics over time steps: areas per buffer length, and allowed alarms.

An event is a run of anomalous steps; its buffer of half length h reaches h steps to either side. A
step's place is the index of the first, that is highest, threshold that it reaches.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["areas", "most_alarms", "reached"]

# Larger than any distance between a step and an event.
FAR = 1 << 40


@njit(cache=True, nogil=True)
def reached(
    is_anomalous: NDArray[np.bool_],
    lag: int,
    never: int,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    distance: NDArray[np.int64],
) -> None:
    """Find the smallest half lengths at which a normal step lies in one buffer, and in two.

    Fills (n,) ``first`` and ``second``, at most ``never``, and the ``distance`` to the event whose
    buffer reaches the step first. After an event the buffer is ``lag`` steps shorter than before.
    """
    n = is_anomalous.size
    nearer, farther = -FAR, -FAR  # last steps of the two events before t
    for t in range(n):
        first[t], second[t], distance[t] = never, never, 0
        if is_anomalous[t]:
            if t == 0 or not is_anomalous[t - 1]:
                farther = nearer
            nearer = t
        else:
            first[t] = min(t - nearer + lag, never)
            second[t] = min(t - farther + lag, never)
            distance[t] = t - nearer
    nearer, farther = FAR, FAR  # first steps of the two events after t
    for t in range(n - 1, -1, -1):
        if is_anomalous[t]:
            if t == n - 1 or not is_anomalous[t + 1]:
                farther = nearer
            nearer = t
        elif nearer - t < first[t]:
            second[t] = min(first[t], farther - t)
            first[t] = nearer - t
            distance[t] = nearer - t
        else:
            second[t] = min(second[t], nearer - t)


@njit(cache=True, nogil=True)
def found_share(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    best: NDArray[np.int64],
    half: int,
    share: NDArray[np.float64],
) -> None:
    """Fill (K,) ``share`` with the share of events found at each threshold.

    An event is found by an alarm in it or its buffer; events whose buffers meet count as one.
    ``best`` (E,) has the smallest place in each event and its buffer.
    """
    share[:] = 0.0
    n_joint = 0
    place = share.size
    for i in range(starts.size):
        place = min(place, best[i])
        if i + 1 == starts.size or starts[i + 1] - ends[i] > 2 * half:
            share[place] += 1.0
            n_joint += 1
            place = share.size
    total = 0.0
    for k in range(share.size):
        total += share[k]
        share[k] = total / n_joint


@njit(cache=True, nogil=True)
def area_pair(
    n: int,
    n_anomalous: int,
    alarmed: NDArray[np.int64],
    hits: NDArray[np.int64],
    near: NDArray[np.float64],
    share: NDArray[np.float64],
    is_tsb_ad: bool,
) -> tuple[float, float]:
    """Return the areas under the precision-recall and the ROC curve, for one buffer length.

    At each of K thresholds, ``alarmed`` counts the alarmed steps, ``hits`` the anomalous ones among
    them, ``near`` is the weight of those in buffers, and ``share`` the share of events found.
    """
    pr, roc = 0.0, 0.0
    recall_before, precision_before, rate_before = 0.0, 1.0, 0.0
    for k in range(alarmed.size):
        weight = hits[k] + near[k]
        # Half of the buffers' weight counts: of the alarmed steps (TSB-AD), or of all steps.
        due = n_anomalous + 0.5 * (near[k] if is_tsb_ad else near[-1])
        recall = min(weight / due, 1.0) * share[k]
        precision = weight / alarmed[k]
        rate = (alarmed[k] - weight) / (n - due)
        height = precision if is_tsb_ad else 0.5 * (precision + precision_before)
        pr += (recall - recall_before) * height
        roc += (rate - rate_before) * 0.5 * (recall + recall_before)
        recall_before, precision_before, rate_before = recall, precision, rate
    roc += (1.0 - rate_before) * 0.5 * (1.0 + recall_before)
    return pr, roc


@njit(cache=True, nogil=True)
def areas(
    is_anomalous: NDArray[np.bool_],
    place: NDArray[np.int64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    distance: NDArray[np.int64],
    by_first: NDArray[np.int64],
    by_second: NDArray[np.int64],
    n_thresholds: int,
    lag: int,
    is_tsb_ad: bool,
    out: NDArray[np.float64],
) -> None:
    """Fill (W + 1, 2) ``out`` with the areas of :func:`area_pair` for the buffer lengths 0 to W.

    ``ends`` has the last step of each event; ``by_first`` and ``by_second`` list the steps that
    one buffer and two buffers reach, sorted by ``first`` and by ``second``.
    """
    n, window = is_anomalous.size, out.shape[0] - 1
    top = window // 2
    alarmed = np.zeros(n_thresholds, np.int64)
    hits = np.zeros(n_thresholds, np.int64)
    for t in range(n):
        alarmed[place[t]] += 1
        if is_anomalous[t]:
            hits[place[t]] += 1
    n_anomalous = hits.sum()
    alarmed, hits = np.cumsum(alarmed), np.cumsum(hits)
    best = np.empty(starts.size, np.int64)
    for i in range(starts.size):
        best[i] = place[starts[i] : ends[i] + 1].min()
    # Number of steps in one buffer, by distance and place; their weight falls with the distance.
    # Steps in two buffers, by place, weigh 1: each of the two weights is at least sqrt(1/2), and
    # their sum is capped at 1.
    once = np.zeros((top + 1, n_thresholds))
    twice = np.zeros(n_thresholds)
    share = np.empty(n_thresholds)
    i_first, i_second = 0, 0
    for half in range(top + 1):
        while i_first < by_first.size and first[by_first[i_first]] == half:
            t = by_first[i_first]
            once[distance[t], place[t]] += 1.0
            i_first += 1
        while i_second < by_second.size and second[by_second[i_second]] == half:
            t = by_second[i_second]
            once[distance[t], place[t]] -= 1.0
            twice[place[t]] += 1.0
            i_second += 1
        for i in range(starts.size):
            before, behind = starts[i] - half, ends[i] + half - lag
            if before >= 0:
                best[i] = min(best[i], place[before])
            if ends[i] < behind < n:
                best[i] = min(best[i], place[behind])
        found_share(starts, ends, best, half, share)
        for length in range(2 * half, min(2 * half + 1, window) + 1):
            near = twice.copy()
            for d in range(1, half + 1):
                near += np.sqrt(1.0 - d / length) * once[d]
            out[length] = area_pair(
                n, n_anomalous, alarmed, hits, np.cumsum(near), share, is_tsb_ad
            )


@njit(cache=True, nogil=True)
def most_alarms(
    order: NDArray[np.int64],
    is_last: NDArray[np.bool_],
    n_normal: NDArray[np.int64],
    hold: int,
    allowed: int,
) -> tuple[int, int]:
    """Return how many of the highest scores can be alarms, and the number of false alarms then.

    The false alarms are at most ``allowed``. ``order`` (n,) lists the steps by descending score,
    ``is_last`` (n,) tells whether the next in that order scores lower, and ``n_normal`` (n + 1,)
    counts the normal steps before each step.
    """
    n = order.size
    other = np.full(n, -1)  # at either end of a run of alarmed steps: its other end
    n_kept, n_false, total = 0, 0, 0
    for i in range(n):
        t = order[i]
        a, b = t, t
        if t > 0 and other[t - 1] >= 0:
            a = other[t - 1]
            total -= charge(a, t - 1, n_normal, hold)
        if t + 1 < n and other[t + 1] >= 0:
            b = other[t + 1]
            total -= charge(t + 1, b, n_normal, hold)
        other[a], other[b] = b, a
        total += charge(a, b, n_normal, hold)
        if is_last[i]:
            if total > allowed:
                break
            n_kept, n_false = i + 1, total
    return n_kept, n_false


@njit(cache=True, nogil=True)
def charge(a: int, b: int, n_normal: NDArray[np.int64], hold: int) -> int:
    """Count the false alarms of the run of alarmed steps from a to b, both included."""
    n_wrong: int = n_normal[b + 1] - n_normal[a]
    if n_wrong <= b - a:  # it meets an event: its first alarm is correct
        return n_wrong // hold
    return (n_wrong + hold - 1) // hold
