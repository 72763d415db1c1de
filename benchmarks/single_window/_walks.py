"""Likelihoods of random-walk factors for several speeds, from both ends of a window.

In: each time step's information about two factors (5, L), and the variances of their steps (2, A),
one pair per speed. Out: for each step and speed, the information from past and from future steps;
joined, they give the likelihood of any change of speed without another pass over the window.
"""

from typing import NamedTuple

import numpy as np

from benchmarks.single_window._compiled import Floats, compiled, log_all

__all__ = [
    "FIRST_VARIANCE",
    "Passes",
    "joined_likelihoods",
    "pass_forward",
    "passes",
    "smoothed_walk",
]

# Variance of the factors before the first step.
FIRST_VARIANCE = 4.0


class Passes(NamedTuple):
    """Forward and backward pass, each (6, L + 1, A).

    ``past[:, t]``: the log likelihood of the steps before t, and mean and variance (m0, m1, P00,
    P01, P11) of the factors at t given these steps. ``future[:, t]``: a log constant and the
    information (h0, h1, J00, J01, J11) about the factors at t in the steps from t on.
    """

    past: Floats
    future: Floats


@compiled
def passes(info: Floats, speeds: Floats) -> Passes:
    """Run the forward and the backward pass for (2, A) speeds."""
    return Passes(pass_forward(info, speeds), _pass_backward(info, speeds))


@compiled
def pass_forward(info: Floats, speeds: Floats) -> Floats:
    """Return the (6, L + 1, A) forward pass: see Passes."""
    length, n_speeds = info.shape[1], speeds.shape[1]
    past = np.empty((6, length + 1, n_speeds))
    determinants = np.empty((length, n_speeds))
    q0, q1 = speeds[0], speeds[1]
    past[:, 0] = 0.0
    past[3, 0] = FIRST_VARIANCE
    past[5, 0] = FIRST_VARIANCE
    for t in range(length):
        h0, h1, j00, j01, j11 = info[0, t], info[1, t], info[2, t], info[3, t], info[4, t]
        for i in range(n_speeds):
            m0, m1 = past[1, t, i], past[2, t, i]
            a, b, c = past[3, t, i], past[4, t, i], past[5, t, i]
            u00, u01 = 1.0 + a * j00 + b * j01, a * j01 + b * j11
            u10, u11 = b * j00 + c * j01, 1.0 + b * j01 + c * j11
            determinant = u00 * u11 - u01 * u10
            over = 1.0 / determinant
            p00, p01 = (u11 * a - u01 * b) * over, (u11 * b - u01 * c) * over
            p11 = (u00 * c - u10 * b) * over
            g0, g1 = h0 - j00 * m0 - j01 * m1, h1 - j01 * m0 - j11 * m1
            k0, k1 = p00 * g0 + p01 * g1, p01 * g0 + p11 * g1
            determinants[t, i] = determinant
            past[0, t + 1, i] = past[0, t, i] + 0.5 * (
                (h0 + g0) * m0 + (h1 + g1) * m1 + g0 * k0 + g1 * k1
            )
            past[1, t + 1, i], past[2, t + 1, i] = m0 + k0, m1 + k1
            past[3, t + 1, i], past[4, t + 1, i] = p00 + q0[i], p01
            past[5, t + 1, i] = p11 + q1[i]
    _subtract_half_logs(past[0], determinants, False)
    return past


@compiled
def _pass_backward(info: Floats, speeds: Floats) -> Floats:
    """Return the (6, L + 1, A) backward pass: see Passes."""
    length, n_speeds = info.shape[1], speeds.shape[1]
    future = np.empty((6, length + 1, n_speeds))
    determinants = np.empty((length, n_speeds))
    q0, q1 = speeds[0], speeds[1]
    future[:, length] = 0.0
    for t in range(length - 1, -1, -1):
        for i in range(n_speeds):
            h0, h1 = future[1, t + 1, i], future[2, t + 1, i]
            j00, j01, j11 = future[3, t + 1, i], future[4, t + 1, i], future[5, t + 1, i]
            # The random step from t to t + 1 reduces the information about the factors.
            u00, u11 = 1.0 + q0[i] * j00, 1.0 + q1[i] * j11
            determinant = u00 * u11 - q0[i] * q1[i] * j01 * j01
            over = 1.0 / determinant
            both = j00 * j11 - j01 * j01
            g0 = (u11 * h0 - q1[i] * j01 * h1) * over
            g1 = (u00 * h1 - q0[i] * j01 * h0) * over
            determinants[t, i] = determinant
            future[0, t, i] = future[0, t + 1, i] + 0.5 * (q0[i] * h0 * g0 + q1[i] * h1 * g1)
            future[1, t, i], future[2, t, i] = g0 + info[0, t], g1 + info[1, t]
            future[3, t, i] = (j00 + q1[i] * both) * over + info[2, t]
            future[4, t, i] = j01 * over + info[3, t]
            future[5, t, i] = (j11 + q0[i] * both) * over + info[4, t]
    _subtract_half_logs(future[0], determinants, True)
    return future


