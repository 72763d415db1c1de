"""Jitted loops of the bootstrap: ranked windows -> a metric of each resampled test set.

A replicate has a stream of random numbers of its own, so that it is the same whoever computes it
and whenever.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from benchmarks.world._random import integer, next_bits

__all__ = ["AUPRC", "AUROC", "TPR_AT_FPR", "resampled"]

# Which metric a loop computes.
AUPRC, AUROC, TPR_AT_FPR = 0, 1, 2


@njit(cache=True, nogil=True)
def draw(windows: NDArray[np.int64], state: NDArray[np.uint64], counts: NDArray[np.int64]) -> None:
    """Count as many draws with replacement as there are windows."""
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

    ``order`` (B,) has the windows from the highest score down, ``is_last`` (B,) whether the next
    in that order scores lower.
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
    """out[r, k] = the metric of method k on the r-th resampled test set.

    Parameters
    ----------
    is_anomalous
        (B,) the truth; anomalous and normal windows are drawn apart, as many as there are.
    orders, is_last
        (K, B) as in :func:`measured`, one row a method.
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
