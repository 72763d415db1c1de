"""The jitted evidences against plain dense matrices, with gaps, and one variable alone."""

import numpy as np
import pytest
from tests.benchmarks.single_window import naive, naive_factors

from benchmarks.single_window import EVIDENCES
from benchmarks.single_window._compiled import exp_all, log_all
from benchmarks.single_window._couplings import coupling_moments, recognise_couplings
from benchmarks.single_window._factors import start_loadings
from benchmarks.single_window._loops import Prior, Task, scan
from benchmarks.single_window._smoother import gather, smooth
from benchmarks.single_window._standard import order_columns, standardised
from benchmarks.single_window._walks import passes

LENGTH = 16
TOLERANCE = 1e-6

SPEEDS = np.array([[0.02, 0.05], [0.3, 0.1], [0.02, 0.6]])
LOG_WEIGHTS = np.log([0.5, 0.3, 0.2])
PAIRS = np.array([[0.0, 0.4, 0.1], [0.3, 0.0, 0.0], [0.2, 0.0, 0.0]])
LOG_PAIRS = np.where(PAIRS > 0, np.log(np.maximum(PAIRS, 1e-9)), -np.inf)
UNIT = 1.3
NO_COUPLINGS = np.empty((0, 4))
# Signs and the order of factors are arbitrary, so that couplings come in all of them.
COUPLINGS = np.array(
    [
        *([sign, 0.0, 0.01, -2.0] for sign in (-1.0, 1.0)),
        *([0.0, sign, 0.01, -2.0] for sign in (-1.0, 1.0)),
        *([sign, also, 0.2, -3.0] for sign in (-0.5, 0.5) for also in (-0.5, 0.5)),
        [0.0, 0.0, 1.0, -1.6],
    ]
)
PRIOR = Prior(UNIT, np.ascontiguousarray(SPEEDS.T), LOG_WEIGHTS, LOG_PAIRS, NO_COUPLINGS)


def window(rng, n_variables, missing=0.1, length=LENGTH):
    """Two factors that wander, followed by all variables, with gaps."""
    factors = rng.normal(size=(length, 2)).cumsum(axis=0) * [1.0, 0.9]
    loadings = rng.uniform(0.5, 1.5, size=(2, n_variables))
    loadings[1] *= (-1.0) ** np.arange(n_variables)  # two factors that are told apart
    values = factors @ loadings + 0.1 * rng.normal(size=(length, n_variables))
    values[rng.random(values.shape) < missing] = np.nan
    return values


def scanned(values, task=Task.ALL, prior=PRIOR):
    out = np.empty((1, len(EVIDENCES)))
    scan(np.ascontiguousarray(values[None]), prior, int(task), out)
    return out[0]


@pytest.mark.parametrize(("n_variables", "missing"), [(1, 0.0), (1, 0.1), (2, 0.1), (3, 0.1)])
def test_every_statistic_is_that_of_dense_matrices(rng, n_variables, missing):
    for _ in range(2):
        values = window(rng, n_variables, missing)
        if missing:
            values[5:7, 0] = np.nan
        expected = naive.statistics(values, UNIT, SPEEDS, LOG_WEIGHTS, LOG_PAIRS)
        actual = scanned(values)
        assert np.isfinite(expected).all()
        # Varimax is searched there, and power iteration stops after some rounds here.
        loose = {1: TOLERANCE, 2: 1e-5, 3: 1e-3}[n_variables]
        np.testing.assert_allclose(actual, expected, rtol=loose, atol=loose)


@pytest.mark.parametrize("n_variables", [1, 2, 3])
def test_known_couplings_are_recognised_as_by_dense_matrices(rng, n_variables):
    values = window(rng, n_variables)
    values[:, 0] += 0.4 * rng.normal(size=LENGTH)
    expected = naive.statistics(values, UNIT, SPEEDS, LOG_WEIGHTS, LOG_PAIRS, COUPLINGS)
    actual = scanned(values, prior=PRIOR._replace(couplings=COUPLINGS))
    loose = {1: TOLERANCE, 2: 1e-5, 3: 1e-3}[n_variables]
    np.testing.assert_allclose(actual, expected, rtol=loose, atol=loose)
    changed = np.abs(actual - scanned(values)) > 1e-3
    in_common_units = [
        evidence.name in ("known_speeds", "path_break", "path_copy") for evidence in EVIDENCES
    ]
    np.testing.assert_array_equal(changed, in_common_units)