@compiled
def _subtract_half_logs(likelihoods: Floats, determinants: Floats, is_backward: bool) -> None:
    """Subtract half the cumulated logs of (L, A) determinants from (L + 1, A) likelihoods."""
    length, n_speeds = determinants.shape
    log_all(determinants.reshape(-1))
    totals = np.zeros(n_speeds)
    for k in range(length):
        t = length - 1 - k if is_backward else k
        for i in range(n_speeds):
            totals[i] += determinants[t, i]
            likelihoods[t if is_backward else t + 1, i] -= 0.5 * totals[i]


@compiled
def joined_likelihoods(
    passes_: Passes, before: int, after: int, waiting: Floats, out: Floats
) -> None:
    """Fill ``out`` (n, A) with log likelihoods of A speeds when some steps are left out.

    Row s joins the past at step ``before`` + s with the future at ``after`` + s; between the two
    the variances of the factors grow by ``waiting`` (2, A).
    """
    past, future = passes_
    n, n_speeds = out.shape
    determinants = np.empty((n, n_speeds))
    for s in range(n):
        t, e = before + s, after + s
        for i in range(n_speeds):
            m0, m1 = past[1, t, i], past[2, t, i]
            a, b, c = past[3, t, i] + waiting[0, i], past[4, t, i], past[5, t, i] + waiting[1, i]
            h0, h1 = future[1, e, i], future[2, e, i]
            j00, j01, j11 = future[3, e, i], future[4, e, i], future[5, e, i]
            u00, u01 = 1.0 + a * j00 + b * j01, a * j01 + b * j11
            u10, u11 = b * j00 + c * j01, 1.0 + b * j01 + c * j11
            determinant = u00 * u11 - u01 * u10
            over = 1.0 / determinant
            p00, p01 = (u11 * a - u01 * b) * over, (u11 * b - u01 * c) * over
            p11 = (u00 * c - u10 * b) * over
            g0, g1 = h0 - j00 * m0 - j01 * m1, h1 - j01 * m0 - j11 * m1
            k0, k1 = p00 * g0 + p01 * g1, p01 * g0 + p11 * g1
            determinants[s, i] = determinant
            out[s, i] = (
                past[0, t, i]
                + future[0, e, i]
                + 0.5 * ((h0 + g0) * m0 + (h1 + g1) * m1 + g0 * k0 + g1 * k1)
            )
    log_all(determinants.reshape(-1))
    for s in range(n):
        for i in range(n_speeds):
            out[s, i] -= 0.5 * determinants[s, i]


@compiled
def smoothed_walk(found: Passes) -> Floats:
    """(5, L) rows m0, m1, P00, P01, P11: the factors given all steps, at the first speed."""
    past, future = found
    length = past.shape[1] - 1
    smoothed = np.empty((5, length))
    for t in range(length):
        m0, m1 = past[1, t, 0], past[2, t, 0]
        a, b, c = past[3, t, 0], past[4, t, 0], past[5, t, 0]
        j00, j01, j11 = future[3, t, 0], future[4, t, 0], future[5, t, 0]
        u00, u01 = 1.0 + a * j00 + b * j01, a * j01 + b * j11
        u10, u11 = b * j00 + c * j01, 1.0 + b * j01 + c * j11
        over = 1.0 / (u00 * u11 - u01 * u10)
        p00, p01 = (u11 * a - u01 * b) * over, (u11 * b - u01 * c) * over
        p11 = (u00 * c - u10 * b) * over
        g0 = future[1, t, 0] - j00 * m0 - j01 * m1
        g1 = future[2, t, 0] - j01 * m0 - j11 * m1
        smoothed[0, t], smoothed[1, t] = m0 + p00 * g0 + p01 * g1, m1 + p01 * g0 + p11 * g1
        smoothed[2, t], smoothed[3, t], smoothed[4, t] = p00, p01, p11
    return smoothed
