import numpy as np
import pytest
from tests.benchmarks.baselines.made_windows import made_windows

from benchmarks.baselines.lof import LofStats
from benchmarks.baselines.pooled_statistics import Standardisation, pooled_statistics
from smkc.errors import InputError


def naive_factor(row, normal, k):
    """Breunig et al., definitions 3 to 7, for one point outside the training set."""

    def nearest(point, others):
        distances = np.sqrt(((others - point) ** 2).sum(axis=1))
        order = np.argsort(distances)[:k]
        return order, distances[order]

    def kth_distance(i):
        return nearest(normal[i], np.delete(normal, i, axis=0))[1][-1]

    def density(point, which, distances):
        reach = [max(d, kth_distance(i)) for i, d in zip(which, distances, strict=True)]
        return 1 / np.mean(reach)

    def own_density(i):
        which, distances = nearest(normal[i], np.delete(normal, i, axis=0))
        return density(normal[i], [j + (j >= i) for j in which], distances)

    which, distances = nearest(row, normal)
    return np.mean([own_density(i) for i in which]) / density(row, which, distances)


def test_the_score_is_the_local_outlier_factor(rng):
    normal, windows = made_windows(rng, 15), made_windows(rng, 4)
    statistics = pooled_statistics(normal)
    standardisation = Standardisation.of(statistics)
    table = standardisation.applied(statistics)
    rows = standardisation.applied(pooled_statistics(windows))
    expected = [naive_factor(row, table, 3) for row in rows]
    actual = LofStats(neighbours=3).fit(normal).score(windows)
    np.testing.assert_allclose(actual, expected, rtol=1e-8)


def test_too_few_windows_are_refused(rng):
    with pytest.raises(InputError, match="20 training windows, neighbours=20"):
        LofStats().fit(made_windows(rng, 20))
