"""A dynamic factor model of one window: two AR(1) factors, diagonal noise, heavy tails.

In: scaled values (C, L) and a mask of the observed ones. Out: loadings, noise, memory, and the
smoothed factors, by expectation-maximisation. Entries that the model explains badly get less
weight, as under Student's t distribution.
"""

from math import atan2, cos, sin, sqrt
from typing import NamedTuple

import numpy as np

from benchmarks.single_window._compiled import Floats, compiled, dot, summing
from benchmarks.single_window._smoother import gather, smooth

__all__ = [
    "RIDGE",
    "FactorModel",
    "expected_squares",
    "fit_factors",
    "moments",
    "noise_ratios",
    "refine_factors",
    "start_loadings",
]

N_FACTORS = 2

# Degrees of freedom of the noise, and the number of observations that its starting value counts
# for: 1, since that value is the difference of two rough estimates.
TAIL_FREEDOM = 5.0
PRIOR_OBSERVATIONS = 1.0

LEAST_NOISE = 0.004
FIRST_MEMORY, MOST_MEMORY = 0.9, 0.98

# Added to a factor's sum of squares when loadings are estimated, so that they stay small unless the
# data demand otherwise. Without it, factors fit the noise of windows that hold little else.
RIDGE = 2.0

# Values are clipped to this many spreads when the starting loadings are computed.
FIRST_CLIP = 4.0
LEAST_STRENGTH = 0.3
POWER_ROUNDS = 24


class FactorModel(NamedTuple):
    """Loadings (2, C), noise variances (C,), memory (2,), smoothed factors (5, L), weights (C, L).

    ``memory`` holds the AR(1) coefficients. ``smoothed`` has rows m0, m1, P00, P01, P11; weights
    are 0 where a value is missing.
    """

    loadings: Floats
    noise: Floats
    memory: Floats
    smoothed: Floats
    weights: Floats


@compiled
def start_loadings(values: Floats, seen: Floats, noise: Floats) -> Floats:
    """Return (2, C) loadings from the two leading components of the noise-whitened values.

    Uses orthogonal iteration, started from rows of the window's covariance matrix.
    """
    n_variables, length = values.shape
    white = np.empty((n_variables, length))
    for c in range(n_variables):
        over = 1.0 / sqrt(noise[c])
        for t in range(length):
            clipped = min(max(values[c, t], -FIRST_CLIP), FIRST_CLIP)
            white[c, t] = seen[c, t] * over * clipped
    covariance = np.empty((n_variables, n_variables))
    for c in range(n_variables):
        for d in range(c + 1):
            covariance[c, d] = dot(white[c], white[d]) / max(dot(seen[c], seen[d]), 1.0)
            covariance[d, c] = covariance[c, d]
    loadings = np.zeros((N_FACTORS, n_variables))
    if n_variables == 1:
        loadings[0, 0] = sqrt(max(covariance[0, 0] - 1.0, LEAST_STRENGTH) * noise[0])
        return loadings

    v, w = np.zeros(n_variables), np.zeros(n_variables)
    first = 0
    for c in range(n_variables):
        if covariance[c, c] > covariance[first, first]:
            first = c
    v[:] = covariance[first]
    _normalise(v)
    furthest = -1.0
    for c in range(n_variables):
        along = dot(v, covariance[c])
        rest = dot(covariance[c], covariance[c]) - along * along
        if rest > furthest:
            furthest = rest
            w[:] = covariance[c]
    image_v, image_w = np.empty(n_variables), np.empty(n_variables)
    for _ in range(POWER_ROUNDS):
        _remove(w, v)
        _normalise(w)
        _multiply(covariance, v, image_v)
        _multiply(covariance, w, image_w)
        v[:] = image_v
        w[:] = image_w
        _normalise(v)
    _remove(w, v)
    _normalise(w)
    _multiply(covariance, v, image_v)
    _multiply(covariance, w, image_w)
    vv, vw, ww = dot(v, image_v), dot(v, image_w), dot(w, image_w)
    # Eigenvectors of the covariance restricted to the plane of v and w.
    half, middle = 0.5 * (vv - ww), 0.5 * (vv + ww)
    root = sqrt(half * half + vw * vw)
    angle = 0.5 * atan2(vw, half)
    cosine, sine = cos(angle), sin(angle)
    strong = sqrt(max(middle + root - 1.0, LEAST_STRENGTH))
    weak = sqrt(max(middle - root - 1.0, LEAST_STRENGTH))
    for c in range(n_variables):
        spread = sqrt(noise[c])
        loadings[0, c] = strong * spread * (cosine * v[c] + sine * w[c])
        loadings[1, c] = weak * spread * (cosine * w[c] - sine * v[c])
    return loadings


@compiled
def _multiply(matrix: Floats, vector: Floats, out: Floats) -> None:
    for c in range(vector.size):
        out[c] = dot(matrix[c], vector)


@compiled
def _normalise(vector: Floats) -> None:
    square = dot(vector, vector)
    over = 1.0 / sqrt(square) if square > 0 else 0.0
    for c in range(vector.size):
        vector[c] *= over


@compiled
def _remove(vector: Floats, direction: Floats) -> None:
    along = dot(vector, direction)
    for c in range(vector.size):
        vector[c] -= along * direction[c]


