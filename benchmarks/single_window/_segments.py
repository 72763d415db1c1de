"""Jump and repetition, the expensive tests: factor paths that break off or repeat earlier ones.

In: each time step's information about two random-walk factors, and the factors' speed. Out: the log
of a mean likelihood ratio: the likelihood of a segment given an unrelated path, or given an earlier
segment, divided by its likelihood given the rest of the window.
"""

from math import log

import numpy as np

from benchmarks.single_window._compiled import Floats, compiled, exp_all, log_all
from benchmarks.single_window._walks import (
    FIRST_VARIANCE,
    Passes,
    joined_likelihoods,
    passes,
    smoothed_walk,
)

__all__ = ["broken_and_copied", "segment_lengths"]

# Segments of all 4 lengths may break off; those of the shortest length are not tested as copies.
N_LENGTHS = 4


@compiled
def segment_lengths(length: int) -> tuple[int, int, int, int]:
    """Return the lengths of segments: L/16, L/8, 3L/16 and L/4, at least 1, 2, 3 and 4."""
    return max(1, length // 16), max(2, length // 8), max(3, 3 * length // 16), max(4, length // 4)


@compiled
def broken_and_copied(info: Floats, speed: Floats) -> tuple[float, float]:
    """Return path_break and path_copy of a window; ``speed`` (2, 1) holds the step variances."""
    length = info.shape[1]
    lengths = segment_lengths(length)
    found = passes(info, speed)
    whole = found.past[0, length, 0]
    waiting = np.empty((2, 1))
    fresh = _fresh_starts(info, speed, lengths)
    rest = np.empty((length, 1))
    alike = _alike(info, found)
    broken = np.empty(N_LENGTHS * length)
    copied = np.empty(N_LENGTHS * length * length)
    n_broken, n_copied = 0, 0
    for i in range(N_LENGTHS):
        n = lengths[i]
        # Segments start after the first step: there is no path before it to break off from.
        n_starts = length - n
        waiting[0, 0], waiting[1, 0] = n * speed[0, 0], n * speed[1, 0]
        joined_likelihoods(found, 1, 1 + n, waiting, rest[:n_starts])
        for s in range(1, n_starts + 1):
            expected = whole - rest[s - 1, 0]
            broken[n_broken] = fresh[i, s] - expected
            n_broken += 1
            if i == 0:
                continue
            for lag in range(n, s + 1):
                copied[n_copied] = alike[lag, s + n] - alike[lag, s] - expected
                n_copied += 1
    return _log_mean(broken[:n_broken]), _log_mean(copied[:n_copied])


@compiled
def _fresh_starts(info: Floats, speed: Floats, lengths: tuple[int, int, int, int]) -> Floats:
    """(4, L) log likelihood of each segment by length and start, independent of earlier steps."""
    length = info.shape[1]
    state = np.zeros((6, length))
    state[3] = FIRST_VARIANCE
    state[5] = FIRST_VARIANCE
    determinants = np.empty((lengths[-1], length))
    out = np.full((N_LENGTHS, length), -np.inf)
    quadratic = np.zeros((N_LENGTHS, length))
    q0, q1 = speed[0, 0], speed[1, 0]
    for k in range(lengths[-1]):
        for s in range(length - k):
            t = s + k
            h0, h1, j00, j01, j11 = info[0, t], info[1, t], info[2, t], info[3, t], info[4, t]
            m0, m1 = state[1, s], state[2, s]
            a, b, c = state[3, s], state[4, s], state[5, s]
            u00, u01 = 1.0 + a * j00 + b * j01, a * j01 + b * j11
            u10, u11 = b * j00 + c * j01, 1.0 + b * j01 + c * j11
            determinant = u00 * u11 - u01 * u10
            over = 1.0 / determinant
            p00, p01 = (u11 * a - u01 * b) * over, (u11 * b - u01 * c) * over
            p11 = (u00 * c - u10 * b) * over
            g0, g1 = h0 - j00 * m0 - j01 * m1, h1 - j01 * m0 - j11 * m1
            k0, k1 = p00 * g0 + p01 * g1, p01 * g0 + p11 * g1
            determinants[k, s] = determinant
            state[0, s] += 0.5 * ((h0 + g0) * m0 + (h1 + g1) * m1 + g0 * k0 + g1 * k1)
            state[1, s], state[2, s] = m0 + k0, m1 + k1
            state[3, s], state[4, s], state[5, s] = p00 + q0, p01, p11 + q1
        for s in range(length - k, length):
            determinants[k, s] = 1.0
        for i in range(N_LENGTHS):
            if lengths[i] == k + 1:
                quadratic[i] = state[0]
    log_all(determinants.reshape(-1))
    total = np.zeros(length)
    for k in range(lengths[-1]):
        for s in range(length):
            total[s] += determinants[k, s]
        for i in range(N_LENGTHS):
            if lengths[i] == k + 1:
                for s in range(length - k):
                    out[i, s] = quadratic[i, s] - 0.5 * total[s]
    return out


@compiled
def _alike(info: Floats, found: Passes) -> Floats:
    """(L, L + 1) for each lag, running sums of log p(step t | smoothed factors at t - lag)."""
    length = info.shape[1]
    smoothed = smoothed_walk(found)
    sums = np.zeros((length, length + 1))
    determinants = np.empty(length)
    for lag in range(segment_lengths(length)[1], length):
        row = sums[lag]
        for t in range(lag, length):
            u = t - lag
            m0, m1 = smoothed[0, u], smoothed[1, u]
            a, b, c = smoothed[2, u], smoothed[3, u], smoothed[4, u]
            h0, h1, j00, j01, j11 = info[0, t], info[1, t], info[2, t], info[3, t], info[4, t]
            u00, u01 = 1.0 + a * j00 + b * j01, a * j01 + b * j11
            u10, u11 = b * j00 + c * j01, 1.0 + b * j01 + c * j11
            determinant = u00 * u11 - u01 * u10
            over = 1.0 / determinant
            p00, p01 = (u11 * a - u01 * b) * over, (u11 * b - u01 * c) * over
            p11 = (u00 * c - u10 * b) * over
            g0, g1 = h0 - j00 * m0 - j01 * m1, h1 - j01 * m0 - j11 * m1
            k0, k1 = p00 * g0 + p01 * g1, p01 * g0 + p11 * g1
            determinants[u] = determinant
            row[t + 1] = 0.5 * ((h0 + g0) * m0 + (h1 + g1) * m1 + g0 * k0 + g1 * k1)
        log_all(determinants[: length - lag])
        for t in range(lag, length):
            row[t + 1] += row[t] - 0.5 * determinants[t - lag]
    return sums


@compiled
def _log_mean(numbers: Floats) -> float:
    """Return the log of the mean exponential of (n,) numbers, which are overwritten."""
    largest = -np.inf
    for i in range(numbers.size):
        largest = max(largest, numbers[i])
    for i in range(numbers.size):
        numbers[i] -= largest
    exp_all(numbers)
    return largest + log(numbers.sum() / numbers.size)
