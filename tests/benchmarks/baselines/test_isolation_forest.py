import numpy as np
from tests.benchmarks.baselines.made_windows import made_windows

from benchmarks.baselines.isolation_forest import IsolationForestStats


def test_scores_are_the_papers_between_0_and_1(rng):
    normal = made_windows(rng, 60)
    scores = IsolationForestStats().fit(normal).score(normal)
    assert 0 < scores.min() < scores.max() < 1


def test_seed_and_trees_reach_the_forest(rng):
    normal = made_windows(rng, 60)
    first, second = (IsolationForestStats(trees=7, seed=seed).fit(normal) for seed in (1, 2))
    assert len(first.estimator_.estimators_) == 7
    assert np.any(first.score(normal) != second.score(normal))
