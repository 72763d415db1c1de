"""Regime, the expensive test: factors that move faster in one part of the window than in the other.

In: each time step's information about two factors, and their possible speeds. Out: log likelihood
ratios of one change of speed somewhere in the window against none.
"""

from math import atan2, cos, log, sin, sqrt

import numpy as np

from benchmarks.single_window._compiled import Floats, compiled, exp_all
from benchmarks.single_window._walks import Passes

__all__ = ["changed_speed", "own_speeds", "rotated", "shortest_part"]

# A window's own speeds are those of its fitted model times 2^-3 to 2^3.
OCTAVES = 3

LEAST_PART = 4
PARTS = 5  # a change leaves at least 1/5 of the window on either side


@compiled
def shortest_part(length: int) -> int:
    """Return the minimum number of steps on either side of a change of speed."""
    return max(LEAST_PART, length // PARTS)


@compiled
def own_speeds(memory: Floats) -> Floats:
    """(2, 7) step variances: those of the fitted factors, both times the same power of 2."""
    n = 2 * OCTAVES + 1
    speeds = np.empty((2, n))
    for i in range(n):
        for k in range(2):
            speeds[k, i] = (1.0 - memory[k] * memory[k]) * 2.0 ** (i - OCTAVES)
    return speeds


@compiled
def changed_speed(found: Passes, log_weights: Floats, log_pairs: Floats) -> float:
    """Return the log likelihood ratio of one change of speed against none.

    ``log_weights`` (A,) are the log prior probabilities of the speeds, ``log_pairs`` (A, A) those
    of the speeds before and after a change: -inf for pairs that do not count as a change.
    """
    past, future = found
    n_speeds = log_weights.size
    length = past.shape[1] - 1
    part = shortest_part(length)
    n_splits = length - 2 * part + 1
    if n_splits < 1:
        return np.nan
    exponents = np.empty((n_splits, n_speeds, n_speeds))
    roots = np.empty((n_splits, n_speeds, n_speeds))
    largest = -np.inf
    for s in range(n_splits):
        t = part + s
        h0, h1 = future[1, t], future[2, t]
        j00, j01, j11 = future[3, t], future[4, t], future[5, t]
        constants = future[0, t]
        for i in range(n_speeds):
            m0, m1 = past[1, t, i], past[2, t, i]
            a, b, c = past[3, t, i], past[4, t, i], past[5, t, i]
            before = past[0, t, i]
            row, root = exponents[s, i], roots[s, i]
            for k in range(n_speeds):
                u00, u01 = 1.0 + a * j00[k] + b * j01[k], a * j01[k] + b * j11[k]
                u10, u11 = b * j00[k] + c * j01[k], 1.0 + b * j01[k] + c * j11[k]
                over = 1.0 / (u00 * u11 - u01 * u10)
                p00, p01 = (u11 * a - u01 * b) * over, (u11 * b - u01 * c) * over
                p11 = (u00 * c - u10 * b) * over
                g0, g1 = h0[k] - j00[k] * m0 - j01[k] * m1, h1[k] - j01[k] * m0 - j11[k] * m1
                row[k] = (
                    before
                    + constants[k]
                    + log_pairs[i, k]
                    + 0.5 * ((h0[k] + g0) * m0 + (h1[k] + g1) * m1)
                    + 0.5 * (g0 * (p00 * g0 + p01 * g1) + g1 * (p01 * g0 + p11 * g1))
                )
                root[k] = sqrt(over)
            for k in range(n_speeds):
                largest = max(largest, row[k])
    flat = exponents.reshape(-1)
    for i in range(flat.size):
        flat[i] -= largest
    exp_all(flat)
    total = 0.0
    flat_roots = roots.reshape(-1)
    for i in range(flat.size):
        total += flat[i] * flat_roots[i]

    unchanged, highest = 0.0, -np.inf
    for i in range(n_speeds):
        highest = max(highest, log_weights[i] + past[0, length, i])
    for i in range(n_speeds):
        unchanged += np.exp(log_weights[i] + past[0, length, i] - highest)
    return largest + log(total) - log(float(n_splits)) - highest - log(unchanged)


@compiled
def rotated(loadings: Floats, scale: Floats) -> Floats:
    """(2, C) loadings in common units, rotated so that variables load on one factor or the other.

    Each factor is scaled so that the variables that follow it have loadings of about 1: factors are
    then in the variables' units, and their speeds can be compared between windows.

    Notes
    -----
    Varimax for two factors, in closed form: H. F. Kaiser, "The varimax criterion for analytic
    rotation in factor analysis", Psychometrika 23, 1958.
    """
    n_variables = scale.size
    turned = np.empty((2, n_variables))
    su, sv, suv, sd = 0.0, 0.0, 0.0, 0.0
    for c in range(n_variables):
        a, b = loadings[0, c] * scale[c], loadings[1, c] * scale[c]
        turned[0, c], turned[1, c] = a, b
        u, v = a * a - b * b, 2.0 * a * b
        su += u
        sv += v
        suv += u * v
        sd += u * u - v * v
    angle = 0.25 * atan2(2.0 * (n_variables * suv - su * sv), n_variables * sd - su * su + sv * sv)
    if n_variables == 1:
        angle = atan2(turned[1, 0], turned[0, 0])
    cosine, sine = cos(angle), sin(angle)
    for c in range(n_variables):
        a, b = turned[0, c], turned[1, c]
        turned[0, c], turned[1, c] = cosine * a + sine * b, cosine * b - sine * a
    for k in range(2):
        squares, fourths = 1e-9, 1e-12
        for c in range(n_variables):
            square = turned[k, c] * turned[k, c]
            squares += square
            fourths += square * square
        size = max(sqrt(fourths / squares), 1e-6)
        for c in range(n_variables):
            turned[k, c] /= size
    return turned
