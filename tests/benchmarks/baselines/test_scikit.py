"""What scikit-learn's three detectors share."""

import sys

import numpy as np
import pytest
from tests.benchmarks.baselines.made_windows import made_windows, shuffled

from benchmarks.baselines.isolation_forest import IsolationForestStats
from benchmarks.baselines.lof import LofStats
from benchmarks.baselines.one_class_svm import OneClassSvmStats
from benchmarks.baselines.scikit import StatisticsDetector
from smkc.errors import MissingExtraError, NotFittedError

DETECTORS = [IsolationForestStats, LofStats, OneClassSvmStats]


@pytest.fixture(scope="module")
def normal():
    return made_windows(np.random.default_rng(5), 80)


@pytest.mark.parametrize("detector", DETECTORS)
def test_spikes_score_higher(rng, detector, normal):
    windows = made_windows(rng, 20, n_anomalous=10)
    scores = detector().fit(normal).score(windows)
    assert scores.dtype == np.float64
    assert np.median(scores[windows.is_anomalous]) > scores[~windows.is_anomalous].max()


@pytest.mark.parametrize("detector", DETECTORS)
def test_a_score_depends_on_its_window_alone(rng, detector, normal):
    competitor, windows = detector().fit(normal), made_windows(rng, 12)
    scores = competitor.score(windows)
    one_by_one = [competitor.score(windows.take(slice(b, b + 1)))[0] for b in range(12)]
    np.testing.assert_array_equal(one_by_one, scores)
    np.testing.assert_array_equal(competitor.score(shuffled(rng, windows)), scores)
    np.testing.assert_array_equal(detector().fit(normal).score(windows), scores)
    assert competitor.score(windows.take(slice(0, 0))).shape == (0,)


@pytest.mark.parametrize("detector", DETECTORS)
def test_values_at_the_end_of_the_range_have_finite_scores(rng, detector, normal):
    windows = made_windows(rng, 3)
    windows.values[:, 2][windows.observed[:, 2]] = 3e38
    assert np.isfinite(detector().fit(normal).score(windows)).all()


@pytest.mark.parametrize("detector", DETECTORS)
def test_fit_comes_first(rng, detector):
    with pytest.raises(NotFittedError, match=f"{detector.__name__} has seen no windows"):
        detector().score(made_windows(rng, 2))


def test_the_shared_part_alone_is_no_competitor(rng):
    with pytest.raises(TypeError, match="IsolationForestStats"):
        StatisticsDetector().fit(made_windows(rng, 3))


def test_a_missing_scikit_learn_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.svm", None)
    with pytest.raises(MissingExtraError, match="--group benchmarks"):
        OneClassSvmStats().fit(made_windows(np.random.default_rng(5), 80))
