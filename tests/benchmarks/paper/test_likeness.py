"""Rank correlation, against scipy's."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.paper.likeness import rank_correlation


@pytest.mark.parametrize("n_values", [3, 1000])
def test_it_is_spearmans(rng, n_values):
    first = rng.integers(0, n_values, 200)
    second = first + rng.integers(0, n_values, 200)
    assert rank_correlation(first, second) == pytest.approx(stats.spearmanr(first, second)[0])


def test_only_ranks_matter(rng):
    values = rng.normal(size=50)
    assert rank_correlation(values, np.exp(values)) == pytest.approx(1)
    assert rank_correlation(values, -values) == pytest.approx(-1)
