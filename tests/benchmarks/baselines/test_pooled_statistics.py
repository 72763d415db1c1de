"""Pooled statistics against loops in plain Python and cases worked by hand."""

import numpy as np
import pytest
from tests.benchmarks.baselines.made_windows import made_windows, shuffled

from benchmarks.baselines.pooled_statistics import (
    LARGEST_STANDARDISED,
    STATISTICS,
    Standardisation,
    pooled_statistics,
)
from benchmarks.windows import Windows
from smkc.errors import InputError

TOLERANCE = 1e-12  # float64 sums in another order


def naive_statistics(windows, b):
    means, spreads, shares = [], [], []
    for t in range(windows.length):
        seen = [float(v) for v in windows.values[b, t][windows.observed[b, t]]]
        shares.append(len(seen) / windows.cardinality[b])
        if seen:
            mean = sum(seen) / len(seen)
            means.append(mean)
            spreads.append((sum((v - mean) ** 2 for v in seen) / len(seen)) ** 0.5)
    numbers = []
    for series in (means, spreads, shares):
        mean = sum(series) / len(series)
        numbers += [mean, (sum((v - mean) ** 2 for v in series) / len(series)) ** 0.5]
    return numbers


def one_window(values, observed):
    values, observed = np.float32([values]), np.array([observed], bool)
    variables = np.arange(values.shape[2], dtype=np.int32)[None]
    names = tuple(f"v{j}" for j in range(values.shape[2]))
    return Windows(values, observed, variables, names, np.int8([-1]), np.zeros((1, 2), np.int32))


def test_every_window_is_as_the_loops_say(rng):
    windows = made_windows(rng, n_windows=9, missing=0.4)
    actual = pooled_statistics(windows)
    assert actual.shape == (9, len(STATISTICS))
    expected = [naive_statistics(windows, b) for b in range(9)]
    np.testing.assert_allclose(actual, expected, rtol=TOLERANCE, atol=TOLERANCE)


def test_a_window_worked_by_hand():
    window = one_window([[1.0, 3.0], [4.0, 0.0]], [[True, True], [True, False]])
    # Means 2 and 4, spreads 1 and 0, shares 1 and 1/2.
    np.testing.assert_allclose(pooled_statistics(window), [[3.0, 1.0, 0.5, 0.5, 0.75, 0.25]])


def test_steps_without_an_observation_count_in_the_share_alone():
    window = one_window([[1.0, 3.0], [0.0, 0.0]], [[True, True], [False, False]])
    np.testing.assert_allclose(pooled_statistics(window), [[2.0, 0.0, 1.0, 0.0, 0.5, 0.5]])
    nothing = one_window([[0.0], [0.0]], [[False], [False]])
    np.testing.assert_array_equal(pooled_statistics(nothing), np.zeros((1, 6)))


def test_padding_and_the_order_of_variables_change_no_bit(rng):
    windows = made_windows(rng, n_windows=20, n_places=7)
    expected = pooled_statistics(windows)
    np.testing.assert_array_equal(pooled_statistics(windows.padded_to(16)), expected)
    np.testing.assert_array_equal(pooled_statistics(shuffled(rng, windows)), expected)
    np.testing.assert_array_equal(pooled_statistics(windows.take(slice(3, 4))), expected[3:4])


def test_standardised_training_windows_have_mean_0_and_spread_1(rng):
    statistics = pooled_statistics(made_windows(rng, n_windows=50))
    standardised = Standardisation.of(statistics).applied(statistics)
    np.testing.assert_allclose(standardised.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(standardised.std(axis=0), 1.0, atol=1e-12)


def test_a_statistic_that_never_varies_is_not_scaled():
    standardisation = Standardisation.of(np.full((5, 6), 0.1))
    np.testing.assert_array_equal(standardisation.spread, np.ones(6))
    np.testing.assert_allclose(standardisation.applied(np.full((1, 6), 2.1)), 2.0)


def test_standardised_statistics_stay_in_range():
    standardisation = Standardisation.of(np.array([[0.0] * 6, [1.0] * 6]))
    beyond = standardisation.applied(np.full((1, 6), 3e38))
    np.testing.assert_array_equal(beyond, np.full((1, 6), LARGEST_STANDARDISED))


def test_no_windows_at_all_are_refused():
    with pytest.raises(InputError, match="at least one normal window"):
        Standardisation.of(np.empty((0, 6)))