def test_a_variable_like_no_known_coupling_keeps_its_own(rng):
    """One in units of its own, whose noise is far below all known ones."""
    values = window(rng, 3)
    values[:, 0] *= 1e-3
    scaled, seen = np.nan_to_num(values.T).copy(), (~np.isnan(values.T)).astype(float)
    speed = np.array([[1.0], [1.0]])
    loadings, noise = rng.normal(size=(2, 3)) + 1.0, np.array([1e-8, 0.3, 0.3])
    loadings[:, 0] *= 1e-3
    for couplings, is_kept in ((COUPLINGS, True), (np.array([[0.0, 0.0, 2e-8, 0.0]]), False)):
        found, found_noise = loadings.copy(), noise.copy()
        recognise_couplings(scaled, seen, np.ones(3), speed, couplings, found, found_noise)
        assert (found[0, 0] == pytest.approx(loadings[0, 0], rel=1e-9)) == is_kept
        assert (found_noise[0] == pytest.approx(1e-8, rel=1e-6)) == is_kept


def test_moments_are_sums_over_what_was_seen(rng):
    values, seen = rng.normal(size=(2, 9)), (rng.random((2, 9)) > 0.3).astype(float)
    factors = np.concatenate([rng.normal(size=(2, 9)), rng.random((3, 9))])
    out = np.empty(14)
    coupling_moments(seen * values, seen, np.array([2.0, 0.5]), factors, out)
    squares = np.stack(
        [factors[a] * factors[b] + factors[i] for i, a, b in ((2, 0, 0), (3, 0, 1), (4, 1, 1))]
    )
    for c, scale in enumerate((2.0, 0.5)):
        is_seen = seen[c] > 0
        x = scale * values[c, is_seen]
        expected = [
            *squares[:, is_seen].sum(axis=1),
            *(factors[:2, is_seen] @ x),
            x @ x,
            is_seen.sum(),
        ]
        np.testing.assert_allclose(out[7 * c : 7 * c + 7], expected)


def test_cheap_and_dear_ones_are_parts_of_all(rng):
    values = window(rng, 3)
    everything, cheap, dear = (
        scanned(values),
        scanned(values, Task.CHEAP),
        scanned(values, Task.DEAR),
    )
    is_dear = np.array([evidence.is_dear for evidence in EVIDENCES])
    np.testing.assert_array_equal(np.where(is_dear, dear, cheap), everything)
    assert np.isnan(cheap[is_dear]).all()
    assert np.isnan(dear[~is_dear]).all()


def test_medians_and_noise_with_gaps(rng):
    values = window(rng, 3)
    seen = ~np.isnan(values)
    actual = standardised(np.where(seen, values, 0.0).T.copy(), seen.T.astype(float).copy())
    unit, centre, level, step, scale, noise = naive.spreads(values)
    np.testing.assert_allclose(actual.unit, unit)
    np.testing.assert_allclose(actual.centre, centre)
    for found, expected in ((actual.level, level), (actual.step, step), (actual.scale, scale)):
        np.testing.assert_allclose(found, expected / unit)
    np.testing.assert_allclose(actual.noise, noise)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 16, 31, 32, 50])
def test_the_network_sorts_columns_of_any_length(rng, n):
    numbers = rng.normal(size=(n, 3)).round(1)
    expected = np.sort(numbers, axis=0)
    order_columns(numbers)
    np.testing.assert_array_equal(numbers, expected)


def test_logarithms_and_exponentials(rng):
    exponents = np.concatenate([rng.uniform(-690, 690, 500), [0.0, -1e9, 1e9, -np.inf]])
    numbers = exponents.copy()
    exp_all(numbers)
    np.testing.assert_allclose(numbers, np.exp(np.clip(exponents, -700, 700)), rtol=1e-13)
    numbers = np.concatenate([np.exp(rng.uniform(-600, 600, 500)), [1.0, 0.5, 2.0, 0.0]])
    expected = np.log(np.maximum(numbers, 1e-300))
    log_all(numbers)
    np.testing.assert_allclose(numbers, expected, rtol=1e-13, atol=1e-13)


