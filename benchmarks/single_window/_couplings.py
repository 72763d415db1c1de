"""Couplings of a window's variables, found anew with what reference windows say of couplings.

A coupling is how a variable follows the factors: by two loadings, and with how much noise. In: a
window's values and its factor model in common units, and the couplings that occur. Out: loadings
and noise in which a variable that cannot be told from a known coupling has that one.
"""

from math import log

import numpy as np

from benchmarks.single_window._compiled import Floats, compiled, exp_all, log_all
from benchmarks.single_window._factors import expected_squares, moments
from benchmarks.single_window._smoother import gather
from benchmarks.single_window._walks import passes, smoothed_walk

__all__ = ["CELL_VARIANCE", "N_MOMENTS", "coupling_moments", "recognise_couplings"]

N_MOMENTS = 7

# Loadings lie anywhere in a cell of half a unit around a known coupling's: the variance of that.
CELL_VARIANCE = 0.5**2 / 12

# Nats by which a variable's own loadings and noise, fitted to this very window, must explain it
# better than all known couplings do to be kept. Three fitted numbers gain a few nats by
# themselves; a variable in other units, which no known coupling is like, gains hundreds.
STRANGE = 20.0

ROUNDS = 2


@compiled
def coupling_moments(
    values: Floats, seen: Floats, scale: Floats, factors: Floats, out: Floats
) -> None:
    """Fill (C * 7,) with what each variable says of its coupling, in common units.

    That is, summed over the steps where it was seen: the factors' expected squares 00, 01, 11, the
    products of the variable with both factors, its squares, and the number of steps. ``values``
    (C, L) are over ``scale`` (C,); ``factors`` (5, L) are smoothed ones.
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
    """Find ``loadings`` (2, C) and ``noise`` (C,) anew, in place, given the couplings that occur.

    ``couplings`` (A, 4) are two loadings, noise and log weight of each, in common units; ``speed``
    (2, 1) are the variances of the factors' steps. Each round smooths the factors and takes the
    mean of what the variables' loadings and precisions may be, given their moments.
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
                # Loadings are N((u, v), CELL_VARIANCE); g is the slope of the log likelihood there.
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
