import numpy as np
import pytest
from tests import promise

from smkc.paper.kernel._pairs import lag_distances, lag_products

SIZES = [(1, 2, 1), (3, 17, 16), (30, 64, 8), (30, 64, 63), (5, 33, 20), (200, 40, 9), (2, 9, 30)]


def states(n_columns, n_rows, seed=0):
    return np.random.default_rng(seed).normal(size=(n_columns, n_rows)).astype(np.float32)


@pytest.mark.parametrize(("n_columns", "n_rows", "n_lags"), SIZES)
def test_every_pair_of_steps_is_compared(n_columns, n_rows, n_lags):
    z = states(n_columns, n_rows)
    alike, apart = np.full((2, n_lags, n_rows), -7.0, np.float32)
    lag_products(z, n_lags, alike)
    lag_distances(z, n_lags, apart)
    wide = z.astype(np.float64)
    for lag in range(1, n_lags + 1):
        n = max(n_rows - lag, 0)
        here, there = wide[:, :n], wide[:, lag:]
        close = {"rtol": 1e-5, "atol": 1e-5}
        np.testing.assert_allclose(alike[lag - 1, :n], (here * there).sum(axis=0), **close)
        squares = ((there - here) ** 2).sum(axis=0)
        np.testing.assert_allclose(apart[lag - 1, :n], squares, **close)
        assert not alike[lag - 1, n:].any()
        assert not apart[lag - 1, n:].any()


@pytest.mark.parametrize(("n_columns", "n_rows", "n_lags"), SIZES)
def test_a_pair_is_the_same_in_whichever_span_it_lies(n_columns, n_rows, n_lags):
    short, long = states(n_columns, n_rows), states(n_columns, n_rows + 50, seed=1)
    long[:, 21 : 21 + n_rows] = short
    for compare in (lag_distances, lag_products):
        alone = np.empty((n_lags, short.shape[1]), np.float32)
        among = np.empty((n_lags, long.shape[1]), np.float32)
        compare(short, n_lags, alone)
        compare(long, n_lags, among)
        for lag in range(1, min(n_lags, n_rows - 1) + 1):
            n = n_rows - lag
            promise.assert_features_agree(alone[lag - 1, :n], among[lag - 1, 21 : 21 + n])


def test_states_without_a_bucket_are_all_alike():
    out = np.full((4, 10), -7.0, np.float32)
    lag_distances(np.empty((0, 10), np.float32), 4, out)
    assert not out.any()
