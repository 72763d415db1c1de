"""Random numbers: the right distributions, and the published bits."""

import numpy as np
from numba import njit
from scipy import stats

from benchmarks.world._random import _log, integer, next_bits, normal, permute, sign, uniform

N = 100_000


@njit
def draw(seed, n):
    state = np.array([seed], np.uint64)
    out = np.empty((4, n))
    for i in range(n):
        out[0, i] = normal(state)
        out[1, i] = uniform(state, 2.0, 5.0)
        out[2, i] = integer(state, 7)
        out[3, i] = sign(state)
    return out


def test_the_bits_are_splitmix64s():
    # The first outputs from state 1234567, as published with the reference code.
    state = np.array([1234567], np.uint64)
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [int(next_bits(state)) for _ in range(3)] == expected


def test_distributions():
    normals, uniforms, integers, signs = draw(5, N)
    assert stats.kstest(normals, "norm").pvalue > 0.001
    assert stats.kstest(uniforms, "uniform", (2, 3)).pvalue > 0.001
    assert stats.chisquare(np.bincount(integers.astype(int), minlength=7)).pvalue > 0.001
    assert set(signs) == {-1.0, 1.0}
    assert abs(signs.mean()) < 0.02


def test_normals_are_the_inverse_distribution_function():
    state, same = np.array([99], np.uint64), np.array([99], np.uint64)
    for _ in range(2000):
        share = uniform(state, 0.0, 1.0)
        assert abs(normal(same) - stats.norm.ppf(share)) < 1e-12


def test_logarithm():
    x = np.concatenate([np.logspace(-300, 300, 500), np.linspace(0.4, 2.1, 500)])
    actual = np.array([_log(value) for value in x])
    np.testing.assert_allclose(actual, np.log(x), rtol=4e-16, atol=2e-16)


def test_permutations_are_fair():
    state = np.array([1], np.uint64)
    firsts = np.zeros((4, 4))
    for _ in range(4000):
        items = np.arange(4)
        permute(state, items, 4)
        firsts[np.arange(4), items] += 1
    assert stats.chisquare(firsts.ravel(), np.full(16, 1000)).pvalue > 0.001
