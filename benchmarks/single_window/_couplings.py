"""Couplings of a window's variables, re-estimated with the couplings of reference windows as prior.

A coupling describes how a variable follows the factors: two loadings and a noise variance. In: a
window's values, its factor model in common units, and the known couplings. Out: loadings and noise;
a variable that is compatible with a known coupling gets the values of that coupling.
"""

from math import log

import numpy as np

from benchmarks.single_window._compiled import Floats, compiled, exp_all, log_all
from benchmarks.single_window._factors import expected_squares, moments
from benchmarks.single_window._smoother import gather
from benchmarks.single_window._walks import passes, smoothed_walk

__all__ = ["CELL_VARIANCE", "N_MOMENTS", "coupling_moments", "recognise_couplings"]

N_MOMENTS = 7

# Variance of a loading that is uniform in a cell of half a unit around that of a known coupling.
CELL_VARIANCE = 0.5**2 / 12

# A variable keeps its own loadings and noise, fitted to this window, if they explain it better than
# every known coupling by this many nats. Three fitted numbers always gain a few nats; a variable
# in other units, unlike every known coupling, gains hundreds.
STRANGE = 20.0

ROUNDS = 2


@compiled
def coupling_moments(
    values: Floats, seen: Floats, scale: Floats, factors: Floats, out: Floats
) -> None:
    """Fill (C * 7,) with the moments that determine each variable's coupling, in common units.

    The moments are sums over the steps where the variable was observed: the factors' expected
    squares 00, 01, 11, the products of the variable with both factors, its square, and the number
    of steps. ``values`` (C, L) are divided by ``scale`` (C,); ``factors`` (5, L) are smoothed.
    """
    n_variables, length = values.shape
    e00, e01, e11 = np.empty(length), np.empty(length), np.empty(length)
    expected_squares(factors, e00, e01, e11)
    m0, m1 = factors[0], factors[1]
    for c in range(n_variables):
        a, b, d, x0, x1, xx, n = moments(values[c], seen[c], seen[c], m0, m1, e00, e01, e11)
        row = out[c * N_MOMENTS : (c + 1) * N_MOMENTS]
        row[0], row[1], row[2] = a, b, d
        row[3], row[4], row[5] = scale[c] * x0, scale[c] * x1, scale[c] * scale[c] * xx
        row[6] = n


@compiled
def recognise_couplings(
    values: Floats,
    seen: Floats,
    scale: Floats,
    speed: Floats,
    couplings: Floats,
    loadings: Floats,
    noise: Floats,
) -> None:
    """Re-estimate ``loadings`` (2, C) and ``noise`` (C,) in place, given the known couplings.

    ``couplings`` (A, 4) holds the two loadings, the noise and the log weight of each, in common
    units; ``speed`` (2, 1) holds the variances of the factors' steps. Each round smooths the
    factors, then takes the posterior mean of every variable's loadings and precision, given its
    moments.
    """
    n_variables, length = values.shape
    n_known = couplings.shape[0]
    own_loadings, own_noise = loadings.copy(), noise.copy()
    log_noise = couplings[:, 2].copy()
    log_all(log_noise)
    info, found = np.empty((5, length)), np.empty(n_variables * N_MOMENTS)
    means, logs, determinants = (
        np.empty((2, n_known + 1)),
        np.empty(n_known + 1),
        np.ones(n_known + 1),
    )
    for _ in range(ROUNDS):
        gather(values, seen, loadings, noise, info)
        coupling_moments(values, seen, scale, smoothed_walk(passes(info, speed)), found)
        for c in range(n_variables):
            row = found[c * N_MOMENTS : (c + 1) * N_MOMENTS]
            a, b, d, x0, x1, xx, n = row[0], row[1], row[2], row[3], row[4], row[5], row[6]
            for i in range(n_known):
                u, v, over = couplings[i, 0], couplings[i, 1], 1.0 / couplings[i, 2]
                # Loadings are N((u, v), CELL_VARIANCE); g is the log likelihood's gradient there.
                wide = CELL_VARIANCE * over
                u00, u01, u11 = 1.0 + wide * a, wide * b, 1.0 + wide * d
                determinants[i] = u00 * u11 - u01 * u01
                g0, g1 = over * (x0 - a * u - b * v), over * (x1 - b * u - d * v)
                share = CELL_VARIANCE / determinants[i]
                k0, k1 = share * (u11 * g0 - u01 * g1), share * (u00 * g1 - u01 * g0)
                means[0, i], means[1, i] = u + k0, v + k1
                logs[i] = couplings[i, 3] + 0.5 * (
                    over * (u * x0 + v * x1 - xx) + u * g0 + v * g1 + g0 * k0 + g1 * k1
                )
                logs[i] -= 0.5 * n * log_noise[i]
            u, v = scale[c] * own_loadings[0, c], scale[c] * own_loadings[1, c]
            psi = scale[c] * scale[c] * own_noise[c]
            means[0, n_known], means[1, n_known] = u, v
            by_factors = 2.0 * (u * x0 + v * x1) - u * u * a - 2.0 * u * v * b - v * v * d
            logs[n_known] = 0.5 * ((by_factors - xx) / psi - n * log(psi)) - STRANGE
            log_all(determinants)
            highest = -np.inf
            for i in range(n_known + 1):
                logs[i] -= 0.5 * determinants[i]
                highest = max(highest, logs[i])
            for i in range(n_known + 1):
                logs[i] -= highest
                determinants[i] = 1.0
            exp_all(logs)
            total, m0, m1, precision = 0.0, 0.0, 0.0, 0.0
            for i in range(n_known + 1):
                total += logs[i]
                m0 += logs[i] * means[0, i]
                m1 += logs[i] * means[1, i]
                precision += logs[i] / (couplings[i, 2] if i < n_known else psi)
            loadings[0, c], loadings[1, c] = m0 / (total * scale[c]), m1 / (total * scale[c])
            noise[c] = total / (precision * scale[c] * scale[c])