@compiled
def fit_factors(
    values: Floats, seen: Floats, first_noise: Floats, loadings: Floats, rounds: int
) -> FactorModel:
    """Fit the model from starting values in ``rounds`` of EM; ``loadings`` are overwritten."""
    memory = np.full(N_FACTORS, FIRST_MEMORY)
    noise = first_noise.copy()
    weights = seen.copy()
    smoothed = np.empty((5, values.shape[1]))
    model = FactorModel(loadings, noise, memory, smoothed, weights)
    refine_factors(model, values, seen, first_noise, rounds)
    return model


@compiled
def refine_factors(
    model: FactorModel, values: Floats, seen: Floats, first_noise: Floats, rounds: int
) -> None:
    """Run ``rounds`` more rounds of EM in place; ``smoothed`` holds the factors after the last.

    Notes
    -----
    R. H. Shumway and D. S. Stoffer, "An approach to time series smoothing and forecasting using
    the EM algorithm", Journal of Time Series Analysis 3, 1982; weights of Student's t: C. Liu and
    D. B. Rubin, "ML estimation of the t distribution using EM", Statistica Sinica 5, 1995.
    """
    n_variables, length = values.shape
    loadings, noise, memory, smoothed, weights = model
    n_factors = min(N_FACTORS, n_variables)
    info, filtered, predicted = np.empty((5, length)), np.empty((5, length)), np.empty((5, length))
    for r in range(rounds + 1):
        gather(values, weights, loadings, noise, info)
        correlations = smooth(info, memory, filtered, predicted, smoothed)
        if r == rounds:
            break
        memory[0] = min(max(correlations[0], 0.0), MOST_MEMORY)
        if n_factors == N_FACTORS:
            memory[1] = min(max(correlations[1], 0.0), MOST_MEMORY)
        _maximise(values, seen, first_noise, smoothed, n_factors, loadings, noise, weights)


@compiled
def _maximise(
    values: Floats,
    seen: Floats,
    first_noise: Floats,
    smoothed: Floats,
    n_factors: int,
    loadings: Floats,
    noise: Floats,
    weights: Floats,
) -> None:
    """Update each variable's loadings, noise and weights (M-step), given the smoothed factors."""
    n_variables, length = values.shape
    m0, m1 = smoothed[0], smoothed[1]
    e00, e01, e11 = np.empty(length), np.empty(length), np.empty(length)
    expected_squares(smoothed, e00, e01, e11)
    for c in range(n_variables):
        x, w, s = values[c], weights[c], seen[c]
        a, b, d, x0, x1, xx, n = moments(x, w, s, m0, m1, e00, e01, e11)
        if n_factors == N_FACTORS:
            over = 1.0 / ((a + RIDGE) * (d + RIDGE) - b * b)
            u = ((d + RIDGE) * x0 - b * x1) * over
            v = ((a + RIDGE) * x1 - b * x0) * over
        else:
            u, v = x0 / (a + RIDGE), 0.0
        unexplained = xx - 2.0 * (u * x0 + v * x1) + u * u * a + 2.0 * u * v * b + v * v * d
        prior = PRIOR_OBSERVATIONS * first_noise[c]
        psi = max((max(unexplained, 0.0) + prior) / (n + PRIOR_OBSERVATIONS), LEAST_NOISE)
        over = 1.0 / psi
        for t in range(length):
            square = (
                x[t] * (x[t] - 2.0 * (u * m0[t] + v * m1[t]))
                + u * u * e00[t]
                + 2.0 * u * v * e01[t]
                + v * v * e11[t]
            )
            w[t] = s[t] * (TAIL_FREEDOM + 1.0) / (TAIL_FREEDOM + max(square, 0.0) * over)
        loadings[0, c], loadings[1, c], noise[c] = u, v, psi


@compiled
def expected_squares(factors: Floats, e00: Floats, e01: Floats, e11: Floats) -> None:
    """Fill (L,) expected squares and products of factors (5, L)."""
    for t in range(e00.size):
        m0, m1 = factors[0, t], factors[1, t]
        e00[t] = m0 * m0 + factors[2, t]
        e01[t] = m0 * m1 + factors[3, t]
        e11[t] = m1 * m1 + factors[4, t]


@summing
def moments(
    x: Floats,
    w: Floats,
    s: Floats,
    m0: Floats,
    m1: Floats,
    e00: Floats,
    e01: Floats,
    e11: Floats,
) -> tuple[float, float, float, float, float, float, float]:
    """Return one variable's sums over time: see ``_couplings.coupling_moments`` for their order.

    All are weighted by ``w`` except the last, the number of observed steps.
    """
    a, b, d, x0, x1, xx, n = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for t in range(x.size):
        wx = w[t] * x[t]
        a += w[t] * e00[t]
        b += w[t] * e01[t]
        d += w[t] * e11[t]
        x0 += wx * m0[t]
        x1 += wx * m1[t]
        xx += wx * x[t]
        n += s[t]
    return a, b, d, x0, x1, xx, n


@compiled
def noise_ratios(
    values: Floats, seen: Floats, loadings: Floats, noise: Floats, smoothed: Floats
) -> Floats:
    """(C, L) squared residuals over their expected squares; 0 where a value is missing."""
    n_variables, length = values.shape
    ratios = np.empty((n_variables, length))
    for c in range(n_variables):
        u, v, psi = loadings[0, c], loadings[1, c], noise[c]
        for t in range(length):
            residual = values[c, t] - u * smoothed[0, t] - v * smoothed[1, t]
            expected = (
                psi + u * u * smoothed[2, t] + 2.0 * u * v * smoothed[3, t] + v * v * smoothed[4, t]
            )
            ratios[c, t] = seen[c, t] * residual * residual / expected
    return ratios
