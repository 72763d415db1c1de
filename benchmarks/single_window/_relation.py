"""Relation: segments in which variables no longer follow the factors that they follow elsewhere.

In: residuals of a window's factor model, or the window, to refit the model without a part of it.
Out: how much residuals differ between a segment and the rest, summed over variables.
"""

from math import log, sqrt

import numpy as np

from benchmarks.single_window._compiled import Floats, compiled, dot, log_all
from benchmarks.single_window._factors import RIDGE, FactorModel, expected_squares, refine_factors
from benchmarks.single_window._segments import segment_lengths
from benchmarks.single_window._smoother import gather, smooth
from benchmarks.single_window._standard import spreads

__all__ = ["largest_change", "largest_surprise"]

# Added to mean squared residuals before taking their logarithm.
LEAST_RESIDUAL = 1e-2

# Holes are 1/4 of the window long and start at every tenth of it. Residual ratios outside the hole
# are capped; their mean includes USUAL more observations of ratio 1.
HOLE_PARTS, HOP_PARTS = 4, 10
RESIDUAL_CAP, USUAL = 16.0, 4.0
HOLE_ROUNDS = 2
LEAST_SURPRISE = 1e-3


@compiled
def largest_change(ratios: Floats, seen: Floats, blame: Floats) -> float:
    """Return residual_size of (C, L) residual ratios; fill ``blame`` (C,) for the best segment.

    For each segment, a two-sample likelihood ratio compares each variable's variance inside and
    outside; the ratios are summed over variables. The largest sum, minus C / 2 and divided by
    sqrt(C), is the statistic.
    """
    n_variables, length = ratios.shape
    lengths = segment_lengths(length)
    sums, counts = np.zeros((n_variables, length + 1)), np.zeros((n_variables, length + 1))
    for c in range(n_variables):
        for t in range(length):
            sums[c, t + 1] = sums[c, t] + ratios[c, t]
            counts[c, t + 1] = counts[c, t] + seen[c, t]
    best = -np.inf
    logs = np.empty((n_variables, 2, length))
    gains = np.empty((n_variables, length))
    for i in range(1, 4):
        n = lengths[i]
        n_starts = length - n + 1
        for c in range(n_variables):
            total, n_total = sums[c, length], counts[c, length]
            for s in range(n_starts):
                inside, n_in = sums[c, s + n] - sums[c, s], counts[c, s + n] - counts[c, s]
                logs[c, 0, s] = inside / max(n_in, 1.0) + LEAST_RESIDUAL
                logs[c, 1, s] = max(total - inside, 0.0) / max(n_total - n_in, 1.0) + LEAST_RESIDUAL
            for s in range(n_starts, length):
                logs[c, 0, s] = 1.0
                logs[c, 1, s] = 1.0
        log_all(logs.reshape(-1))
        for c in range(n_variables):
            n_total = counts[c, length]
            whole = n_total * log(sums[c, length] / max(n_total, 1.0) + LEAST_RESIDUAL)
            for s in range(n_starts):
                n_in = counts[c, s + n] - counts[c, s]
                n_out = n_total - n_in
                gain = 0.5 * (whole - n_in * logs[c, 0, s] - n_out * logs[c, 1, s])
                gains[c, s] = gain if n_in > 0 and n_out > 0 else 0.0
        for s in range(n_starts):
            total = 0.0
            for c in range(n_variables):
                total += gains[c, s]
            if total > best:
                best = total
                for c in range(n_variables):
                    blame[c] = max(gains[c, s], 0.0)
    return float((best - 0.5 * n_variables) / sqrt(float(n_variables)))


@compiled
def largest_surprise(
    values: Floats,
    seen: Floats,
    scale: Floats,
    first_noise: Floats,
    model: FactorModel,
    blame: Floats,
) -> float:
    """Return the statistic ``hole`` of a window; fill ``blame`` (C,) with each variable's part.

    The model is refitted without the values in a hole; then the residuals inside the hole are
    compared with their predicted variance, which includes the uncertainty of the loadings. The fit
    starts from ``model``, that of the whole window, whose values were divided by ``scale`` (C,)
    and whose starting noise was ``first_noise`` (C,).
    """
    n_variables, length = values.shape
    size, hop = length // HOLE_PARTS, max(1, length // HOP_PARTS)
    outside, scaled = np.empty((n_variables, length)), np.empty((n_variables, length))
    loadings, noise, memory = np.empty((2, n_variables)), np.empty(n_variables), np.empty(2)
    smoothed, weights = np.empty((5, length)), np.empty((n_variables, length))
    begun = np.empty(n_variables)
    info, filled, scratch = np.empty((5, length)), np.empty((5, length)), np.empty((2, 5, length))
    best = -np.inf
    for first in range(0, length - size + 1, hop):
        for c in range(n_variables):
            for t in range(length):
                outside[c, t] = 0.0 if first <= t < first + size else seen[c, t]
        standard = spreads(values, outside)
        if not standard.unit > 0:
            continue
        for c in range(n_variables):
            over = 1.0 / (standard.scale[c] * standard.unit)
            change = scale[c] * over
            loadings[0, c] = change * model.loadings[0, c]
            loadings[1, c] = change * model.loadings[1, c]
            noise[c] = change * change * model.noise[c]
            begun[c] = change * change * first_noise[c]
            for t in range(length):
                scaled[c, t] = seen[c, t] * (values[c, t] - standard.centre[c]) * over
                weights[c, t] = outside[c, t] * model.weights[c, t]
        memory[:] = model.memory
        refined = FactorModel(loadings, noise, memory, smoothed, weights)
        refine_factors(refined, scaled, outside, begun, HOLE_ROUNDS)
        gather(scaled, seen, loadings, noise, info)
        smooth(info, memory, scratch[0], scratch[1], filled)
        ratios = _foreseen_ratios(scaled, seen, refined, filled)
        best = _surprise(ratios, seen, first, first + size, best, blame)
    return log(max(best, LEAST_SURPRISE)) if best > -np.inf else np.nan


