"""Kalman smoother of two independent AR(1) factors, given each time step's information about them.

In: h (2, L) and J (3, L), such that the likelihood of a step is exp(h'f - f'Jf / 2) up to a
constant: 5 numbers per step, however many variables were observed. Out: smoothed means and
variances. 2 x 2 symmetric matrices are stored as their entries 00, 01, 11.
"""

from benchmarks.single_window._compiled import Floats, compiled

__all__ = ["gather", "smooth"]

# Prior of the AR(1) coefficients: USUAL_MEMORY, with the weight of USUAL_STEPS steps. It keeps the
# factors from following the noise where noise hides them.
USUAL_MEMORY, USUAL_STEPS = 0.95, 8.0


@compiled
def gather(values: Floats, weights: Floats, loadings: Floats, noise: Floats, info: Floats) -> None:
    """Fill ``info`` (5, L), rows h0, h1, J00, J01, J11, from the variables.

    ``values`` and ``weights`` are (C, L), with weight 0 where a value is missing; ``loadings`` are
    (2, C) and ``noise`` is (C,).
    """
    n_variables, length = values.shape
    info[:] = 0.0
    h0, h1, j00, j01, j11 = info[0], info[1], info[2], info[3], info[4]
    for c in range(n_variables):
        a, b = loadings[0, c], loadings[1, c]
        ga, gb = a / noise[c], b / noise[c]
        aa, ab, bb = ga * a, ga * b, gb * b
        x, w = values[c], weights[c]
        for t in range(length):
            wx = w[t] * x[t]
            h0[t] += ga * wx
            h1[t] += gb * wx
            j00[t] += aa * w[t]
            j01[t] += ab * w[t]
            j11[t] += bb * w[t]


@compiled
def smooth(
    info: Floats, memory: Floats, filtered: Floats, predicted: Floats, smoothed: Floats
) -> tuple[float, float]:
    """Fill ``smoothed`` (5, L), rows m0, m1, P00, P01, P11; return the factors' correlations.

    ``memory`` (2,) holds the coefficients of AR(1) processes of unit variance. A factor's
    correlation is the expected one of its consecutive values, given the whole window: the M-step's
    update of ``memory``, with a prior worth USUAL_STEPS. ``filtered`` and ``predicted`` (5, L) are
    scratch arrays.

    Notes
    -----
    H. E. Rauch, F. Tung and C. T. Striebel, "Maximum likelihood estimates of linear dynamic
    systems", AIAA Journal 3, 1965.
    """
    length = info.shape[1]
    f0, f1 = memory[0], memory[1]
    q0, q1 = 1.0 - f0 * f0, 1.0 - f1 * f1
    m0, m1, a, b, c = 0.0, 0.0, 1.0, 0.0, 1.0
    for t in range(length):
        predicted[0, t], predicted[1, t] = m0, m1
        predicted[2, t], predicted[3, t], predicted[4, t] = a, b, c
        j00, j01, j11 = info[2, t], info[3, t], info[4, t]
        # (I + P J)^-1 P is the variance after the step's update.
        u00, u01 = 1.0 + a * j00 + b * j01, a * j01 + b * j11
        u10, u11 = b * j00 + c * j01, 1.0 + b * j01 + c * j11
        over = 1.0 / (u00 * u11 - u01 * u10)
        p00, p01 = (u11 * a - u01 * b) * over, (u11 * b - u01 * c) * over
        p11 = (u00 * c - u10 * b) * over
        g0, g1 = info[0, t] - j00 * m0 - j01 * m1, info[1, t] - j01 * m0 - j11 * m1
        m0, m1 = m0 + p00 * g0 + p01 * g1, m1 + p01 * g0 + p11 * g1
        filtered[0, t], filtered[1, t] = m0, m1
        filtered[2, t], filtered[3, t], filtered[4, t] = p00, p01, p11
        m0, m1 = f0 * m0, f1 * m1
        a, b, c = f0 * f0 * p00 + q0, f0 * f1 * p01, f1 * f1 * p11 + q1

    last = length - 1
    for i in range(5):
        smoothed[i, last] = filtered[i, last]
    n0, n1 = filtered[0, last], filtered[1, last]
    s00, s01, s11 = filtered[2, last], filtered[3, last], filtered[4, last]
    square0, square1, product0, product1 = 0.0, 0.0, 0.0, 0.0
    for t in range(length - 2, -1, -1):
        a, b, c = predicted[2, t + 1], predicted[3, t + 1], predicted[4, t + 1]
        over = 1.0 / (a * c - b * b)
        x00, x01 = filtered[2, t] * f0, filtered[3, t] * f1
        x10, x11 = filtered[3, t] * f0, filtered[4, t] * f1
        g00, g01 = (x00 * c - x01 * b) * over, (x01 * a - x00 * b) * over
        g10, g11 = (x10 * c - x11 * b) * over, (x11 * a - x10 * b) * over
        d0, d1 = n0 - predicted[0, t + 1], n1 - predicted[1, t + 1]
        k0 = filtered[0, t] + g00 * d0 + g01 * d1
        k1 = filtered[1, t] + g10 * d0 + g11 * d1
        e00, e01, e11 = s00 - a, s01 - b, s11 - c
        y00, y01 = g00 * e00 + g01 * e01, g00 * e01 + g01 * e11
        y10, y11 = g10 * e00 + g11 * e01, g10 * e01 + g11 * e11
        r00 = filtered[2, t] + y00 * g00 + y01 * g01
        r01 = filtered[3, t] + y00 * g10 + y01 * g11
        r11 = filtered[4, t] + y10 * g10 + y11 * g11
        product0 += n0 * k0 + s00 * g00 + s01 * g01
        product1 += n1 * k1 + s01 * g10 + s11 * g11
        square0 += 0.5 * (n0 * n0 + s00 + k0 * k0 + r00)
        square1 += 0.5 * (n1 * n1 + s11 + k1 * k1 + r11)
        n0, n1, s00, s01, s11 = k0, k1, r00, r01, r11
        smoothed[0, t], smoothed[1, t] = n0, n1
        smoothed[2, t], smoothed[3, t], smoothed[4, t] = s00, s01, s11
    usual = USUAL_STEPS * USUAL_MEMORY
    return (
        (product0 + usual) / (square0 + USUAL_STEPS),
        (product1 + usual) / (square1 + USUAL_STEPS),
    )
