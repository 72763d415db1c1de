import numpy as np
import pytest
from tests.benchmarks.baselines.made_windows import made_windows, shuffled

from benchmarks.baselines import statspool_knn
from benchmarks.baselines.pooled_statistics import pooled_statistics
from benchmarks.baselines.statspool_knn import StatsPoolKnn
from smkc.errors import InputError, NotFittedError


def test_the_score_is_the_mean_distance_to_the_nearest(rng):
    normal, windows = made_windows(rng, 30), made_windows(rng, 10)
    statistics = pooled_statistics(normal)
    centre, spread = statistics.mean(axis=0), statistics.std(axis=0)
    expected = []
    for row in (pooled_statistics(windows) - centre) / spread:
        distances = sorted(np.sqrt(((row - (statistics - centre) / spread) ** 2).sum(axis=1)))
        expected.append(sum(distances[:5]) / 5)
    actual = StatsPoolKnn(neighbours=5).fit(normal).score(windows)
    np.testing.assert_allclose(actual, expected, rtol=1e-12)


def test_neither_blocks_nor_the_order_of_variables_change_a_bit(rng, monkeypatch):
    competitor = StatsPoolKnn().fit(made_windows(rng, 60))
    windows = made_windows(rng, 20)
    expected = competitor.score(windows)
    monkeypatch.setattr(statspool_knn, "BLOCK_WINDOWS", 7)
    np.testing.assert_array_equal(competitor.score(windows), expected)
    np.testing.assert_array_equal(competitor.score(shuffled(rng, windows)), expected)


def test_spikes_score_higher(rng):
    competitor = StatsPoolKnn().fit(made_windows(rng, 60))
    windows = made_windows(rng, 20, n_anomalous=10)
    scores = competitor.score(windows)
    assert scores[windows.is_anomalous].mean() > 2 * scores[~windows.is_anomalous].mean()


def test_what_it_needs_is_said(rng):
    with pytest.raises(NotFittedError, match="call fit first"):
        StatsPoolKnn().score(made_windows(rng, 2))
    with pytest.raises(InputError, match="5 training windows, neighbours=20"):
        StatsPoolKnn().fit(made_windows(rng, 5))
