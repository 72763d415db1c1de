"""Jitted loops of the bootstrap: ranked windows -> a metric of each resampled test set.

Each replicate has its own stream of random numbers, so that its result does not depend on threads
or on the order of computation.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from benchmarks.world._random import integer, next_bits

__all__ = ["AUPRC", "AUROC", "TPR_AT_FPR", "resampled"]

# Codes of the metrics.
AUPRC, AUROC, TPR_AT_FPR = 0, 1, 2


@njit(cache=True, nogil=True)
def draw(windows: NDArray[np.int64], state: NDArray[np.uint64], counts: NDArray[np.int64]) -> None:
    """Draw as many windows as there are, with replacement, and add the draws to ``counts``."""
    for _ in range(windows.size):
        counts[windows[integer(state, windows.size)]] += 1


@njit(cache=True, nogil=True)
def measured(
    metric: int,
    fpr: float,
    counts: NDArray[np.int64],
    order: NDArray[np.int64],
    is_last: NDArray[np.bool_],
    is_anomalous: NDArray[np.bool_],
    n_anomalous: int,
) -> float:
    """Return the metric of a test set that holds window b counts[b] times.

    ``order`` (B,) lists the windows by descending score; ``is_last`` (B,) tells whether the next
    window in that order has a lower score.
    """
    n_normal = order.size - n_anomalous
    hits, alarms, gained, level = 0, 0, 0, 0
    total, best = 0.0, 0
    for i in range(order.size):
        b = order[i]
        if is_anomalous[b]:
            gained += counts[b]
        else:
            level += counts[b]
        if not is_last[i]:
            continue
        hits += gained
        alarms += level
        if metric == AUPRC:
            if gained:
                total += gained * (hits / (hits + alarms))
        elif metric == AUROC:
            total += gained * (n_normal - alarms + 0.5 * level)
        elif alarms / n_normal <= fpr:
            best = hits
        else:
            break
        gained, level = 0, 0
    if metric == AUPRC:
        return total / n_anomalous
    if metric == AUROC:
        return total / (n_anomalous * n_normal)
    return best / n_anomalous


@njit(cache=True, nogil=True)
def resampled(
    metric: int,
    fpr: float,
    is_anomalous: NDArray[np.bool_],
    orders: NDArray[np.int64],
    is_last: NDArray[np.bool_],
    seed: np.uint64,
    out: NDArray[np.float64],
) -> None:
    """Fill ``out[r, k]`` with the metric of method k on the r-th resampled test set.

    Parameters
    ----------
    is_anomalous
        (B,) the truth. Anomalous and normal windows are drawn separately, as many of each as the
        test set has.
    orders, is_last
        (K, B) as in :func:`measured`, one row per method.
    out
        (R, K); all K methods of a replicate see the same windows.
    """
    n_replicates, n_methods = out.shape
    anomalous, normal = np.flatnonzero(is_anomalous), np.flatnonzero(~is_anomalous)
    counts = np.empty(is_anomalous.size, np.int64)
    streams, state = np.array([seed], np.uint64), np.empty(1, np.uint64)
    for r in range(n_replicates):
        counts[:] = 0
        state[0] = next_bits(streams)
        draw(anomalous, state, counts)
        draw(normal, state, counts)
        for k in range(n_methods):
            out[r, k] = measured(
                metric, fpr, counts, orders[k], is_last[k], is_anomalous, anomalous.size
            )