@compiled
def _foreseen_ratios(values: Floats, seen: Floats, model: FactorModel, filled: Floats) -> Floats:
    """(C, L) squared residuals over their predicted variances; 0 where a value is missing.

    ``model`` was fitted without the hole; ``filled`` (5, L) are the factors given all values. A
    variable's loadings have the variance psi (sum of w E[ff'] + ridge)^-1, its centre psi over the
    sum of w. Both are included: where the factors are far from their values outside the hole,
    large residuals are expected.
    """
    n_variables, length = values.shape
    s00, s01, s11 = np.empty(length), np.empty(length), np.empty(length)
    e00, e01, e11 = np.empty(length), np.empty(length), np.empty(length)
    expected_squares(model.smoothed, s00, s01, s11)
    expected_squares(filled, e00, e01, e11)
    m0, m1, p00, p01, p11 = filled[0], filled[1], filled[2], filled[3], filled[4]
    ratios = np.empty((n_variables, length))
    for c in range(n_variables):
        u, v, psi = model.loadings[0, c], model.loadings[1, c], model.noise[c]
        w = model.weights[c]
        a, b, d = dot(w, s00) + RIDGE, dot(w, s01), dot(w, s11) + RIDGE
        over = psi / (a * d - b * b)
        v00, v01, v11 = d * over, -b * over, a * over
        if n_variables == 1:
            v00, v01, v11 = psi / a, 0.0, 0.0
        n = 0.0
        for t in range(length):
            n += w[t]
        known = psi + psi / max(n, 1.0)
        for t in range(length):
            residual = values[c, t] - u * m0[t] - v * m1[t]
            by_factors = u * u * p00[t] + 2.0 * u * v * p01[t] + v * v * p11[t]
            by_loadings = v00 * e00[t] + 2.0 * v01 * e01[t] + v11 * e11[t]
            ratios[c, t] = seen[c, t] * residual * residual / (known + by_factors + by_loadings)
    return ratios


@compiled
def _surprise(
    ratios: Floats, seen: Floats, first: int, end: int, best: float, blame: Floats
) -> float:
    """Return the largest summed likelihood ratio of a hole's segments, or ``best`` if larger."""
    n_variables, length = ratios.shape
    shortest = max(2, length // 8)
    usual, counts = np.empty(n_variables), np.empty(n_variables)
    for c in range(n_variables):
        total, n = 0.0, 0.0
        for t in range(length):
            is_in = first <= t < end
            total += 0.0 if is_in else min(ratios[c, t], RESIDUAL_CAP)
            n += 0.0 if is_in else seen[c, t]
        usual[c], counts[c] = (total + USUAL) / (n + USUAL), n
    logs = np.empty((2, n_variables))
    inside, n_inside = np.empty(n_variables), np.empty(n_variables)
    for size in (shortest, shortest + shortest // 2, 2 * shortest):
        for s in range(first, end - size + 1):
            for c in range(n_variables):
                total, n = 0.0, 0.0
                for t in range(s, s + size):
                    total += ratios[c, t]
                    n += seen[c, t]
                inside[c] = max(total / (max(n, 1.0) * usual[c]), 1.0)
                n_inside[c] = n
                known = counts[c] + USUAL
                logs[0, c] = inside[c]
                logs[1, c] = (n * inside[c] + known) / (n + known)
            log_all(logs.reshape(-1))
            total = 0.0
            for c in range(n_variables):
                n, known = n_inside[c], counts[c] + USUAL
                gain = 0.5 * ((n + known) * logs[1, c] - n * logs[0, c])
                inside[c] = max(gain, 0.0) if n > 0 and counts[c] > 0 else 0.0
                total += inside[c]
            if total > best:
                best = total
                for c in range(n_variables):
                    blame[c] = inside[c]
    return best
