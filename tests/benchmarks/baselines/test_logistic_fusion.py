import numpy as np
import pytest

from benchmarks.baselines.logistic_fusion import LogisticFusion


@pytest.fixture
def labelled():
    rng = np.random.default_rng(3)
    labels = rng.random(400) < 0.2
    useful = rng.normal(size=400) + 2.0 * labels
    useless = rng.normal(size=400)
    return np.column_stack([useful, useless]), labels


def test_it_maximises_the_penalised_likelihood(labelled):
    components, labels = labelled
    found = LogisticFusion.fitted(components, labels, ridge=2.0)

    def loss(weights, offset):
        odds = (np.sign(components) * np.log1p(np.abs(components))) @ weights + offset
        share = np.where(labels, labels.mean(), 1 - labels.mean())
        each = np.log1p(np.exp(np.where(labels, -odds, odds)))
        return (0.5 / share * each).sum() + (weights**2).sum()

    best = loss(found.weights, found.offset)
    for at in range(2):
        for step in (-1e-3, 1e-3):
            moved = found.weights.copy()
            moved[at] += step
            assert loss(moved, found.offset) > best
    assert loss(found.weights, found.offset + 1e-3) > best
    assert loss(found.weights, found.offset - 1e-3) > best


def test_it_finds_which_component_tells(labelled):
    found = LogisticFusion.fitted(*labelled)
    assert found.weights[0] > 1 > abs(found.weights[1])
    scores = found(labelled[0])
    assert scores[labelled[1]].mean() > scores[~labelled[1]].mean() + 1


def test_the_penalty_is_the_one_that_tells_other_windows_best(labelled):
    components, labels = labelled
    useless = np.random.default_rng(9).normal(size=(400, 60))
    crowded = np.hstack([components, useless])
    clear = LogisticFusion.fitted(components, labels)
    careful = LogisticFusion.fitted(crowded, labels)
    loose = LogisticFusion.fitted(crowded, labels, ridge=0.3)
    assert np.abs(careful.weights[1:]).mean() < 0.5 * np.abs(loose.weights[1:]).mean()
    assert clear.weights[0] > careful.weights[0], "little is to be feared of two components"
    few = np.arange(400) < 3
    assert np.abs(LogisticFusion.fitted(crowded, few).weights).max() < 0.5


def test_separable_classes_give_finite_weights():
    components = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    found = LogisticFusion.fitted(components, np.array([False, False, True, True]), 1.0)
    assert 0 < found.weights[0] < 10
    extreme = LogisticFusion.fitted(1e6 * components, np.array([False, False, True, True]))
    assert np.isfinite(extreme(components)).all()


def test_a_windows_score_is_its_own():
    rng = np.random.default_rng(1)
    components, labels = rng.normal(size=(50, 3)), np.arange(50) < 9
    fusion = LogisticFusion.fitted(components, labels)
    assert np.array_equal(fusion(components[7:9]), fusion(components)[7:9])
