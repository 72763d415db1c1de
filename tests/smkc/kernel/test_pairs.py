import os
import subprocess
import sys

import numpy as np
import pytest

from smkc.kernel._pairs import (
    PADDING,
    lag_distances,
    lag_distances_of_difference,
    lag_products,
)

SIZES = [(1, 2, 1), (3, 17, 16), (30, 64, 8), (30, 64, 63), (5, 33, 20), (200, 40, 9), (2, 9, 30)]


def padded(n_columns, n_rows, seed=0):
    """States with nothing but nonsense behind the last row."""
    z = np.full((n_columns, n_rows + PADDING), np.nan, np.float32)
    z[:, :n_rows] = np.random.default_rng(seed).normal(size=(n_columns, n_rows))
    return z


def at_lag(z, n_rows, lag):
    wide = z[:, :n_rows].astype(np.float64)
    return wide[:, : n_rows - lag], wide[:, lag:]


@pytest.mark.parametrize(("n_columns", "n_rows", "n_lags"), SIZES)
def test_every_pair_of_steps_is_compared(n_columns, n_rows, n_lags):
    z = padded(n_columns, n_rows)
    alike, apart, of_difference, of_sizes = np.full((4, n_lags, z.shape[1]), -7.0, np.float32)
    lag_products(z, n_lags, alike)
    lag_distances(z, n_lags, apart)
    lag_distances_of_difference(z, n_lags, of_difference, of_sizes)
    for lag in range(1, min(n_lags, n_rows - 1) + 1):
        here, there = at_lag(z, n_rows, lag)
        n = n_rows - lag
        close = {"rtol": 1e-5, "atol": 1e-5}
        np.testing.assert_allclose(alike[lag - 1, :n], (here * there).sum(axis=0), **close)
        squares = ((there - here) ** 2).sum(axis=0)
        np.testing.assert_allclose(apart[lag - 1, :n], squares, **close)
        np.testing.assert_array_equal(of_difference[lag - 1, :n], apart[lag - 1, :n])
        squares = ((np.abs(there) - np.abs(here)) ** 2).sum(axis=0)
        np.testing.assert_allclose(of_sizes[lag - 1, :n], squares, **close)
    for out in (alike, apart, of_difference, of_sizes):
        assert (out[n_rows - 1 :] == -7.0).all()  # there is no such lag


@pytest.mark.parametrize(("n_columns", "n_rows", "n_lags"), SIZES)
def test_a_pair_is_the_same_to_the_bit_in_whichever_span_it_lies(n_columns, n_rows, n_lags):
    short = padded(n_columns, n_rows)
    long = padded(n_columns, n_rows + 50, seed=1)
    long[:, 21 : 21 + n_rows] = short[:, :n_rows]
    for compare in (lag_distances, lag_products):
        alone = np.empty((n_lags, short.shape[1]), np.float32)
        among = np.empty((n_lags, long.shape[1]), np.float32)
        compare(short, n_lags, alone)
        compare(long, n_lags, among)
        for lag in range(1, min(n_lags, n_rows - 1) + 1):
            there = among[lag - 1, 21 : 21 + n_rows - lag]
            np.testing.assert_array_equal(alone[lag - 1, : n_rows - lag], there)


def test_without_any_bucket_all_steps_are_alike():
    out = np.full((4, 10 + PADDING), -7.0, np.float32)
    lag_distances(np.empty((0, 10 + PADDING), np.float32), 4, out)
    assert all((out[lag - 1, : 10 - lag] == 0).all() for lag in range(1, 5))


def test_plain_processors_compare_too(tmp_path):
    code = (
        "import numpy as np; from smkc.kernel._pairs import PADDING, lag_distances;"
        "z = np.arange(3.0 * (20 + PADDING), dtype=np.float32).reshape(3, -1);"
        "out = np.zeros((5, z.shape[1]), np.float32); lag_distances(z, 5, out);"
        "print(out[:, 0].tolist())"
    )
    plain = {
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_CACHE_DIR": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | plain,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == str([3.0 * lag**2 for lag in range(1, 6)])