def test_the_smoother_is_conditioning_of_gaussians(rng):
    info = np.zeros((5, 8))
    loadings = rng.normal(size=(2, 3))
    values = rng.normal(size=(3, 8))
    weights = rng.uniform(0, 2, size=(3, 8)) * (rng.random((3, 8)) > 0.3)
    noise = np.array([0.3, 0.5, 1.0])
    gather(values, weights, loadings, noise, info)
    h, j = naive_factors.information(values.T, weights.T > 0, weights.T, loadings, noise)
    np.testing.assert_allclose(info[:2].T, h, atol=1e-12)
    np.testing.assert_allclose(info[2:].T, j[:, [0, 0, 1], [0, 1, 1]], atol=1e-12)
    memory = np.array([0.9, 0.5])
    smoothed = np.empty((5, 8))
    found = smooth(info, memory, np.empty((5, 8)), np.empty((5, 8)), smoothed)
    mean, joint = naive_factors.smoothed(naive_factors.stationary(8, memory), h, j)
    np.testing.assert_allclose(smoothed[:2].T, mean, atol=1e-10)
    for row, (a, b) in enumerate(((0, 0), (0, 1), (1, 1)), start=2):
        expected = [joint[2 * t + a, 2 * t + b] for t in range(8)]
        np.testing.assert_allclose(smoothed[row], expected, atol=1e-10)
    second = joint + np.outer(mean.ravel(), mean.ravel())
    for k in range(2):
        squares = np.diag(second)[k::2]
        products = [second[2 * t + k, 2 * t + 2 + k] for t in range(7)]
        expected = (sum(products) + 7.6) / (0.5 * (squares[:-1] + squares[1:]).sum() + 8)
        np.testing.assert_allclose(found[k], expected, rtol=1e-8)


def test_both_passes_give_the_likelihood_of_the_whole(rng):
    info = np.concatenate([rng.normal(size=(2, 9)), np.abs(rng.normal(size=(3, 9)))])
    info[3] *= 0.1
    found = passes(info, np.ascontiguousarray(SPEEDS.T))
    h = info[:2].T
    j = np.stack([np.array([[a, b], [b, c]]) for a, b, c in info[2:].T])
    for i, speed in enumerate(SPEEDS):
        path = naive_factors.walk(np.tile(speed, (8, 1)))
        np.testing.assert_allclose(found.past[0, 9, i], naive_factors.path_likelihood(path, h, j))
        at_first = found.future[1:, 0, i]
        last = naive_factors.integral(
            4.0 * np.eye(2),
            np.zeros(2),
            at_first[:2],
            np.array([[at_first[2], at_first[3]], [at_first[3], at_first[4]]]),
        )
        np.testing.assert_allclose(found.future[0, 0, i] + last, found.past[0, 9, i])


def test_likelihood_of_a_tiny_window_is_a_density_of_gaussians(rng):
    """Up to what does not depend on factors: the ratio of two densities of what was seen."""
    values, loadings = rng.normal(size=(2, 4)), np.array([[1.0, 0.5], [0.2, -0.7]])
    noise = np.array([0.4, 0.2])
    info = np.empty((5, 4))
    gather(values, np.ones((2, 4)), loadings, noise, info)
    found = passes(info, np.ascontiguousarray(SPEEDS[:1].T)).past[0, 4, 0]
    spread = np.kron(np.eye(4), loadings.T)  # factors of all steps -> variables of all steps
    path = naive_factors.walk(np.tile(SPEEDS[0], (3, 1)))
    alone = np.diag(np.tile(noise, 4))

    def log_density(covariance):
        flat = values.T.ravel()
        _, logdet = np.linalg.slogdet(2 * np.pi * covariance)
        return -0.5 * (logdet + flat @ np.linalg.solve(covariance, flat))

    expected = log_density(spread @ path @ spread.T + alone) - log_density(alone)
    np.testing.assert_allclose(found, expected)


def test_first_loadings_are_leading_components(rng):
    values = window(rng, 4, length=40)
    seen = ~np.isnan(values)
    x = np.where(seen, values - np.nanmedian(values, axis=0), 0.0)
    noise = np.full(4, 0.5)
    expected = naive_factors.start(x, seen, noise)
    actual = start_loadings(x.T.copy(), seen.T.astype(float).copy(), noise)
    for k in range(2):
        sign = np.sign(expected[k] @ actual[k])
        np.testing.assert_allclose(sign * actual[k], expected[k], rtol=1e-4, atol=1e-5)
